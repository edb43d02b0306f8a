/** Records histories of a pool's enforcement, and of undoing a rule's suspensions. Part of record-histories.ts. */
import { ServiceError } from '../../domain/errors.ts'
import { enforcePoolId, suspendOnOverageId, undoSuspensionsId } from '../../domain/temporal/ids.ts'
import type { EnforcePoolSignal } from '../../domain/temporal/signals.ts'
import type { SuspendOnOverageInput } from '../../domain/temporal/suspend-on-overage.ts'
import { retryOf } from '../../service/workflows/retry-of.ts'
import { until } from '../../test/setup/soon.ts'
import { clear, type startHarness } from '../../test/workflows/harness.ts'
import { aSim, TENANT } from '../../test/workflows/model/service.ts'

type Harness = Awaited<ReturnType<typeof startHarness>>
/** Waits for the end of a workflow and keeps its history under a name. */
type Keep = (name: string, workflowId: string) => Promise<void>

const POOL = 7
const RULE = 'r'
const soon = (ms: number) => new Date(Date.now() + ms).toISOString()

export async function recordEnforcement({ workflowClient, model }: Harness, record: Keep): Promise<void> {
  const stateIs = (workflowId: string, wanted: object) => async () => {
    const run = await workflowClient.describe(workflowId, TENANT).catch(() => undefined)
    const { state } = run ?? {}
    return Object.entries(wanted).every(([name, value]) => Object(state)[name] === value)
  }

  /** A pool with two SIMs over their limit, until the cycle ends after `secondsLeft` seconds. */
  async function pool(
    name: string,
    permits: 'granted' | 'held',
    act: (
      signal: (name: EnforcePoolSignal) => Promise<void>,
      state: (wanted: object) => Promise<unknown>,
    ) => Promise<unknown>,
    secondsLeft = 5,
  ): Promise<void> {
    clear(model)
    const cycleEndsAt = soon(secondsLeft * 1000)
    model.cycles.push({ key: name, endsAt: cycleEndsAt, closedAt: null })
    for (const id of [1, 2]) model.sims.set(id, aSim())
    const flags = { stopped: false, exempt: false, weaker: false, held: false, refused: false }
    model.pool.rows = [1, 2].map((simId) => ({ simId, usageBytes: 20, shareBytes: 10, excessBytes: 10, ...flags }))
    model.permits = permits
    const workflowId = enforcePoolId(TENANT, POOL, name)
    const input = {
      tenantId: TENANT,
      poolId: POOL,
      cycleKey: name,
      cycleEndsAt,
      rule: RULE,
      ruleFile: 'r.json',
      target: 'largestExcess',
      grace: 'PT0S',
      until: 'renewal',
    } as const
    const signal = 'overLimit' as const
    await workflowClient.signalWithStart({ do: 'signalWithStart', type: 'enforce-pool', workflowId, input, signal })
    await act(
      (next) => workflowClient.signal(workflowId, next),
      (wanted) => until(`${workflowId}: ${JSON.stringify(wanted)}`, stateIs(workflowId, wanted)),
    )
    await record(`enforce-pool-${name}`, workflowId)
    // The SIMs' workflows that it started run until a renewal, which nothing else signals here.
    for (const id of [1, 2])
      await workflowClient.signal(suspendOnOverageId(TENANT, id, name), 'renewed').catch(() => {})
  }

  await pool('too-little', 'granted', async (_, state) => state({ rounds: 1, tooLittle: true }))
  await pool('cleared', 'granted', async (signal, state) => {
    await state({ rounds: 1, over: true })
    await signal('cleared')
    await state({ over: false })
  })
  await pool('failed-round', 'granted', async (signal, state) => {
    await state({ rounds: 1, over: true })
    model.before = async (line) => {
      if (line.startsWith('GET /internal/pools/')) throw new ServiceError('invalid_request', 'as the recorder wants it')
    }
    const before = model.calls('GET /internal/pools/')
    await signal('overLimit')
    await until('the next round', () => model.calls('GET /internal/pools/') > before)
    model.before = async () => {}
    await signal('overLimit')
    await state({ rounds: 2 })
  })
  await pool('stood-down', 'granted', async (signal, state) => {
    await state({ rounds: 1, over: true })
    await signal('standDown')
  })
  await pool('released', 'held', async (signal, state) => {
    await state({ held: 2 })
    model.permits = 'granted'
    await signal('guardReleased')
    await state({ rounds: 2, held: 0 })
  })
  await pool('discarded', 'held', async (signal, state) => {
    await state({ held: 2 })
    model.permits = 'discarded'
    await signal('guardDiscarded')
    await state({ rounds: 2, held: 0 })
  })
  await pool('cleared-while-held', 'held', async (signal, state) => {
    await state({ held: 2 })
    await signal('cleared')
    await state({ held: 0 })
  })
  await pool('started-again', 'granted', async (_, state) => {
    await state({ rounds: 1, over: true })
    const workflowId = enforcePoolId(TENANT, POOL, 'started-again')
    await workflowClient.cancel(workflowId)
    await until('its end', async () => (await workflowClient.describe(workflowId, TENANT)).status === 'cancelled')
    model.pool.over = false
    await workflowClient.startAgain(retryOf(await workflowClient.describe(workflowId, TENANT)), 'again')
    await state({ rounds: 1, over: false })
  })
  await pool('held-at-the-end', 'held', async (_, state) => state({ held: 2 }))

  /** SIMs that a rule has suspended: 1 and 2 by workflows that are running, 3 and 4 by workflows that are not. */
  async function undo(name: string, perRun: number, act: (workflowId: string) => Promise<void> = async () => {}) {
    const suspended = (simId: number) => {
      const workflowId = suspendOnOverageId(TENANT, simId, `undo-${name}`)
      return { workflowId, sim: aSim({ status: 2, suspension: { cause: 'watchdog', workflowId, until: 'renewal' } }) }
    }
    for (const simId of [1, 2]) {
      model.sims.set(simId, aSim())
      const { workflowId } = suspended(simId)
      const input: SuspendOnOverageInput = {
        tenantId: TENANT,
        simId,
        cycleKey: `undo-${name}`,
        cycleEndsAt: soon(3_600_000),
        rule: RULE,
        ruleFile: 'r.json',
        grace: 'PT0S',
        until: 'renewal',
      }
      const signal = 'overLimit' as const
      await workflowClient.signalWithStart({
        do: 'signalWithStart',
        type: 'suspend-on-overage',
        workflowId,
        input,
        signal,
      })
      await until(`${workflowId} suspends`, stateIs(workflowId, { phase: 'suspended' }))
    }
    for (const simId of [3, 4]) model.sims.set(simId, suspended(simId).sim)
    const workflowId = undoSuspensionsId(TENANT, RULE, name)
    const [since, now] = ['2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z']
    const input = { tenantId: TENANT, rule: RULE, since, until: now, pageSize: 3, perRun }
    await workflowClient.start({ type: 'undo-suspensions', workflowId, input })
    await act(workflowId)
    await record(`undo-suspensions-${name}`, workflowId)
  }

  clear(model)
  model.failing.set('activate/4', 'carrier_rejected')
  await undo('with-a-failure', 10)
  clear(model)
  await undo('continued', 1)
  clear(model)
  model.pending.add('activate')
  await undo('cancelled', 10, async (workflowId) => {
    await until('the activate ticket', () => model.ticketsOf(3).includes('activate:0'))
    await workflowClient.cancel(workflowId)
    model.pending.clear()
  })
  clear(model)
}
