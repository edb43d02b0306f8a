/**
 * Records the histories that test/workflows/replay.test.ts replays: one of each path of each workflow, from runs
 * on a development server. Usage: node tools/record-histories.ts
 *
 * A history stands for runs that users have open: record one for a new path, and keep the old ones.
 * Files that are there already are left as they are.
 */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import {
  enforcePoolId,
  monthEndId,
  monthEndPlanId,
  monthEndTimerId,
  provisionAndActivateId,
  type SuspendOnOverageInput,
  type SuspendSignal,
  suspendOnOverageId,
} from '../domain/lifecycle.ts'
import { userCacheDir } from '../stack/downloads.ts'
import { startTemporal } from '../stack/temporal.ts'
import { findTemporalServer } from '../stack/temporal-binary.ts'
import { writtenHistory } from '../test/workflows/history-files.ts'
import { clear, startHouse } from '../test/workflows/house.ts'
import { aSim, TENANT, WAITS } from '../test/workflows/service-model.ts'
import { until } from '../test/workflows/until.ts'

const folder = fileURLToPath(new URL('../test/histories/', import.meta.url))
await mkdir(folder, { recursive: true })
const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress: console.log })
const server = await startTemporal({ program })
const house = await startHouse(server.address, 'default')
const connection = await Connection.connect({ address: server.address })
const client = new Client({ connection })
const { lifecycle, model } = house

const isInPhase = (workflowId: string, phase: string) => async () => {
  const state = await client.workflow
    .getHandle(workflowId)
    .query<{ phase: string }>('state')
    .catch(() => undefined)
  return state?.phase === phase
}

async function record(name: string, workflowId: string): Promise<void> {
  const handle = client.workflow.getHandle(workflowId)
  await handle.result().catch(() => undefined)
  const file = `${folder}${name}.json`
  if (existsSync(file)) return console.log(`${name}: kept`)
  await writeFile(file, `${writtenHistory(await handle.fetchHistory())}\n`)
  console.log(`${name}: recorded`)
}

async function provision(name: string, simId: number, act?: (workflowId: string) => Promise<void>): Promise<void> {
  const workflowId = provisionAndActivateId(TENANT, simId)
  const input = { tenantId: TENANT, simId, poolId: 7, tariffId: 3, waits: WAITS }
  await lifecycle.start({ type: 'provision-and-activate', workflowId, input })
  await act?.(workflowId)
  await record(`provision-and-activate-${name}`, workflowId)
}

const soon = (ms: number) => new Date(Date.now() + ms).toISOString()

async function suspension(
  name: string,
  more: Partial<SuspendOnOverageInput>,
  act: (signal: (name: SuspendSignal) => Promise<void>, phase: (name: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const workflowId = suspendOnOverageId(TENANT, 1, name)
  const input = {
    tenantId: TENANT,
    simId: 1,
    cycleKey: name,
    cycleEndsAt: soon(3_600_000),
    rule: 'r',
    ruleFile: 'r.json',
    grace: 'PT0S',
    until: 'renewal' as const,
    waits: WAITS,
    ...more,
  }
  await lifecycle.signalWithStart({
    do: 'signalWithStart',
    type: 'suspend-on-overage',
    workflowId,
    input,
    signal: 'overLimit',
  })
  await act(
    (signal) => lifecycle.signal(workflowId, signal),
    (phase) => until(isInPhase(workflowId, phase)),
  )
  await record(`suspend-on-overage-${name}`, workflowId)
}

try {
  model.sims.set(11, aSim({ status: 0 }))
  await provision('activated', 11)
  model.failing.set('activate/12', 'carrier_rejected')
  model.sims.set(12, aSim({ status: 0 }))
  await provision('compensated', 12)
  model.sims.set(13, aSim({ status: 0 }))
  model.pending.add('activate')
  await provision('cancelled', 13, async (workflowId) => {
    await until(() => model.ticketsOf(13).includes('activate:0'))
    await lifecycle.cancel(workflowId)
  })

  clear(model)
  model.sims.set(1, aSim())
  await suspension('renewed', {}, async (signal, phase) => {
    await phase('suspended')
    await signal('renewed')
  })
  await suspension('grace-cleared-again', { grace: 'PT1S' }, async (signal, phase) => {
    await phase('grace')
    await signal('cleared')
    await phase('idle')
    await signal('overLimit')
    await phase('suspended')
    await signal('cleared')
    await phase('idle')
    await signal('resume')
  })
  await suspension('manual', { until: 'manual', cycleEndsAt: soon(2500) }, async (_, phase) => phase('suspended'))
  model.sims.set(1, aSim())
  model.pending.add('suspend')
  await suspension('taken-back', {}, async (signal, phase) => {
    await phase('suspending')
    await until(() => model.tickets.some((ticket) => ticket.kind === 'suspend' && ticket.status === 0))
    await signal('standDown')
    await phase('idle')
    await signal('personActed')
  })

  clear(model)
  const [cycleKey, cycleEndsAt] = ['20261121T0210Z', soon(3000)]
  model.cycles.push({ key: cycleKey, endsAt: cycleEndsAt, closedAt: null })
  model.sims.set(1, aSim())
  model.sims.set(2, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
  model.sims.set(3, aSim({ change: { poolId: null, tariffId: null, unassign: true } }))
  model.sims.set(4, aSim({ status: 2, suspension: { cause: 'watchdog', workflowId: null, until: 'renewal' } }))
  model.pool.rows = [{ simId: 1, excessBytes: 10 }]
  const plan = monthEndPlanId(TENANT, cycleKey, 1)
  await lifecycle.start({ type: 'month-end-plan', workflowId: plan, input: { tenantId: TENANT, cycleKey } })
  await record('month-end-plan', plan)
  const pool = { tenantId: TENANT, poolId: 7, cycleKey, cycleEndsAt, rule: 'r', ruleFile: 'r.json' }
  await lifecycle.signalWithStart({
    do: 'signalWithStart',
    type: 'enforce-pool',
    workflowId: enforcePoolId(TENANT, 7, cycleKey),
    input: { ...pool, target: 'largestExcess', grace: 'PT0S', until: 'renewal' },
    signal: 'overLimit',
  })
  await until(isInPhase(suspendOnOverageId(TENANT, 1, cycleKey), 'suspended'))
  await lifecycle.signal(enforcePoolId(TENANT, 7, cycleKey), 'standDown')
  const monthEnd = monthEndId(TENANT, cycleKey)
  const month = { tenantId: TENANT, cycleKey, cycleEndsAt, closeAfter: 'PT1S', pageSize: 2, parallel: 2, waits: WAITS }
  await lifecycle.start({ type: 'month-end-reprovision', workflowId: monthEnd, input: month })
  await record('month-end-reprovision', monthEnd)
  await record('enforce-pool', enforcePoolId(TENANT, 7, cycleKey))

  const timer = { tenantId: TENANT, billingCycle: 'PT5M' }
  await lifecycle.ensureSchedule(timer)
  model.cycles = []
  await lifecycle.start({ type: 'month-end-timer', workflowId: monthEndTimerId(TENANT), input: timer })
  await record('month-end-timer-failed', monthEndTimerId(TENANT))
} finally {
  await house.close()
  await connection.close()
  await server.stop()
}
