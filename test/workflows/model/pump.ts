/**
 * Replaces the queues within one process. A job starts its handler at once. Jobs with the same dedupe id run one after
 * the other; one that is enqueued during a run causes one more run. The work lists are swept as in a worker.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Handlers } from '../../../adapters/queues/backend.ts'
import { dedupeId, type Job, type QueueName } from '../../../domain/jobs.ts'
import type { Sweep } from '../../../process/start-sweeps.ts'

const SWEEP_EVERY_MS = 100
/** Work that is still due after so many rounds is not finished by its handlers. */
const MOST_ROUNDS = 200
/** Concurrency of jobs, limited as in a worker: fewer than there are database connections. */
const AT_ONCE = 10

export interface Pump {
  readonly enqueue: (jobs: readonly Job[]) => void
  /** Starts to run jobs and to sweep. Earlier jobs were dropped; the sweeps find their work. */
  readonly start: (handlers: Handlers, sweeps: readonly Sweep[], refresh: () => Promise<void>) => void
  /** Waits until no job runs and a sweep finds nothing due. */
  readonly settled: () => Promise<void>
  /** Drops a queue's jobs, as if no worker took them. @returns ends it; the sweeps then find the work */
  readonly hold: (queue: QueueName) => () => void
  /** Errors of handlers and sweeps. Empty if all is well. */
  readonly faults: readonly unknown[]
  readonly stop: () => Promise<void>
}

export function makePump(): Pump {
  const running = new Map<string, { again: boolean; done: Promise<void> }>()
  const held = new Set<QueueName>()
  const faults: unknown[] = []
  let enqueued = 0
  let free = AT_ONCE
  const waiting: (() => void)[] = []
  const inTurn = async (work: () => Promise<void>) => {
    if (free === 0) await new Promise<void>((begin) => waiting.push(begin))
    else free -= 1
    try {
      await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
  let work: ((job: Job) => Promise<void>) | undefined
  let sweepOnce = async () => {}
  const stopping = new AbortController()
  let sweeping: Promise<void> = Promise.resolve()

  const take = (job: Job) => {
    if (work === undefined || stopping.signal.aborted || held.has(job.queue)) return
    const handle = work
    const id = `${job.queue}/${dedupeId(job)}`
    const before = running.get(id)
    enqueued += 1
    if (before !== undefined) {
      before.again = true
      return
    }
    const run = { again: true, done: Promise.resolve() }
    const untilIdle = async () => {
      while (run.again) {
        run.again = false
        await inTurn(() => handle(job)).catch((error: unknown) => faults.push(error))
      }
      running.delete(id)
    }
    running.set(id, run)
    run.done = untilIdle()
  }
  const enqueue = (jobs: readonly Job[]) => {
    for (const job of jobs) take(job)
  }
  const idle = async () => {
    while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done))
  }

  return {
    enqueue,
    faults,
    start(handlers, sweeps, refresh) {
      const handlerOf: Record<QueueName, (job: never) => Promise<void>> = handlers
      work = async (job) => {
        await refresh()
        await handlerOf[job.queue](job as never)
      }
      sweepOnce = async () => {
        await refresh()
        for (const { run } of sweeps) await run().catch((error: unknown) => faults.push(error))
      }
      const rounds = async () => {
        while (!stopping.signal.aborted) {
          await sweepOnce()
          await sleep(SWEEP_EVERY_MS)
        }
      }
      sweeping = rounds()
    },
    async settled() {
      for (let [before, rounds] = [-1, 0]; before !== enqueued; rounds += 1) {
        if (rounds === MOST_ROUNDS) throw new Error('due work remains: the handlers do not finish it')
        before = enqueued
        await sweepOnce()
        await idle()
      }
    },
    hold(queue) {
      held.add(queue)
      return () => held.delete(queue)
    },
    async stop() {
      stopping.abort()
      await sweeping
      await idle()
    },
  }
}
