/** Undoing the suspensions of one rule, on the real service in skipped time. */
import { expect, test } from 'vitest'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { activitiesIn, tasksIn, untilLast } from '../events.ts'
import { useCustomer } from '../real-service/customer.ts'

const DAY = 86_400_000
const RULE = 'sim-overage'

describeInSkippedTime('undo-suspensions', (path) => {
  let cycle: Cycle
  const { harness, customer } = useCustomer(path, async (started) => {
    cycle = await started.skipToMonth(10)
  })

  const startUndo = () => {
    const since = new Date(cycle.startsAt).toISOString()
    return customer.inside('POST', '/internal/workflows/undo-suspensions', { rule: RULE, since })
  }
  const undo = async () => customer.ended((await startUndo()).workflowId)

  test('brings back all SIMs that the rule suspended', async () => {
    const sims = await customer.suspended(3, await customer.plainPool(), cycle)
    const { result, state } = await undo()

    expect(result).toEqual({ outcome: 'done', found: 3, done: 3, failed: 0, failures: [] })
    expect(state).toMatchObject({ found: 3, done: 3, left: 0, ratePerSecond: expect.any(Number), waitsFor: null })
    expect(state.steps).toMatchObject([{ step: 'page/1', outcome: '3 SIMs: 3 come back, 0 failed' }])
    for (const simId of sims) await customer.untilSim(simId, { status: 1 })
    for (const simId of sims) {
      const ended = await customer.ended(suspendOnOverageId(customer.tenantId, simId, cycle.key))
      expect(ended).toMatchObject({ result: { outcome: 'resumed', suspended: 1, broughtBack: 1 } })
      await customer.usage(simId, 200)
    }
    await harness.skipTo((await harness.now()) + DAY)
    for (const simId of sims) expect(await customer.sim(simId)).toMatchObject({ status: 1, usageMB: 350 })

    expect((await undo()).result).toMatchObject({ outcome: 'done', found: 0, done: 0 })
    expect(await customer.tickets(sims[0] ?? 0)).toHaveLength(4)
  })

  test('takes two activities and three workflow tasks a page', async () => {
    const sims = await customer.suspended(2, await customer.plainPool(), cycle)
    const { workflowId } = await startUndo()
    const history = await untilLast(harness.runOf(workflowId), 'workflowExecutionCompleted')

    expect([activitiesIn(history).length, tasksIn(history)]).toEqual([2, 3])
    for (const simId of sims) await customer.untilSim(simId, { status: 1 })
  })

  test('opens tickets for SIMs whose workflow has ended', async () => {
    const [back = 0, lost = 0] = await customer.suspended(2, await customer.plainPool(), cycle)
    for (const simId of [back, lost]) {
      const workflowId = customer.suspensionId(simId, cycle.key)
      await customer.inside('POST', `/internal/workflows/${workflowId}/cancel`)
      await customer.ended(workflowId)
    }
    const { iccid } = await customer.sim(lost)
    await harness.carrier.lose(iccid)
    const { workflowId, result, state } = await undo()

    expect(result).toMatchObject({ outcome: 'doneWithFailures', found: 2, done: 1, failed: 1 })
    // One activity for each of the SIMs.
    expect(activitiesIn(await harness.runOf(workflowId).fetchHistory())).toHaveLength(2 + 2)
    expect(result.failures).toEqual([{ simId: lost, code: 'line_unknown', detail: 'the carrier refused it' }])
    expect(state.steps).toContainEqual(
      expect.objectContaining({ step: `activate/${back}`, outcome: 'complete', ticketId: expect.any(String) }),
    )
    expect(await customer.sim(back)).toMatchObject({ status: 1 })
    expect(await customer.sim(lost)).toMatchObject({ status: 2 })

    await harness.carrier.find(iccid)
    await soon(async () => expect((await undo()).result).toMatchObject({ found: 1, done: 1 }))
    expect(await customer.sim(lost)).toMatchObject({ status: 1 })
    await customer.usage(back, 200)
    await harness.skipTo((await harness.now()) + DAY)
    expect(await customer.sim(back)).toMatchObject({ status: 1 })
  })
})
