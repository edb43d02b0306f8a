/** Queues of a test: jobs of tenants of its own, handlers that the test gives, and a wait for what comes of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { Job } from '../../domain/jobs.ts'
import { consume, type Handlers, openQueues, type QueuesAt } from '../../queues/backend.ts'

export type Where = Pick<QueuesAt, 'redisUrl' | 'databaseUrl'>

/** A handler for all queues. */
const handledBy = (handle: (job: Job) => Promise<void>): Handlers => ({
  tickets: handle,
  bulk: handle,
  evaluate: handle,
  mail: handle,
  workflows: handle,
})

/** Opens queues and consumers; both are closed at the test's end where the test has not done so. */
export function harnessAt(where: Where, tenantId = `t${crypto.randomUUID().slice(0, 8)}`) {
  const lost: Error[] = []
  const at: QueuesAt = { ...where, onError: (error) => lost.push(error) }
  const queues = openQueues(at)
  onTestFinished(() => queues.close())
  const failed: string[] = []
  return {
    at,
    tenantId,
    queues,
    /** Connections that were lost. */
    lost,
    /** Messages of handlers that threw. */
    failed,
    sim: (simId: number): Job => ({ queue: 'tickets', tenantId, simId }),
    /** Jobs of other tests are let pass. */
    consume: (handle: (job: Job) => Promise<void>) => {
      const consumers = consume(
        at,
        handledBy(async (job) => {
          if (job.tenantId === tenantId) await handle(job)
        }),
        (_queue, error) => failed.push(error.message),
      )
      let closing: Promise<void> | undefined
      const close = () => {
        closing ??= consumers.close()
        return closing
      }
      onTestFinished(close)
      return { close }
    },
  }
}

/** Something that a test lets happen when it wants it to. */
export function aGate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { open: () => resolve(), opened: promise }
}

/** Long enough for a job that should not come to have come. */
export const aWhile = () => sleep(400)
