/**
 * Takes the place of the queues in one process: a bell starts its handler at once, one at a time for each piece of
 * work and once more where it was rung meanwhile, and the work lists are swept as a worker sweeps them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bell } from '../../../domain/jobs.ts'
import type { Sweep } from '../../../process/sweeps.ts'
import type { Handlers } from '../../../queues/backend.ts'
import { dedupeId, type QueueName } from '../../../queues/catalog.ts'

const SWEEP_EVERY_MS = 100
const RESTS_WITHIN_MS = 20_000
/** Jobs at once, as a worker's queues bound them: no more than there are connections. */
const AT_ONCE = 10

export interface Pump {
  readonly ring: (bells: readonly Bell[]) => void
  /** Begins to work. */
  readonly start: (handlers: Handlers, sweeps: readonly Sweep[], refresh: () => Promise<void>) => void
  /** Waits until nothing is under way and a sweep finds nothing that is due. */
  readonly settled: () => Promise<void>
  /** Keeps the bells of a queue until it is let go: a worker that is away. */
  readonly hold: (queue: QueueName) => () => void
  /** What handlers and sweeps have failed with: nothing, where all is well. */
  readonly faults: readonly unknown[]
  readonly stop: () => Promise<void>
}

export function makePump(): Pump {
  const jobs = new Map<string, { again: boolean; done: Promise<void> }>()
  const held = new Set<QueueName>()
  const faults: unknown[] = []
  let rung = 0
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
  let work: ((bell: Bell) => Promise<void>) | undefined
  let sweepOnce = async () => {}
  const stopping = new AbortController()
  let sweeping: Promise<void> = Promise.resolve()

  const hear = (bell: Bell) => {
    if (work === undefined || stopping.signal.aborted || held.has(bell.queue)) return
    const handle = work
    const id = `${bell.queue}/${dedupeId(bell)}`
    const running = jobs.get(id)
    rung += 1
    if (running !== undefined) {
      running.again = true
      return
    }
    const job = { again: true, done: Promise.resolve() }
    const run = async () => {
      while (job.again) {
        job.again = false
        await inTurn(() => handle(bell)).catch((error: unknown) => faults.push(error))
      }
      jobs.delete(id)
    }
    jobs.set(id, job)
    job.done = run()
  }
  const ring = (bells: readonly Bell[]) => {
    for (const bell of bells) hear(bell)
  }
  const idle = async () => {
    while (jobs.size > 0) await Promise.all([...jobs.values()].map(({ done }) => done))
  }

  return {
    ring,
    faults,
    start(handlers, sweeps, refresh) {
      const handlerOf: Record<QueueName, (bell: never) => Promise<void>> = handlers
      work = async (bell) => {
        await refresh()
        await handlerOf[bell.queue](bell as never)
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
      const deadline = Date.now() + RESTS_WITHIN_MS
      for (let before = -1; before !== rung; ) {
        if (Date.now() > deadline) throw new Error('what is due stays due: the handlers do not end it')
        before = rung
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
