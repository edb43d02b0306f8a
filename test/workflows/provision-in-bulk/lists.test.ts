/** Batches on the development server: how lists and descriptions show them and their SIMs. */
import { describe, expect, test } from 'vitest'
import { provisionAndActivateId, provisionInBulkId } from '../../../domain/temporal/ids.ts'
import { soon } from '../../setup/soon.ts'
import { useServerHarness } from '../development-server.ts'
import { aSim, TENANT } from '../model/service.ts'
import { aBatchSim } from './batch-model.ts'

describe('provision-in-bulk on a Temporal server', () => {
  const harness = useServerHarness()
  const page = { page: 1, pageSize: 100 }

  const start = async (batchId: string, simIds: readonly number[], more: object = {}) => {
    for (const [index, simId] of simIds.entries()) {
      harness.model.batch.push(aBatchSim(index, simId))
      harness.model.sims.set(simId, aSim({ status: 0 }))
    }
    const workflowId = provisionInBulkId(TENANT, batchId)
    const input = { tenantId: TENANT, batchId, parallel: 2, pageSize: 2, perRun: 3, ...more }
    await harness.workflowClient.start({ type: 'provision-in-bulk', workflowId, input })
    return workflowId
  }
  const list = async (filter: object) => {
    const { items } = await harness.workflowClient.list({ tenantId: TENANT, ...filter }, page)
    return items.map(({ workflowId }) => workflowId).toSorted()
  }

  test('is listed once, with a run for each SIM', async () => {
    const simIds = [201, 202, 203, 204, 205, 206, 207]
    const workflowId = await start('listed', simIds)
    expect(await harness.ended(workflowId)).toMatchObject({
      status: 'completed',
      state: { counts: { activated: 7 } },
      input: { batchId: 'listed' },
    })

    const children = simIds.map((id) => provisionAndActivateId(TENANT, id))
    await soon(async () => expect(await list({ type: 'provision-and-activate' })).toEqual(children))
    expect(await list({ type: 'provision-in-bulk' })).toEqual([workflowId])
    expect(await list({ simId: 203 })).toEqual([provisionAndActivateId(TENANT, 203)])
    expect((await harness.workflowClient.list({ tenantId: TENANT, simId: 203 }, page)).items).toMatchObject([
      { type: 'provision-and-activate', state: 'activated', input: { simId: 203, batchId: 'listed' } },
    ])
    const run = await harness.temporal.getHandle(provisionAndActivateId(TENANT, 203)).describe()
    expect(await run.staticSummary()).toBe('SIM 203, pool 7, batch listed')
    expect(run.parentExecution?.workflowId).toBe(workflowId)
    const found = await harness.temporal.count("BatchId = 'listed' AND WorkflowType = 'provision-and-activate'")
    expect(found.count).toBe(7)
  })

  test('counts a SIM that ends before it continues as new', async () => {
    harness.model.stuck.add('provision/222')
    const { promise: mayNote, resolve: note } = Promise.withResolvers<void>()
    harness.model.before = (line) => (line.endsWith('/outcomes') ? mayNote : Promise.resolve())
    const workflowId = await start('ends-late', [221, 222, 223], { perRun: 2 })
    await soon(() => expect(harness.model.calls('/outcomes')).toBeGreaterThan(0))
    harness.model.stuck.clear()
    const counts = async () => Object((await harness.workflowClient.describe(workflowId, TENANT)).state).counts
    await soon(async () => expect(await counts()).toMatchObject({ activated: 2 }))
    note()

    expect(await harness.ended(workflowId)).toMatchObject({
      status: 'completed',
      result: { outcome: 'done', counts: { activated: 3, cancelled: 0 } },
    })
    expect(harness.model.batch.map(({ outcome }) => outcome)).toEqual(['activated', 'activated', 'activated'])
  })

  test('cancels SIMs’ runs that an earlier run began', async () => {
    harness.model.stuck.add('provision/211')
    const workflowId = await start('cancelled', [211, 212, 213, 214, 215])
    await soon(() => expect(harness.model.batch.filter(({ outcome }) => outcome === 'activated')).toHaveLength(4))
    const first = provisionAndActivateId(TENANT, 211)
    expect((await harness.workflowClient.describe(first, TENANT)).status).toBe('running')
    await harness.workflowClient.cancel(workflowId)
    await soon(() => expect(harness.model.calls('DELETE')).toBeGreaterThan(0))
    harness.model.stuck.clear()

    expect(await harness.ended(workflowId)).toMatchObject({
      status: 'cancelled',
      result: { outcome: 'cancelled', counts: { activated: 4, cancelled: 1 } },
    })
    expect((await harness.workflowClient.describe(first, TENANT)).status).toBe('cancelled')
    expect(harness.model.ticketsOf(211)).toEqual(['provision:2', 'activate:4', 'unassign:2'])
  })

  test('counts a SIM as failed whose run was stopped', async () => {
    for (const id of [221, 225]) harness.model.stuck.add(`provision/${id}`)
    const workflowId = await start('stopped', [221, 222, 223, 224, 225])
    await soon(() => expect(harness.model.ticketsOf(225)).toContain('provision:1'))
    for (const id of [221, 225])
      await harness.temporal.getHandle(provisionAndActivateId(TENANT, id)).terminate('stopped')

    const { result } = await harness.ended(workflowId)
    expect(result).toMatchObject({ outcome: 'doneWithFailures', counts: { activated: 3, failed: 2 } })
    expect(harness.model.batch.filter(({ outcome }) => outcome === 'failed')).toMatchObject([
      { simId: 221, code: 'workflow_stopped' },
      { simId: 225, code: 'workflow_stopped' },
    ])
  })
})
