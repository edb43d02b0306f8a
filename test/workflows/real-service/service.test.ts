import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { enforcePoolId } from '../../../domain/temporal/ids.ts'
import { nextCycle } from '../../../domain/time/cycle.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { MB, useCustomer } from './customer.ts'

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]

describeInSkippedTime('workflows on the real service', (path) => {
  beforeAll(() => {
    // Cycles end in UTC, whatever the service's time zone. In this zone the day begins 14 hours before UTC's.
    vi.stubEnv('TZ', 'Pacific/Kiritimati')
    expect(new Date().getTimezoneOffset()).toBe(-14 * 60)
  })
  afterAll(() => vi.unstubAllEnvs())
  const { harness, customer } = useCustomer(path)

  const is31 = (startsAt: Date) => [0, 2, 4, 6, 7, 9, 11].includes(startsAt.getUTCMonth())

  describe('suspend-on-overage', () => {
    const OVER = ['2 SIM is 50 MB over its limit', '2 SIM was suspended']

    test('suspends until the month end brings the SIM back', async () => {
      const cycle = await harness.skipToMonth(1, is31)
      const [simId = 0] = await customer.suspended(1, await customer.plainPool(), cycle)
      await customer.untilLog(OVER)
      expect(await customer.sim(simId)).toMatchObject({ status: 2, usageMB: 150, overageMB: 50, isOverage: true })

      await harness.skipTo(cycle.endsAt - 5 * SECOND)
      const early = await customer.tryInside('POST', '/internal/workflows/month-end-reprovision', { cycle: cycle.key })
      expect(early).toMatchObject({ status: 409, body: { code: 'cycle_open' } })
      expect(await customer.sim(simId)).toMatchObject({ status: 2, usageMB: 150 })
      await harness.skipTo(cycle.endsAt)
      expect(await customer.monthEnd(cycle)).toMatchObject({ renewed: 1, moved: 0, changesFailed: 0, statement: true })

      expect(await customer.ended(customer.suspensionId(simId, cycle.key))).toMatchObject({
        result: { outcome: 'renewed', suspended: 1, broughtBack: 1, failure: null },
      })
      expect(await customer.sim(simId)).toMatchObject({ status: 1, usageMB: 0, limitMB: 100, isOverage: false })
      const log = [...OVER, '0 SIM is active again']
      await customer.untilLog(log)
      const ofRule = `sim-overage/sim/${simId}/${cycle.key}`
      const mailed = [`${ofRule}/suspended/0`, `${ofRule}/fired`, `${ofRule}/broughtBack/0`, `summary/${cycle.key}`]
      expect(await customer.mailed()).toEqual(mailed)

      expect(await customer.startMonthEnd(cycle.key)).toMatchObject({ status: 'completed' })
      await harness.skipTo(cycle.endsAt + DAY)
      expect(await customer.log()).toEqual(log)
      expect(await customer.mailed()).toEqual(mailed)
      expect(await customer.tickets(simId)).toHaveLength(4)
    })

    test('warns twice within a grace, then suspends', async () => {
      const cycle = await harness.skipToMonth(10)
      const [simId = 0] = await customer.active(1, await customer.plainPool('patient'))
      await customer.usage(simId, 150)
      const { state } = await customer.untilPhase(simId, cycle.key, 'grace')
      const graceEndsAt = Date.parse(state.graceEndsAt)
      const begun = ['2 SIM is 50 MB over its limit', '1 The grace period of SIM has begun']
      await customer.untilLog(begun)

      await harness.skipTo(graceEndsAt - HOUR - MINUTE)
      expect(await customer.log()).toEqual(begun)
      await harness.skipTo(graceEndsAt - HOUR + SECOND)
      await customer.untilLog([...begun, '1 The grace period of SIM ends'])
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
      // Without usage for two days the feed would be stale, and suspend nobody.
      await customer.usage(simId, 1)
      await harness.skipTo(graceEndsAt)
      await customer.untilLog([...begun, '1 The grace period of SIM ends', '2 SIM was suspended'])
      await harness.skipTo(graceEndsAt + 2 * HOUR)
      const mails = await customer.mails()
      expect(mails.map(({ subject }) => subject)).toEqual([
        expect.stringMatching(/ 50 MB over: suspended in 2 d$/),
        expect.stringMatching(/ 50 MB over: suspended at .* UTC$/),
        expect.stringMatching(/ 50 MB over: suspended at .* UTC$/),
        expect.stringMatching(/ was suspended by rule sim-overage-patient$/),
      ])
      expect(mails[1]?.text).toContain(new Date(graceEndsAt).toISOString().slice(0, 10))
    })

    test('does not suspend again after resume, until next cycle', async () => {
      const cycle = await harness.skipToMonth(10)
      const [simId = 0] = await customer.suspended(1, await customer.plainPool(), cycle)
      await customer.update(simId, cycle.key, 'resume')
      const { result } = await customer.ended(customer.suspensionId(simId, cycle.key))
      expect(result).toMatchObject({ outcome: 'resumed', suspended: 1, broughtBack: 1 })
      await customer.usage(simId, 500)
      await harness.skipTo(cycle.startsAt + 20 * DAY)
      expect(await customer.sim(simId)).toMatchObject({ status: 1, overageMB: 550 })

      await harness.skipTo(cycle.endsAt + HOUR)
      await customer.usage(simId, 101)
      const next = new Date(cycle.endsAt).toISOString().slice(0, 7)
      await customer.untilPhase(simId, next, 'suspended')
      expect(await customer.tickets(simId)).toHaveLength(5)
    })

    test('leaves the SIM alone after a person’s ticket', async () => {
      const cycle = await harness.skipToMonth(10)
      const [simId = 0] = await customer.suspended(1, await customer.plainPool(), cycle)
      await customer.api('POST', '/api/tickets/activate', { simId })
      const { result } = await customer.ended(customer.suspensionId(simId, cycle.key))
      expect(result).toMatchObject({ outcome: 'personActed', suspended: 1, broughtBack: 0 })
      await customer.usage(simId, 500)
      await harness.skipTo(cycle.endsAt)

      expect(await customer.monthEnd(cycle)).toMatchObject({ renewed: 0 })
      expect(await customer.sim(simId)).toMatchObject({ status: 1 })
      expect(await customer.log()).toEqual(OVER)
      expect(await customer.tickets(simId)).toHaveLength(4)
    })

    test('suspends a pool’s largest user until capacity grows', async () => {
      const cycle = await harness.skipToMonth(10)
      const poolId = await customer.sharedPool('shared')
      const [large = 0, small = 0] = await customer.active(2, poolId)
      await customer.usage(small, 90)
      await customer.usage(large, 150)
      await customer.untilPhase(large, cycle.key, 'suspended')
      const pool = await customer.workflow(enforcePoolId(customer.tenantId, poolId, cycle.key))
      expect(pool.state).toMatchObject({ over: true, armed: 1 })
      // A third SIM adds its allowance to the pool.
      await customer.active(1, poolId)
      await customer.untilSim(large, { status: 1 })

      expect(await customer.sim(small)).toMatchObject({ status: 1 })
      await customer.untilLog([
        '2 Pool shared is 40 MB over its capacity',
        '2 SIM was suspended',
        '0 Pool shared is within its capacity again',
        '0 SIM is active again',
      ])
      await harness.skipTo(cycle.endsAt + MINUTE)
      expect(await customer.ended(enforcePoolId(customer.tenantId, poolId, cycle.key))).toMatchObject({
        result: { over: false },
      })
    })
  })

  describe('month-end-reprovision', () => {
    test('applies a late month end as of the boundary', async () => {
      const cycle = await harness.skipToMonth(28)
      const [old, target] = [await customer.plainPool(), await customer.plainPool('plain two', 300)]
      const [moving = 0, leaving = 0, failing = 0, staying = 0] = await customer.active(4, old)
      const { iccid } = await customer.sim(failing)
      await customer.usage(moving, 40)
      await customer.usage(leaving, 50)
      await customer.api('POST', `/api/sims/${moving}/queue-reprovision`, { poolId: target })
      await customer.api('POST', `/api/sims/${failing}/queue-reprovision`, { poolId: target })
      await customer.api('POST', `/api/sims/${leaving}/queue-unprovision`)
      await harness.carrier.lose(iccid)
      // The month end is an hour late. Usage since the boundary counts in the SIM's new pool.
      await harness.skipTo(cycle.endsAt + HOUR)
      await customer.usage(moving, 7, { at: new Date(cycle.endsAt).toISOString() })
      await customer.api('POST', `/api/sims/${staying}/queue-reprovision`, { poolId: target })

      expect(await customer.monthEnd(cycle)).toEqual({
        moved: 1,
        unassigned: 1,
        changesFailed: 1,
        renewed: 0,
        statement: true,
      })
      expect(await customer.sim(moving)).toMatchObject({ status: 1, poolId: target, pendingPoolId: null, usageMB: 7 })
      expect(await customer.sim(leaving)).toMatchObject({ status: 0, poolId: null, pendingUnassign: false })
      expect(await customer.sim(failing)).toMatchObject({ status: 1, poolId: old, pendingPoolId: target })
      expect(await customer.sim(staying)).toMatchObject({ status: 1, poolId: old, pendingPoolId: target })
      expect(await customer.api('GET', `/api/pools/${target}`)).toMatchObject({ usageMB: 7, totalSimCount: 1 })
      const log = [`2 The change queued for SIM at the end of cycle ${cycle.key} failed and stays queued`]
      expect(await customer.log()).toEqual(log)

      const statement = await customer.inside('GET', `/internal/cycles/${cycle.key}/statement`)
      const lines: Record<string, unknown>[] = statement.lines
      expect(lines.map(({ kind, poolId, simId, bytes }) => [kind, poolId, simId, bytes])).toEqual([
        ['pool', old, null, 90 * MB],
        ['sim', old, moving, 40 * MB],
        ['sim', old, leaving, 50 * MB],
        ['sim', old, failing, 0],
        ['sim', old, staying, 0],
      ])
      const mails = await customer.mails()
      expect(mails.map(({ subject }) => subject)).toEqual([expect.stringMatching(/^Billing cycle .* closed: EUR /)])
      expect(mails[0]?.text).toContain('the carrier refused it')

      expect(await customer.startMonthEnd(cycle.key)).toMatchObject({ status: 'completed' })
      await harness.skipTo(cycle.endsAt + DAY)
      expect(await customer.log()).toEqual(log)
      expect(await customer.mails()).toHaveLength(1)
      expect(await customer.inside('GET', `/internal/cycles/${cycle.key}/statement`)).toEqual(statement)

      // The next month end makes the changes that stayed queued.
      await harness.carrier.find(iccid)
      const next = nextCycle('P1M', cycle)
      await harness.skipTo(next.endsAt)
      expect(await customer.monthEnd(next)).toMatchObject({ moved: 2, unassigned: 0, changesFailed: 0 })
      expect(await customer.api('GET', `/api/pools/${target}`)).toMatchObject({ totalSimCount: 3 })
      expect(await customer.log()).toEqual(log)
      expect(await customer.mails()).toHaveLength(2)
    })
  })
})
