/**
 * Records histories of runs that continue as new because their history is long. Part of record-histories.ts, on a
 * server that suggests it after a few events.
 */
import {
  enforcePoolId,
  monthEndId,
  monthEndTimerId,
  provisionAndActivateId,
  provisionInBulkId,
  suspendOnOverageId,
} from '../../domain/temporal/ids.ts'
import { cycleAt, previousCycle } from '../../domain/time/cycle.ts'
import { until } from '../../test/setup/soon.ts'
import { clear, type startHarness } from '../../test/workflows/harness.ts'
import { aSim, TENANT } from '../../test/workflows/model/service.ts'
import { aBatchSim } from '../../test/workflows/provision-in-bulk/batch-model.ts'

type Harness = Awaited<ReturnType<typeof startHarness>>
/** Waits for the end of a workflow and keeps the history of one of its runs; without `runId`, of the last. */
type Keep = (name: string, workflowId: string, runId?: string) => Promise<void>

const POOL = 7
const RULE = { rule: 'r', ruleFile: 'r.json', grace: 'PT0S', until: 'renewal' } as const
const soon = (ms: number) => new Date(Date.now() + ms).toISOString()

export async function recordContinued(harness: Harness, record: Keep): Promise<void> {
  await suspension(harness, record)
  await pool(harness, record)
  await timer(harness, record)
  clear(harness.model)
}

/** Runs that have to look on for long, on a server that suggests to continue as new after a few looks. */
export async function recordLookingOn(harness: Harness, record: Keep): Promise<void> {
  await stuckTimer(harness, record)
  await stuckBatch(harness, record)
}

/** @returns the first run, and a function that waits for a later run whose state has these values */
async function firstRun({ workflowClient }: Harness, workflowId: string) {
  const { runId } = await workflowClient.describe(workflowId, TENANT)
  const later = (wanted: object) =>
    until(`a later run of ${workflowId}`, async () => {
      const run = await workflowClient.describe(workflowId, TENANT)
      const state = Object(run.state)
      return run.runId !== runId && Object.entries(wanted).every(([name, value]) => state[name] === value)
    })
  return { runId, later }
}

async function suspension(harness: Harness, record: Keep): Promise<void> {
  const { workflowClient, model } = harness
  clear(model)
  model.sims.set(1, aSim())
  const cycleKey = 'continued'
  const workflowId = suspendOnOverageId(TENANT, 1, cycleKey)
  const input = { tenantId: TENANT, simId: 1, cycleKey, cycleEndsAt: soon(3_600_000), ...RULE }
  const start = { type: 'suspend-on-overage', workflowId, input, signal: 'overLimit' } as const
  await workflowClient.signalWithStart({ do: 'signalWithStart', ...start })
  const { runId, later } = await firstRun(harness, workflowId)
  await later({ phase: 'suspended' })
  await workflowClient.signal(workflowId, 'cleared')
  await later({ phase: 'idle' })
  await workflowClient.signal(workflowId, 'overLimit')
  await later({ phase: 'suspended' })
  await workflowClient.signal(workflowId, 'renewed')
  await record('suspend-on-overage-continues', workflowId, runId)
  await record('suspend-on-overage-continued', workflowId)
}

async function pool(harness: Harness, record: Keep): Promise<void> {
  const { workflowClient, model } = harness
  clear(model)
  const cycleKey = 'continued-pool'
  const cycleEndsAt = soon(10_000)
  model.cycles.push({ key: cycleKey, endsAt: cycleEndsAt, closedAt: null })
  model.sims.set(2, aSim())
  const flags = { stopped: false, exempt: false, weaker: false, held: false, refused: false }
  model.pool.rows = [{ simId: 2, usageBytes: 20, shareBytes: 10, excessBytes: 10, ...flags }]
  const workflowId = enforcePoolId(TENANT, POOL, cycleKey)
  const input = { tenantId: TENANT, poolId: POOL, cycleKey, cycleEndsAt, target: 'largestExcess', ...RULE } as const
  const start = { type: 'enforce-pool', workflowId, input, signal: 'overLimit' } as const
  await workflowClient.signalWithStart({ do: 'signalWithStart', ...start })
  const { runId, later } = await firstRun(harness, workflowId)
  await later({ rounds: 1, over: true })
  await workflowClient.signal(workflowId, 'cleared')
  await later({ over: false })
  await record('enforce-pool-continues', workflowId, runId)
  await record('enforce-pool-continued', workflowId)
  // The SIMs' workflows that it started run until a renewal, which nothing else signals here.
  await workflowClient.signal(suspendOnOverageId(TENANT, 2, cycleKey), 'renewed').catch(() => {})
}

async function timer(harness: Harness, record: Keep): Promise<void> {
  const { workflowClient, model } = harness
  clear(model)
  const ended = Math.floor(Date.now() / 300_000) * 300_000
  model.cycles = [2, 1].map((n) => {
    const startsAt = ended - n * 300_000
    const key = new Date(startsAt).toISOString().replaceAll(/[-:]/g, '').slice(0, 13).concat('Z')
    return { key, endsAt: new Date(startsAt + 300_000).toISOString(), closedAt: null }
  })
  const workflowId = monthEndTimerId(TENANT)
  const input = { tenantId: TENANT, billingCycle: 'PT5M' }
  await workflowClient.start({ type: 'month-end-timer', workflowId, input })
  const { runId } = await workflowClient.describe(workflowId, TENANT)
  await record('month-end-timer-continues', workflowId, runId)
  await record('month-end-timer-continued', workflowId)
}

/** A timer whose month end takes longer than its history may. */
async function stuckTimer(harness: Harness, record: Keep): Promise<void> {
  const { workflowClient, model } = harness
  clear(model)
  const { key, endsAt } = previousCycle('P1M', cycleAt('P1M', Date.now()))
  model.cycles.push({ key, endsAt: new Date(endsAt).toISOString(), closedAt: null })
  model.sims.set(3, aSim({ change: { poolId: 8, tariffId: 3, unassign: false } }))
  model.stuck.add('provision/3')
  const workflowId = monthEndTimerId(TENANT)
  const input = { tenantId: TENANT, billingCycle: 'P1M' }
  await workflowClient.start({ type: 'month-end-timer', workflowId, input })
  const { runId, later } = await firstRun(harness, workflowId)
  await later({})
  await workflowClient.cancel(monthEndId(TENANT, key))
  await record('month-end-timer-waits-on', workflowId, runId)
  await record('month-end-timer-waited-on', workflowId)
}

/** A batch whose SIM somebody else takes longer for than its history may. */
async function stuckBatch(harness: Harness, record: Keep): Promise<void> {
  const { workflowClient, model } = harness
  clear(model)
  const simId = 4
  model.sims.set(simId, aSim({ status: 0, poolId: null, tariffId: null }))
  model.batch.push(aBatchSim(0, simId))
  model.stuck.add(`provision/${simId}`)
  const others = { tenantId: TENANT, simId, poolId: 7, tariffId: 3 }
  const type = 'provision-and-activate'
  await workflowClient.start({ type, workflowId: provisionAndActivateId(TENANT, simId), input: others })
  const batchId = 'waits-on'
  const workflowId = provisionInBulkId(TENANT, batchId)
  const input = { tenantId: TENANT, batchId, parallel: 2, pageSize: 2, perRun: 200 }
  await workflowClient.start({ type: 'provision-in-bulk', workflowId, input })
  const { runId, later } = await firstRun(harness, workflowId)
  await later({})
  model.stuck.clear()
  await record('provision-in-bulk-waits-on', workflowId, runId)
  await record('provision-in-bulk-waited-on', workflowId)
}
