/** The queues of a test: jobs of its own tenant, and a handler that the test gives. */
import { onTestFinished } from 'vitest'
import { consume, type Handlers, openQueues, type QueuesAt } from '../../adapters/queues/backend.ts'
import type { Job } from '../../domain/jobs.ts'
import { until } from '../setup/soon.ts'

/** The backend: Redis if `redisUrl` is not empty, else PostgreSQL. */
export type Where = Pick<QueuesAt, 'redisUrl' | 'databaseUrl' | 'answerMs'>

/** A handler for all queues. */
export const handledBy = (handle: (job: Job) => Promise<void>): Handlers => ({
  tickets: handle,
  bulk: handle,
  evaluate: handle,
  sweep: handle,
  mail: handle,
  workflows: handle,
  webhooks: handle,
})

/** Opens queues, and consumers on request. Both are closed at the end of the test, if the test has not closed them. */
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
    /** Errors of lost connections. */
    lost,
    /** The messages of errors that handlers threw. */
    failed,
    /** A job. Those of one number are one piece of work. */
    job: (webhookId: number): Job => ({ queue: 'webhooks', tenantId, webhookId }),
    /** Waits until no job is left. A job that follows another is queued in the step that ends the other. */
    idle: () =>
      until('the end of all jobs', async () => {
        const counts = Object.values(await queues.counts())
        return counts.every(({ wait, active }) => wait === 0 && active === 0)
      }),
    /** Starts consumers. They ignore jobs of other tenants. */
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

/** A promise that the test resolves. */
export function aGate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { open: () => resolve(), opened: promise }
}
