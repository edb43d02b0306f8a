/**
 * The Temporal workers of this process: one for workflows and activities, and one for activities that wait. Only runs
 * from before decision 25 have those.
 */

import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker'
import type { Logger } from 'pino'
import type { ServiceAddress } from '../activities/client.ts'
import { createActivities } from '../activities/index.ts'
import { TASK_QUEUE, WAITING_TASK_QUEUE } from '../domain/temporal/start.ts'
import { backoffMs } from '../domain/time/backoff.ts'
import { registerSearchAttributes } from '../queues/temporal/attributes.ts'
import { pickFromPool } from '../rules/alerts/pick-sims.ts'

export interface TemporalWorkerOptions extends ServiceAddress {
  /** Host and port of the Temporal server. */
  readonly address: string
  readonly namespace: string
  readonly log: Logger
  /** The workflows' bundle, from worker/workflow-bundle.ts. */
  readonly workflows: string
  /** How long running activities may go on at shutdown, in milliseconds. Default: 10,000. */
  readonly shutdownGraceMs?: number
}

export interface TemporalWorkers {
  /** Whether both workers poll. */
  isRunning(): boolean
  /** Takes no new work, gives running activities some time to end, closes the connection. Safe to call twice. */
  shutdown(): Promise<void>
}

/** Pauses between attempts to reach the server, or to run again after a fatal error, in milliseconds. */
const PAUSES = { firstMs: 500, longestMs: 15_000 }

/** Added to the grace period. Activities that have not ended by then are left to other workers. Milliseconds. */
const FORCED_AFTER_MS = 5000

const pinoLevel = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const

let runtimeInstalled = false

/**
 * Sends the SDK's log to ours. The SDK has one runtime per process, and the first call decides. It has to come before a
 * worker's first connection. {@link startTemporalWorkers} calls it.
 */
export function installRuntime(log: Logger): void {
  if (runtimeInstalled) return
  runtimeInstalled = true
  const logger = new DefaultLogger('INFO', ({ level, message, meta }) => {
    // The worker for activities that wait has no workflows, on purpose.
    const expected = message.startsWith('No workflows registered')
    log[expected ? 'debug' : pinoLevel[level]]({ ...meta }, message)
  })
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging: { forward: {}, filter: 'WARN' } } })
}

/**
 * Options of both workers. An activity that waits costs only a timer and an occasional request, so it has many slots.
 * New runs wait in no activity, so few polls are enough.
 */
function workerOptions({ namespace, workflows, shutdownGraceMs = 10_000, ...service }: TemporalWorkerOptions) {
  const activities = createActivities({ ...service, pickFromPool })
  const common = {
    namespace,
    activities,
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + FORCED_AFTER_MS,
  }
  return [
    { ...common, workflowBundle: { code: workflows }, taskQueue: TASK_QUEUE, maxConcurrentActivityTaskExecutions: 100 },
    {
      ...common,
      taskQueue: WAITING_TASK_QUEUE,
      maxConcurrentActivityTaskExecutions: 2000,
      maxConcurrentActivityTaskPolls: 2,
      maxHeartbeatThrottleInterval: '10 seconds',
    },
  ] satisfies readonly Omit<WorkerOptions, 'connection'>[]
}

/**
 * Starts the Temporal workers and keeps them running. While the server is away they wait for it. After a fatal error
 * they start again.
 *
 * @returns at once; {@link TemporalWorkers.isRunning} says when they poll
 */
export function startTemporalWorkers(options: TemporalWorkerOptions): TemporalWorkers {
  const { address, namespace, log } = options
  installRuntime(log)
  const stop = new AbortController()
  let workers: readonly Worker[] = []

  const once = async () => {
    const connection = await NativeConnection.connect({ address })
    try {
      await registerSearchAttributes(address, namespace)
      workers = await Promise.all(workerOptions(options).map((each) => Worker.create({ ...each, connection })))
      log.info({ address, namespace }, 'temporal workers run')
      if (!stop.signal.aborted) await runAll(workers, stop.signal)
    } finally {
      workers = []
      await connection.close()
    }
  }

  const forever = async () => {
    for (let failures = 1; !stop.signal.aborted; failures++) {
      const began = Date.now()
      try {
        await once()
      } catch (error) {
        log.warn(
          { err: error, address, retryInMs: backoffMs(failures, PAUSES) },
          `no Temporal server at ${address}; trying again`,
        )
      }
      if (Date.now() - began > 60_000) failures = 1
      await pause(backoffMs(failures, PAUSES), stop.signal)
    }
  }

  const ended = forever()
  return {
    isRunning: () => workers.length > 0 && workers.every((worker) => worker.getState() === 'RUNNING'),
    async shutdown() {
      stop.abort()
      await ended
    },
  }
}

/** Runs workers until `stop`. If one fails, the others stop too. */
async function runAll(workers: readonly Worker[], stop: AbortSignal): Promise<void> {
  const shutdown = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  stop.addEventListener('abort', shutdown)
  try {
    const runs = workers.map(async (worker) => {
      await worker.run().finally(shutdown)
    })
    const results = await Promise.allSettled(runs)
    for (const result of results) if (result.status === 'rejected') throw result.reason
  } finally {
    stop.removeEventListener('abort', shutdown)
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (stop.aborted) resolve()
  const timer = setTimeout(resolve, ms)
  stop.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}
