/** Undoing the suspensions of one rule, on the real service in skipped time. */
import { describe, expect, test } from 'vitest'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { requireSkippingServer } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { type Customer, useCustomer } from '../real-service/customer.ts'
import type { RealService } from '../real-service/service.ts'

const path = requireSkippingServer('the undoing of suspensions on the real service in skipped time')
const [MINUTE, DAY] = [60_000, 86_400_000]
const RULE = 'sim-overage'

describe.skipIf(path === undefined)('undo-suspensions', () => {
  let harness: RealService
  let customer: Customer
  let cycle: Cycle
  useCustomer(
    path,
    (all) => {
      ;({ harness, customer } = all)
    },
    async (started) => {
      cycle = await started.skipToMonth(10)
    },
  )

  /** SIMs of a Standard pool, over their limit. */
  const over = async (count: number, pool = 'plain') => {
    const sims = await customer.active(count, await customer.pool(pool, await customer.standardTariff(100)))
    for (const simId of sims) await customer.usage(simId, 150)
    return sims
  }
  const undo = async (more: object = {}) => {
    const since = new Date(cycle.startsAt).toISOString()
    const run = await customer.inside('POST', '/internal/workflows/undo-suspensions', { rule: RULE, since, ...more })
    return customer.ended(run.workflowId)
  }

  test('brings back all SIMs that the rule suspended', async () => {
    const sims = await over(3)
    for (const simId of sims) await customer.untilPhase(simId, cycle.key, 'suspended')
    const { result, state } = await undo()

    expect(result).toEqual({ outcome: 'done', found: 3, done: 3, failed: 0, failures: [] })
    expect(state).toMatchObject({ found: 3, done: 3, left: 0, ratePerSecond: expect.any(Number), waitsFor: null })
    expect(state.steps).toMatchObject([{ step: 'page/1', outcome: '3 SIM(s): 3 come back, 0 failed' }])
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
    const sims = await over(2)
    for (const simId of sims) await customer.untilPhase(simId, cycle.key, 'suspended')
    const since = new Date(cycle.startsAt).toISOString()
    const { workflowId } = await customer.inside('POST', '/internal/workflows/undo-suspensions', { rule: RULE, since })
    // No query of the state meanwhile: on this server a query can cost a workflow task too.
    const events = await soon(async () => {
      const history = await harness.runOf(workflowId).fetchHistory()
      expect(history.events?.at(-1)?.workflowExecutionCompletedEventAttributes).toBeTruthy()
      return history.events
    })

    expect(events?.filter((event) => event.activityTaskScheduledEventAttributes)).toHaveLength(2)
    expect(events?.filter((event) => event.workflowTaskCompletedEventAttributes)).toHaveLength(3)
    for (const simId of sims) await customer.untilSim(simId, { status: 1 })
  })

  test('leaves older suspensions and those by others', async () => {
    const [byRule = 0, older = 0, byPerson = 0] = await over(3)
    for (const simId of [byRule, older, byPerson]) await customer.untilPhase(simId, cycle.key, 'suspended')
    await customer.api('POST', '/api/tickets/suspend', { simId: byPerson })
    await harness.pump.settled()
    await harness.skipTo((await harness.now()) + MINUTE)
    const since = new Date(await harness.now()).toISOString()
    const [later = 0] = await over(1, 'plain two')
    await customer.untilPhase(later, cycle.key, 'suspended')

    expect((await undo({ since })).result).toMatchObject({ found: 1, done: 1 })
    await customer.untilSim(later, { status: 1 })
    expect(await customer.sim(byRule)).toMatchObject({ status: 2 })
    expect((await undo({ rule: 'sim-overage-patient' })).result).toMatchObject({ found: 0 })
    expect((await undo()).result).toMatchObject({ found: 2, done: 2 })
    for (const simId of [byRule, older]) await customer.untilSim(simId, { status: 1 })
    expect(await customer.sim(byPerson)).toMatchObject({ status: 2 })
  })

  test('ends grace periods and held suspensions', async () => {
    const rule = 'sim-overage-patient'
    const [inGrace = 0] = await over(1, 'patient')
    await customer.untilPhase(inGrace, cycle.key, 'grace')
    expect((await undo({ rule })).result).toMatchObject({ found: 1, done: 1, failed: 0 })
    const dropped = await customer.ended(suspendOnOverageId(customer.tenantId, inGrace, cycle.key))
    expect(dropped.result).toMatchObject({ outcome: 'resumed', suspended: 0 })

    await customer.inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 0, guardPct: 0 })
    const [held = 0] = await over(1)
    await customer.untilPhase(held, cycle.key, 'held')
    expect((await undo()).result).toMatchObject({ found: 1, done: 1, failed: 0 })
    const [hold] = (await customer.inside('GET', '/internal/enforcement/holds')).data
    await customer.inside('POST', `/internal/enforcement/holds/${hold.id}/release`)
    await harness.skipTo((await harness.now()) + 3 * DAY)
    for (const simId of [inGrace, held]) expect(await customer.tickets(simId)).toHaveLength(2)
  })

  test('opens tickets for SIMs whose workflow has ended', async () => {
    const [back = 0, lost = 0] = await over(2)
    for (const simId of [back, lost]) {
      const { workflowId } = await customer.untilPhase(simId, cycle.key, 'suspended')
      await customer.inside('POST', `/internal/workflows/${workflowId}/cancel`)
      await customer.ended(workflowId)
    }
    const { iccid } = await customer.sim(lost)
    await harness.carrier.lose(iccid)
    const { workflowId, result, state } = await undo()
    const { events } = await harness.runOf(workflowId).fetchHistory()

    expect(result).toMatchObject({ outcome: 'doneWithFailures', found: 2, done: 1, failed: 1 })
    // One activity for each of the SIMs.
    expect(events?.filter((event) => event.activityTaskScheduledEventAttributes)).toHaveLength(2 + 2)
    expect(result.failures).toEqual([{ simId: lost, code: 'line_unknown', detail: 'the carrier refused it' }])
    expect(state.steps).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ step: `activate/${back}`, outcome: 'complete', ticketId: expect.any(String) }),
      ]),
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
