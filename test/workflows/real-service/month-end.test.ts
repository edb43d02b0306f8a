/** The month end on the real service in skipped time: failures, outages, and runs stopped in the middle. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { CarrierError } from '../../../adapters/carrier/network.ts'
import { monthEndId, monthEndTimerId } from '../../../domain/temporal/ids.ts'
import { type Cycle, nextCycle } from '../../../domain/time/cycle.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { byHand } from '../../setup/estate.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { aCustomer, type Customer, MB, useCustomer } from './customer.ts'

const HOUR = 3_600_000

// biome-ignore lint/suspicious/noExplicitAny: tests look into it
type Body = any

describeInSkippedTime('month-end-reprovision on the real service', (path) => {
  const { harness, customer, giveUp } = useCustomer(path)
  const pools = async (of = customer) => [await of.plainPool(), await of.plainPool('plain two', 300)] as const
  const queueMove = (simId: number, poolId: number, of = customer) =>
    of.api('POST', `/api/sims/${simId}/queue-reprovision`, { poolId })
  const queueUnassign = (simId: number) => customer.api('POST', `/api/sims/${simId}/queue-unprovision`)
  const idOf = (cycle: Cycle) => monthEndId(customer.tenantId, cycle.key)
  const progressOf = (cycle: Cycle) => customer.inside('GET', `/internal/cycles/${cycle.key}/progress`)
  const untilStep = (cycle: Cycle, step: string): Promise<Body> =>
    soon(async () => {
      const { state } = await customer.workflow(idOf(cycle))
      expect(state).toMatchObject({ step })
      return state
    })
  const closed = async (cycle: Cycle) => {
    await untilStep(cycle, 'close')
    await harness.skipTo(cycle.endsAt + 6 * HOUR)
    const ended = await customer.ended(idOf(cycle))
    await harness.pump.settled()
    return ended
  }
  const memberships = async (poolId: number) => (await customer.api('GET', `/api/pools/${poolId}`)).totalSimCount

  test('brings SIMs back while other changes hang', async () => {
    const cycle = await harness.skipToMonth(20)
    const [old, target] = await pools()
    const [first = 0, second = 0] = await customer.suspended(2, old, cycle)
    const [leaving = 0, moving = 0] = await customer.active(2, old)
    await queueUnassign(leaving)
    await queueMove(moving, target)
    await queueMove(second, target)
    const letGo = harness.carrier.hangOn(({ operation }) => operation === 'unprovision')
    await harness.skipTo(cycle.endsAt)
    await customer.startMonthEnd(cycle.key)

    await customer.untilSim(first, { status: 1 })
    await customer.untilSim(second, { status: 1, poolId: target })
    // The workflow checks only every few seconds.
    const { state } = await soon(async () => {
      const run = await customer.workflow(idOf(cycle))
      expect(run.state.waitsFor).toMatchObject({ what: '1 change' })
      return run
    })
    expect(state).toMatchObject({ step: 'settle', waitsFor: { until: null } })
    expect(state.progress).toMatchObject({
      unassign: { total: 1, done: 0, failed: 0, left: 1 },
      move: { total: 2, done: 2, failed: 0, left: 0 },
      renew: { total: 2, done: 2, failed: 0, left: 0 },
    })
    expect(await customer.sim(leaving)).toMatchObject({ status: 1, processingTicket: true })
    // Its move came before its return.
    expect((await customer.tickets(second)).slice(-2)).toEqual(['provision/complete', 'activate/complete'])
    letGo()
    expect(await closed(cycle)).toMatchObject({ result: { moved: 2, unassigned: 1, changesFailed: 0, renewed: 2 } })
    expect(await customer.sim(leaving)).toMatchObject({ status: 0, poolId: null })
  })

  test('brings back a SIM whose unassignment fails', async () => {
    const cycle = await harness.skipToMonth(20)
    const [simId = 0] = await customer.suspended(1, await customer.plainPool(), cycle)
    await queueUnassign(simId)
    const response = Promise.withResolvers<void>()
    harness.carrier.knobs.before = async ({ operation }) => {
      if (operation === 'unprovision') await response.promise
    }
    await harness.skipTo(cycle.endsAt)
    await customer.startMonthEnd(cycle.key)
    // Its suspension is released, because the SIM is to leave.
    expect(await customer.ended(customer.suspensionId(simId, cycle.key))).toMatchObject({
      result: { outcome: 'released' },
    })
    response.reject(new CarrierError('barred by contract', { code: 'carrier_rejected', retryable: false }))

    await customer.untilSim(simId, { status: 1 })
    expect(await closed(cycle)).toMatchObject({ result: { unassigned: 0, changesFailed: 1, renewed: 1 } })
    expect(await customer.sim(simId)).toMatchObject({ status: 1, pendingUnassign: true })
  })

  test('makes five hundred changes over several runs', async () => {
    const cycle = await harness.skipToMonth(20)
    const [old, target] = await pools()
    const sims = await customer.unprovisioned(500)
    for (const { iccid } of sims) await harness.carrier.find(iccid)
    // Instead of five hundred tickets and requests: makes the SIMs provisioned, each with a queued change.
    await inTenant(harness.store, customer.tenantId, async (tx) => {
      await byHand(tx)
      await sql`
        update sims set status = 2, pool_id = ${old}, provisioned_at = ${tx.now}, pending_since = ${tx.now},
                        pending_unassign = id % 10 = 0, pending_pool_id = case when id % 10 <> 0 then ${target}::integer end
      `.execute(tx.q)
      await sql`insert into memberships (sim_id, pool_id, from_at) select id, pool_id, ${tx.now}::timestamptz from sims`.execute(
        tx.q,
      )
    })
    await harness.skipTo(cycle.endsAt)
    await customer.startMonthEnd(cycle.key)

    const looks: Body[] = []
    const allMade = async () => {
      const { status, state } = await customer.workflow(idOf(cycle))
      looks.push(await progressOf(cycle))
      if (state?.progress) looks.push({ changes: sum(state.progress), unassign: null, move: null })
      expect({ status, step: state?.step }).toEqual({ status: 'running', step: 'close' })
    }
    await soon(allMade, 240)

    for (const { changes, unassign, move } of looks) {
      const { total, queued = 0, open = 0, complete = 0, failed, left, done } = changes
      expect(left === undefined ? queued + open + complete + failed : done + failed + left).toBe(total)
      if (unassign !== null) expect([unassign.total, move.total, total]).toEqual([50, 450, 500])
    }
    expect(await harness.countRuns(idOf(cycle))).toBeGreaterThan(2)
    expect(await closed(cycle)).toMatchObject({ result: { moved: 450, unassigned: 50, changesFailed: 0 } })
    const tickets: Body[] = await customer.api('GET', '/api/tickets')
    expect(tickets.filter(({ status }) => status === 2)).toHaveLength(500)
    expect([await memberships(old), await memberships(target)]).toEqual([0, 450])
    expect((await harness.runOf(idOf(cycle)).fetchHistory()).events?.length).toBeLessThan(400)
  })

  test('makes up for two missed months in order', async () => {
    const first = await harness.skipToMonth(20)
    // Its first cycle is the current one.
    const late = await aCustomer(harness)
    const [second, third] = [nextCycle('P1M', first), nextCycle('P1M', nextCycle('P1M', first))]
    const [old, target] = await pools(late)
    const [moving = 0, returning = 0] = [...(await late.active(1, old)), ...(await late.suspended(1, old, first))]
    await queueMove(moving, target, late)
    const empty = await aCustomer(harness)
    // No worker ran at the two boundaries. The service ran at the second, and accepted usage.
    await harness.skipTo(second.endsAt + 3 * 24 * HOUR)
    await late.usage(moving, 7, { at: new Date(first.endsAt).toISOString() })
    await late.usage(moving, 9, { at: new Date(second.endsAt).toISOString() })

    for (const { tenantId } of [late, empty]) await harness.timer(tenantId)
    const timer = await late.ended(monthEndTimerId(late.tenantId))
    const completed = [first, second].map(({ key }) => ({ cycle: key, status: 'completed' }))
    expect(timer).toMatchObject({ status: 'completed', result: { cycles: completed } })
    await empty.ended(monthEndTimerId(empty.tenantId))
    await harness.pump.settled()

    expect(await late.sim(returning)).toMatchObject({ status: 1, usageMB: 0 })
    expect(await late.sim(moving)).toMatchObject({ poolId: target, usageMB: 9 })
    const lines = async (of: Customer, key: string): Promise<Body[]> =>
      (await of.inside('GET', `/internal/cycles/${key}/statement`)).lines
    const charged = (await lines(late, second.key)).filter(({ kind }) => kind === 'sim')
    expect(charged.map(({ simId, poolId, bytes }) => [simId, poolId, bytes])).toEqual([
      [returning, old, 0],
      [moving, target, 7 * MB],
    ])
    expect((await late.mailed()).filter((key) => key.startsWith('summary'))).toEqual([
      `summary/${first.key}`,
      `summary/${second.key}`,
    ])
    for (const { key } of [first, second]) expect((await lines(empty, key)).map(({ kind }) => kind)).toEqual(['empty'])
    const cycles: Body[] = await empty.inside('GET', '/internal/cycles')
    expect(cycles.map(({ key, closedAt }) => [key, closedAt !== null])).toEqual([
      [third.key, false],
      [second.key, true],
      [first.key, true],
    ])
    expect(await empty.mails()).toEqual([])
    expect(await empty.log()).toEqual([])
    await late.expectEachOnce()
  })

  test('does nothing twice after terminations', async () => {
    // After a terminate the server's time stands still: it waits for the run's activities in flight.
    giveUp()
    const cycle = await harness.skipToMonth(20)
    const [old, target] = await pools()
    const [returning = 0] = await customer.suspended(1, old, cycle)
    const [leaving = 0, ...moving] = await customer.active(4, old)
    await queueUnassign(leaving)
    for (const id of moving) await queueMove(id, target)
    const letGo = harness.carrier.hangOn(({ operation }) => operation === 'move')
    await harness.skipTo(cycle.endsAt)
    await customer.startMonthEnd(cycle.key)
    await untilStep(cycle, 'settle')
    await harness.runOf(idOf(cycle)).terminate('as a test')
    expect(await customer.ended(idOf(cycle))).toMatchObject({ status: 'terminated' })
    await customer.startMonthEnd(cycle.key)
    await untilStep(cycle, 'settle')
    letGo()
    await untilStep(cycle, 'close')
    await harness.runOf(idOf(cycle)).terminate('as a test')
    expect(await customer.startMonthEnd(cycle.key)).toMatchObject({ status: 'running' })
    const { progress } = await untilStep(cycle, 'close')

    expect(progress).toMatchObject({
      unassign: { total: 1, done: 1, failed: 0 },
      move: { total: 3, done: 3, failed: 0 },
      renew: { total: 1, done: 1, failed: 0 },
    })
    expect(await customer.sim(returning)).toMatchObject({ status: 1 })
    expect(await memberships(target)).toBe(3)
    // 5 SIMs were provisioned and activated, one suspended and brought back, 4 changed.
    expect(await customer.api('GET', '/api/tickets')).toHaveLength(16)
  })
})

const sum = (progress: Body) => {
  const parts: Body[] = [progress.unassign, progress.move]
  const of = (field: string) => parts.reduce((total, part) => total + part[field], 0)
  return { total: of('total'), done: of('done'), failed: of('failed'), left: of('left') }
}
