/** Runs that continue as new, on a server that suggests it after a few events. */
import { Connection, WorkflowClient } from '@temporalio/client'
import { describe, expect, test } from 'vitest'
import { enforcePoolId, monthEndTimerId, provisionInBulkId, suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { cycleAt, previousCycle } from '../../domain/time/cycle.ts'
import { userCacheDir } from '../../stack/downloads.ts'
import { findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { soon } from '../setup/soon.ts'
import { startHarness, useModel } from './harness.ts'
import { aSim, aSuspension, TENANT } from './model/service.ts'
import { aBatchSim } from './provision-in-bulk/batch-model.ts'

/** A server that suggests to continue as new after this many events, and workers. */
async function startServer(events: number) {
  const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress: () => undefined })
  const server = await startTemporal({ program, settings: { 'limit.historyCount.suggestContinueAsNew': events } })
  const harness = await startHarness(server.address, 'default')
  const connection = await Connection.connect({ address: server.address })
  const close = async () => {
    await harness.close()
    await connection.close()
    await server.stop()
  }
  return { ...harness, connection, close }
}

describe('a run that continues as new', () => {
  const harness = useModel(() => startServer(10))
  const see = (workflowId: string) => harness.workflowClient.describe(workflowId, TENANT)
  /** The run that the latest run of an id continues; empty for the first run. */
  const runBefore = async (workflowId: string) => {
    const { events } = await new WorkflowClient({ connection: harness.connection }).getHandle(workflowId).fetchHistory()
    return events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId
  }
  /** Starts a run, and waits until its successor runs with this state. */
  const begin = async (start: Parameters<typeof harness.workflowClient.signalWithStart>[0], state: object) => {
    await harness.workflowClient.signalWithStart(start)
    await soon(async () => expect(await see(start.workflowId)).toMatchObject({ status: 'running', state }))
    await soon(async () => expect(await runBefore(start.workflowId)).toMatch(/./))
  }
  const startSuspension = (cycleKey: string) => {
    harness.model.sims.set(1, aSim())
    return aSuspension(1, cycleKey)
  }
  const untilPhase = (workflowId: string, phase: string) =>
    soon(async () => expect((await see(workflowId)).state).toMatchObject({ phase }))

  test('keeps the suspension and counts of suspend-on-overage', async () => {
    const start = startSuspension('owned')
    await begin(start, { phase: 'suspended' })
    await harness.workflowClient.signal(start.workflowId, 'cleared')
    await untilPhase(start.workflowId, 'idle')
    expect(harness.model.sims.get(1)?.status).toBe(1)
    await harness.workflowClient.signal(start.workflowId, 'overLimit')
    await untilPhase(start.workflowId, 'suspended')
    await harness.workflowClient.signal(start.workflowId, 'renewed')

    expect(await harness.ended(start.workflowId)).toMatchObject({
      status: 'completed',
      result: { outcome: 'renewed', suspended: 2, broughtBack: 2 },
    })
    expect(harness.model.actionsOf('owned')).toEqual(['suspended/0', 'broughtBack/0', 'suspended/1', 'broughtBack/1'])
    expect(harness.model.ticketsOf(1)).toEqual(['suspend:2', 'activate:2', 'suspend:2', 'activate:2'])
  })

  test('keeps suspend-on-overage’s updates and takes further ones', async () => {
    const start = startSuspension('kept')
    await begin(start, { phase: 'suspended' })
    await harness.workflowClient.update(start.workflowId, 'keepSuspended', {}, 'keep')
    await soon(() => expect(harness.model.sims.get(1)?.suspension).toMatchObject({ until: 'manual' }))
    await harness.workflowClient.signal(start.workflowId, 'cleared')
    await soon(async () => expect((await see(start.workflowId)).state).toMatchObject({ until: 'manual' }))
    await harness.workflowClient.update(start.workflowId, 'resume', {}, 'resume')

    expect(await harness.ended(start.workflowId)).toMatchObject({ result: { outcome: 'resumed' } })
    expect(harness.model.sims.get(1)?.status).toBe(1)
  })

  test('signals SIMs that the previous enforce-pool run armed', async () => {
    const cycleKey = 'armed'
    harness.model.sims.set(1, aSim())
    const cycleEndsAt = new Date(Date.now() + 3_600_000).toISOString()
    harness.model.cycles.push({ key: cycleKey, endsAt: cycleEndsAt, closedAt: null })
    harness.model.pool.rows = [{ simId: 1, usageBytes: 20, shareBytes: 10, excessBytes: 10 }]
    const workflowId = enforcePoolId(TENANT, 7, cycleKey)
    const rule = { rule: 'r', ruleFile: 'r.json', target: 'largestExcess', grace: 'PT0S', until: 'renewal' } as const
    const input = { tenantId: TENANT, poolId: 7, cycleKey, cycleEndsAt, ...rule }
    const start = { do: 'signalWithStart', type: 'enforce-pool', workflowId, input, signal: 'overLimit' } as const
    await begin(start, { over: true, armed: 1 })
    await untilPhase(suspendOnOverageId(TENANT, 1, cycleKey), 'suspended')
    await harness.workflowClient.signal(workflowId, 'cleared')

    await soon(() => expect(harness.model.sims.get(1)?.status).toBe(1))
    await harness.workflowClient.cancel(workflowId)
    await harness.workflowClient.signal(suspendOnOverageId(TENANT, 1, cycleKey), 'renewed')
  })
})

