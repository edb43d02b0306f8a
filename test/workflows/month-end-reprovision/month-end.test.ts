import type { WorkflowFailedError } from '@temporalio/client'
import { beforeEach, expect, test } from 'vitest'
import { monthEndId, suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { MonthEndInput } from '../../../domain/temporal/month-end-reprovision.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { activitiesIn, tasksIn } from '../events.ts'
import { useSkippingHarness } from '../harness.ts'
import { aSim, aSuspension, TENANT } from '../model/service.ts'
import type { ModelSim } from '../model/tickets.ts'

const HOUR = 3_600_000
/** A SIM that the watchdog has suspended, until a person acts. */
const stopped = (suspension: Partial<NonNullable<ModelSim['suspension']>> = {}) =>
  aSim({ status: 2, suspension: { cause: 'watchdog', workflowId: null, until: 'manual', ...suspension } })

describeInSkippedTime('month-end-reprovision', (path) => {
  const harness = useSkippingHarness(path)
  let n = 0
  let cycleKey = ''
  let endsAt = 0
  let cycleEndsAt = ''
  beforeEach(async () => {
    n += 1
    cycleKey = `m${n}`
    endsAt = (await harness.env.currentTimeMs()) + HOUR
    cycleEndsAt = new Date(endsAt).toISOString()
    harness.model.cycles.push({ key: cycleKey, endsAt: cycleEndsAt, closedAt: null })
  })

  const monthEnd = (more: Partial<MonthEndInput> = {}) =>
    harness.start('month-end-reprovision', monthEndId(TENANT, cycleKey), {
      tenantId: TENANT,
      cycleKey,
      cycleEndsAt,
      closeAfter: 'PT6H',
      pageSize: 2,
      parallel: 2,
      perRun: 100,
      ...more,
    } satisfies MonthEndInput)
  const suspend = async (simId: number) => {
    harness.model.sims.set(simId, aSim())
    const start = aSuspension(simId, cycleKey, { cycleEndsAt })
    await harness.workflowClient.signalWithStart(start)
    await harness.untilState(start.workflowId, { phase: 'suspended' })
  }
  const queue = (unassign: boolean, simIds: readonly number[]) => {
    const change = { poolId: unassign ? null : 9, tariffId: null, unassign }
    for (const id of simIds) harness.model.sims.set(id, aSim({ change }))
  }
  const queueMoves = (...simIds: number[]) => queue(false, simIds)
  const queueUnassigns = (...simIds: number[]) => queue(true, simIds)

  test('begins queued changes in batches, unassignments first', async () => {
    queueMoves(1, 2, 3)
    queueUnassigns(4, 5, 6)

    expect(await (await monthEnd()).result()).toEqual({
      moved: 3,
      unassigned: 3,
      changesFailed: 0,
      renewed: 0,
      statement: true,
    })
    const kinds = [...Array(3).fill('unassign'), ...Array(3).fill('provision')]
    expect(harness.model.tickets.map(({ kind }) => kind)).toEqual(kinds)
    expect(harness.model.tickets.map((t) => t.body['effectiveAt'])).toEqual(Array(6).fill(cycleEndsAt))
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
    queueMoves(1, 2, 3)
    harness.model.failing.set('provision/2', 'carrier_rejected')

    expect(await (await monthEnd()).result()).toMatchObject({ moved: 2, changesFailed: 1 })
    expect(harness.model.sims.get(2)?.change).not.toBeNull()
  })

  test('does not close when a batch cannot begin', async () => {
    queueMoves(1, 2, 3, 4)
    harness.model.sims.set(5, stopped({ until: 'renewal' }))
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
    await suspend(1)
    harness.model.sims.set(2, stopped({ workflowId: 'suspend-on-overage:acme:2:gone', until: 'renewal' }))
    harness.model.sims.set(3, stopped({ cause: 'user' }))
    harness.model.sims.set(4, stopped())

    expect(await (await monthEnd()).result()).toMatchObject({ renewed: 2 })
    const { result } = harness.handleOf(suspendOnOverageId(TENANT, 1, cycleKey))
    expect(await result()).toMatchObject({ outcome: 'renewed' })
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
      const history = await harness.handleOf(workflowId).fetchHistory()
      const batches = (history.events ?? []).flatMap(
        (event) => event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? [],
      )
      return { activities: activitiesIn(history), tasks: tasksIn(history), batches }
    }
    queueMoves(1, 2)
    queueUnassigns(3)
    await suspend(4)
    await (await monthEnd()).result()

    const full = await counts(monthEndId(TENANT, cycleKey))
    const looks = full.activities.filter((name) => name === 'lookAtMonthEnd').length - 1
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
    for (const batch of full.batches)
      expect(await counts(batch)).toMatchObject({ activities: [expect.any(String)], tasks: 2 })
    expect(full.batches).toHaveLength(3)
  })

  test('shows the changes it waits for', async () => {
    queueMoves(1)
    harness.model.pending.add('provision')
    await monthEnd({ cycleEndsAt: new Date(endsAt - HOUR).toISOString() })

    expect(await harness.untilState(monthEndId(TENANT, cycleKey), { step: 'settle' })).toMatchObject({
      progress: { move: { total: 1, done: 0, failed: 0, left: 1, ratePerSecond: 0, estimatedEndAt: null } },
      waitsFor: { what: '1 change', until: null, why: 'the carrier works on their tickets' },
      steps: [
        { step: 'move, up to SIM 1', outcome: '1 ticket opened' },
        { step: 'open the next cycle', outcome: 'complete' },
      ],
    })
    harness.model.pending.clear()
    expect(await harness.handleOf(monthEndId(TENANT, cycleKey)).result()).toMatchObject({ moved: 1 })
  })
})
