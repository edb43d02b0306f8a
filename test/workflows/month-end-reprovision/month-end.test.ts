import type { WorkflowFailedError } from '@temporalio/client'
import { beforeEach, describe, expect, test } from 'vitest'
import { monthEndId, suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { MonthEndInput } from '../../../domain/temporal/month-end-reprovision.ts'
import { useCommonHarness } from '../../setup/common-harness.ts'
import { requireSkippingServer } from '../../setup/requirements.ts'
import { clear, type SkippingHarness, startSkippingHarness } from '../harness.ts'
import { aSim, TENANT } from '../model/service.ts'

const path = requireSkippingServer('month end in skipped time')
const HOUR = 3_600_000

describe.skipIf(path === undefined)('month-end-reprovision', () => {
  let harness: SkippingHarness
  let n = 0
  let cycleKey = ''
  let endsAt = 0
  useCommonHarness(
    () => startSkippingHarness(path ?? ''),
    (started) => {
      harness = started
    },
  )
  beforeEach(async () => {
    clear(harness.model)
    n += 1
    cycleKey = `m${n}`
    endsAt = (await harness.env.currentTimeMs()) + HOUR
    harness.model.cycles.push({ key: cycleKey, endsAt: new Date(endsAt).toISOString(), closedAt: null })
  })

  const monthEnd = (more: Partial<MonthEndInput> = {}) =>
    harness.start('month-end-reprovision', monthEndId(TENANT, cycleKey), {
      tenantId: TENANT,
      cycleKey,
      cycleEndsAt: new Date(endsAt).toISOString(),
      closeAfter: 'PT6H',
      pageSize: 2,
      parallel: 2,
      perRun: 100,
      ...more,
    } satisfies MonthEndInput)
  const suspended = (simId: number) =>
    harness.untilState(suspendOnOverageId(TENANT, simId, cycleKey), { phase: 'suspended' })
  const suspend = async (simId: number) => {
    const input = {
      tenantId: TENANT,
      simId,
      cycleKey,
      cycleEndsAt: new Date(endsAt).toISOString(),
      rule: 'r',
      ruleFile: 'r.json',
      grace: 'PT0S',
      until: 'renewal',
    } as const
    const workflowId = suspendOnOverageId(TENANT, simId, cycleKey)
    await harness.workflowClient.signalWithStart({
      do: 'signalWithStart',
      type: 'suspend-on-overage',
      workflowId,
      input,
      signal: 'overLimit',
    })
    await suspended(simId)
  }

  test('begins queued changes in batches, unassignments first', async () => {
    for (const id of [1, 2, 3])
      harness.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    for (const id of [4, 5, 6])
      harness.model.sims.set(id, aSim({ change: { poolId: null, tariffId: null, unassign: true } }))

    const result = await (await monthEnd()).result()

    expect(result).toEqual({ moved: 3, unassigned: 3, changesFailed: 0, renewed: 0, statement: true })
    expect(harness.model.tickets.map((t) => t.kind)).toEqual([
      ...Array(3).fill('unassign'),
      ...Array(3).fill('provision'),
    ])
    expect(harness.model.tickets.map((t) => t.body['effectiveAt'])).toEqual(
      Array(6).fill(new Date(endsAt).toISOString()),
    )
    expect(harness.model.tickets.at(-1)?.body).toMatchObject({ poolId: 9, cause: { by: 'month-end', cycle: cycleKey } })
    expect([...harness.model.sims.values()].map((sim) => sim.status)).toEqual([1, 1, 1, 0, 0, 0])
    expect(harness.model.calls('/changes/apply')).toBe(4)
  })

  test('closes the cycle closeAfter past its end', async () => {
    await (await monthEnd()).result()

    expect(await harness.env.currentTimeMs()).toBeGreaterThanOrEqual(endsAt + 6 * HOUR)
    expect(harness.model.closed).toEqual([{ key: cycleKey }])
  })

  test('keeps a failed change queued and makes others', async () => {
    for (const id of [1, 2, 3])
      harness.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    harness.model.failing.set('provision/2', 'carrier_rejected')

    expect(await (await monthEnd()).result()).toMatchObject({ moved: 2, changesFailed: 1 })
    expect(harness.model.sims.get(2)?.change).not.toBeNull()
  })

  test('does not close when a batch cannot begin', async () => {
    for (const id of [1, 2, 3, 4])
      harness.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    harness.model.sims.set(
      5,
      aSim({ status: 2, suspension: { cause: 'watchdog', workflowId: null, until: 'renewal' } }),
    )
    harness.model.refusedBatches.add('move/0')

    const failed = await (await monthEnd()).result().catch((error: WorkflowFailedError) => error.cause)

    expect(failed).toMatchObject({ type: 'month_end_incomplete', message: expect.stringContaining('SIMs 1 to 2') })
    expect(harness.model.closed).toEqual([])
    expect([1, 2, 3, 4].map((id) => harness.model.sims.get(id)?.poolId)).toEqual([7, 7, 9, 9])
    expect(harness.model.sims.get(5)?.status).toBe(1)

    harness.model.refusedBatches.clear()
    expect(await (await monthEnd()).result()).toMatchObject({ moved: 4, renewed: 1 })
    expect(harness.model.tickets).toHaveLength(5)
    expect(harness.model.closed).toHaveLength(1)
  })

  test('brings back watchdog suspensions, not those by persons', async () => {
    for (const id of [1, 2]) harness.model.sims.set(id, aSim())
    await suspend(1)
    const gone = { cause: 'watchdog', workflowId: 'suspend-on-overage:acme:2:gone', until: 'renewal' } as const
    harness.model.sims.set(2, aSim({ status: 2, suspension: gone }))
    harness.model.sims.set(3, aSim({ status: 2, suspension: { cause: 'user', workflowId: null, until: 'manual' } }))
    harness.model.sims.set(4, aSim({ status: 2, suspension: { cause: 'watchdog', workflowId: null, until: 'manual' } }))

    const result = await (await monthEnd()).result()

    expect(result).toMatchObject({ renewed: 2 })
    expect(await harness.handleOf(suspendOnOverageId(TENANT, 1, cycleKey)).result()).toMatchObject({
      outcome: 'renewed',
    })
    expect([...harness.model.sims.values()].map((sim) => sim.status)).toEqual([1, 1, 2, 2])
  })

  test('runs once for its cycle', async () => {
    await (await monthEnd()).result()
    await monthEnd()

    expect(harness.model.closed).toHaveLength(1)
    expect(harness.model.renewals).toBe(1)
  })

  test('takes seven activities and one a batch', async () => {
    const counts = async (workflowId: string) => {
      const { events } = await harness.handleOf(workflowId).fetchHistory()
      const of = (type: string) => events?.filter((event) => Reflect.get(event, `${type}EventAttributes`) != null)
      const begun = of('activityTaskScheduled')?.map((event) => event.activityTaskScheduledEventAttributes)
      return {
        activities: begun?.map((each) => each?.activityType?.name),
        tasks: of('workflowTaskCompleted')?.length,
        batches: of('startChildWorkflowExecutionInitiated')?.map(
          (event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? '',
        ),
      }
    }
    for (const id of [1, 2])
      harness.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    harness.model.sims.set(3, aSim({ change: { poolId: null, tariffId: null, unassign: true } }))
    harness.model.sims.set(4, aSim())
    await suspend(4)
    await (await monthEnd()).result()

    const full = await counts(monthEndId(TENANT, cycleKey))
    const looks = (full.activities ?? []).filter((name) => name === 'lookAtMonthEnd').length - 1
    expect(full.activities).toEqual([
      'lookAtMonthEnd',
      'listBatches',
      'listBatches',
      'renewCycle',
      'listBatches',
      ...Array(looks).fill('lookAtMonthEnd'),
      'closeCycle',
    ])
    // Two tasks a batch: one for its start, one for its end. Two a look: one for the pause before it.
    expect(looks).toBeGreaterThan(0)
    expect(full.tasks).toBeLessThanOrEqual(9 + 2 * looks + 2 * 3)
    for (const batch of full.batches ?? []) {
      expect(await counts(batch)).toMatchObject({ activities: [expect.any(String)], tasks: 2 })
    }
    expect(full.batches).toHaveLength(3)
  })

  test('shows the changes it waits for', async () => {
    harness.model.sims.set(1, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
    harness.model.pending.add('provision')
    await monthEnd({ cycleEndsAt: new Date(endsAt - HOUR).toISOString() })

    expect(await harness.untilState(monthEndId(TENANT, cycleKey), { step: 'settle' })).toMatchObject({
      progress: { move: { total: 1, done: 0, failed: 0, left: 1, ratePerSecond: 0, estimatedEndAt: null } },
      waitsFor: { what: '1 change(s)', until: null, why: 'the carrier works on their tickets' },
      steps: [
        { step: 'move, up to SIM 1', outcome: '1 ticket(s) opened' },
        { step: 'open the next cycle', outcome: 'complete' },
      ],
    })
    harness.model.pending.clear()
    expect(await harness.handleOf(monthEndId(TENANT, cycleKey)).result()).toMatchObject({ moved: 1 })
  })
})