describe('a run that looks on and on', () => {
  const harness = useModel(() => startServer(40))
  /** Waits until an id has had this many runs. */
  const untilRuns = async (workflowId: string, wanted: number) => {
    const runs = new Set<string>()
    await soon(async () => {
      runs.add((await harness.workflowClient.describe(workflowId, TENANT)).runId)
      expect(runs.size).toBeGreaterThanOrEqual(wanted)
    })
  }

  test('waits on for a month end that month-end-timer has started', async () => {
    const { key, endsAt } = previousCycle('P1M', cycleAt('P1M', Date.now()))
    harness.model.cycles.push({ key, endsAt: new Date(endsAt).toISOString(), closedAt: null })
    harness.model.sims.set(1, aSim({ change: { poolId: 8, tariffId: 3, unassign: false } }))
    harness.model.stuck.add('provision/1')
    const workflowId = monthEndTimerId(TENANT)
    const input = { tenantId: TENANT, billingCycle: 'P1M' }
    await harness.workflowClient.start({ type: 'month-end-timer', workflowId, input })
    await untilRuns(workflowId, 3)
    harness.model.stuck.clear()

    expect(await harness.ended(workflowId)).toMatchObject({
      status: 'completed',
      result: { cycles: [{ cycle: key, status: 'completed' }] },
    })
    expect(harness.model.calls('POST /internal/workflows/month-end-reprovision')).toBe(1)
  })

  test('waits on for a stuck SIM of provision-in-bulk', async () => {
    const simIds = [301, 302]
    for (const [index, simId] of simIds.entries()) {
      harness.model.batch.push(aBatchSim(index, simId))
      harness.model.sims.set(simId, aSim({ status: 0 }))
    }
    harness.model.stuck.add('provision/301')
    const batchId = 'stuck'
    const workflowId = provisionInBulkId(TENANT, batchId)
    const input = { tenantId: TENANT, batchId, parallel: 2, pageSize: 2, perRun: 1 }
    await harness.workflowClient.start({ type: 'provision-in-bulk', workflowId, input })
    await soon(() => expect(harness.model.batch[1]?.outcome).toBe('activated'))
    await untilRuns(workflowId, 3)
    harness.model.stuck.clear()

    expect(await harness.ended(workflowId)).toMatchObject({
      status: 'completed',
      result: { outcome: 'done', counts: { activated: 2 } },
    })
    expect(harness.model.ticketsOf(301)).toEqual(['provision:2', 'activate:2'])
  })
})
