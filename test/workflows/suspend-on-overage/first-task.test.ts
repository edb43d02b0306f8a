/** Updates that reach a run before a worker has taken its first task, on Temporal's development server. */
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ServiceError } from '../../../domain/errors.ts'
import { startTemporalWorker, type TemporalWorker } from '../../../worker/start-temporal-worker.ts'
import { workflowBundle } from '../../setup/workflow-bundle.ts'
import { useTemporal } from '../development-server.ts'
import { aSim, aSuspension, type ServiceModel, startServiceModel } from '../model/service.ts'

const HOUR = 3_600_000
const { address, namespace, workflowClient, temporal } = await useTemporal()
let model: ServiceModel
let worker: TemporalWorker | undefined
beforeAll(async () => {
  model = await startServiceModel(() => workflowClient)
  model.sims.set(1, aSim())
})
afterAll(async () => {
  await worker?.shutdown()
  await model?.close()
})

/** Repeats an update, under the same id, until a worker has responded. */
async function patiently<T>(update: () => Promise<T>): Promise<T> {
  try {
    return await update()
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return patiently(update)
    throw error
  }
}

test('checks early updates against the first task’s phase', async () => {
  const cycleEndsAt = new Date(Date.now() + 100 * HOUR).toISOString()
  const workflows = await workflowBundle()
  const start = aSuspension(1, 'first-task', { cycleEndsAt, grace: 'PT10H' })
  const { workflowId } = await workflowClient.signalWithStart(start)
  const begun = Date.now()
  const updates = Promise.allSettled([
    patiently(() => workflowClient.update(workflowId, 'extendGrace', { by: 'PT5H' }, 'longer')),
    patiently(() => workflowClient.update(workflowId, 'keepSuspended', {}, 'kept')),
  ])
  const at = { address, namespace, serviceUrl: model.url, internalUrl: model.url, key: 'key' }
  worker = startTemporalWorker({ ...at, workflows, log: pino({ level: 'silent' }), shutdownGraceMs: 100 })

  const [longer, kept] = await updates
  expect(longer).toMatchObject({ status: 'fulfilled', value: { phase: 'grace' } })
  const { graceEndsAt } = (longer as PromiseFulfilledResult<{ graceEndsAt: string }>).value
  expect(Math.abs(Date.parse(graceEndsAt) - begun - 15 * HOUR)).toBeLessThan(60_000)
  expect(kept).toMatchObject({
    status: 'rejected',
    reason: { code: 'update_refused', message: expect.stringContaining('phase grace') },
  })
  const { events } = await temporal.getHandle(workflowId).fetchHistory()
  const accepted = events?.find((event) => event.workflowExecutionUpdateAcceptedEventAttributes)
  const firstTask = events?.find((event) => event.workflowTaskCompletedEventAttributes)
  expect(Number(accepted?.eventId) - Number(firstTask?.eventId)).toBeLessThan(5)
  await workflowClient.cancel(workflowId)
})
