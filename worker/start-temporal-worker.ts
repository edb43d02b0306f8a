/** The Temporal worker of this process, for workflows and activities. */
import { setTimeout as sleep } from 'node:timers/promises'
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker'
import type { Logger } from 'pino'
import type { ServiceAddress } from '../activities/client.ts'
import { createActivities } from '../activities/index.ts'
import { registerSearchAttributes } from '../adapters/temporal/add-search-attributes.ts'
import { TASK_QUEUE } from '../domain/temporal/start.ts'
import { backoffMs } from '../domain/time/backoff.ts'
import { everySoOften } from '../process/until-done.ts'
import { pickFromPool } from '../rules/alerts/pick-sims.ts'
import { reportTroubles, type TroubleReports } from './report-troubles.ts'
import { sendTroubles } from './send-troubles.ts'

export interface TemporalWorkerOptions extends ServiceAddress {
  /** Host and port of the Temporal server. */
  readonly address: string
  readonly namespace: string
  readonly log: Logger
  /** The workflows' bundle, from worker/bundle-workflows.ts. */
  readonly workflows: string
  /** How long running activities may go on at shutdown, in milliseconds. Default: 10,000. */
  readonly shutdownGraceMs?: number
}

export interface TemporalWorker {
  isRunning(): boolean
  /** Takes no new work, gives running activities some time to end, closes the connection. Safe to call twice. */
  shutdown(): Promise<void>
}

/** Pauses between attempts to reach the server, or to run again after a fatal error, in milliseconds. */
const PAUSES = { firstMs: 500, longestMs: 15_000 }

/** Added to the grace period. Unfinished activities are then left to other workers. Milliseconds. */
const FORCED_AFTER_MS = 5000

const pinoLevel = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const

let runtimeInstalled = false

/**
 * Sends the SDK's log to ours. The SDK has one runtime per process, and the first call decides. It has to come before a
 * worker's first connection. {@link startTemporalWorker} calls it.
 */
export function installRuntime(log: Logger): void {
  if (runtimeInstalled) return
  runtimeInstalled = true
  const logger = new DefaultLogger('INFO', ({ level, message, meta }) => log[pinoLevel[level]]({ ...meta }, message))
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging: { forward: {}, filter: 'WARN' } } })
}

function workerOptions(
  { namespace, workflows, shutdownGraceMs = 10_000, ...service }: TemporalWorkerOptions,
  reports: TroubleReports,
) {
  return {
    namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle: { code: workflows },
    activities: createActivities({ ...service, pickFromPool }),
    interceptors: { activity: [reportTroubles(reports)] },
    maxConcurrentActivityTaskExecutions: 100,
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + FORCED_AFTER_MS,
  } satisfies WorkerOptions
}

/** Keeps a Temporal worker running: waits for the server, and starts again after a fatal error. */
export function startTemporalWorker(options: TemporalWorkerOptions): TemporalWorker {
  const { address, namespace, log } = options
  installRuntime(log)
  const stop = new AbortController()
  const troubles = sendTroubles(
    options,
    everySoOften((error, silenced) =>
      log.warn({ reason: error.message, silenced }, 'failing activities could not be reported to the service'),
    ),
  )
  let worker: Worker | undefined

  const once = async () => {
    const connection = await NativeConnection.connect({ address })
    try {
      await registerSearchAttributes(address, namespace)
      worker = await Worker.create({ ...workerOptions(options, troubles.reports), connection })
      log.info({ address, namespace }, 'the temporal worker runs')
      if (!stop.signal.aborted) await runUntil(worker, stop.signal)
    } finally {
      worker = undefined
      await connection.close()
    }
  }

  const forever = async () => {
    for (let failures = 1; !stop.signal.aborted; failures++) {
      const began = Date.now()
      try {
        await once()
      } catch (error) {
        const retryInMs = backoffMs(failures, PAUSES)
        log.warn({ err: error, address, retryInMs }, `no Temporal server at ${address}; trying again`)
      }
      if (Date.now() - began > 60_000) failures = 1
      await sleep(backoffMs(failures, PAUSES), undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }

  const ended = forever()
  return {
    isRunning: () => worker?.getState() === 'RUNNING',
    async shutdown() {
      stop.abort()
      await ended
      await troubles.stop()
    },
  }
}

async function runUntil(worker: Worker, stop: AbortSignal): Promise<void> {
  const shutdown = () => {
    if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  stop.addEventListener('abort', shutdown)
  try {
    await worker.run()
  } finally {
    stop.removeEventListener('abort', shutdown)
  }
}
