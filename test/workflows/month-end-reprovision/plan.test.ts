/** The plan of a month end on the real service: its figures equal those of the month end that follows. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextCycle } from '../../../domain/time/cycle.ts'
import { requireSkippingServer } from '../../setup/requirements.ts'
import { aCustomer, MB } from '../real-service/customer.ts'
import { type RealService, startRealService } from '../real-service/service.ts'

const path = requireSkippingServer('the plan of a month end on the real service')

const DAY = 86_400_000

// biome-ignore lint/suspicious/noExplicitAny: tests look into it
type Body = any

describe.skipIf(path === undefined)('planMonthEnd', () => {
  let harness: RealService
  beforeAll(async () => {
    harness = await startRealService(path ?? '')
  })
  afterAll(() => harness?.close())

  test('gives the figures of the month end that follows', async () => {
    const customer = await aCustomer(harness)
    const first = await harness.skipToMonth(20)
    const dynamic = await customer.dynamicTariff(100)
    const [from, to] = [await customer.pool('from', dynamic, 1), await customer.pool('to', dynamic, 1)]
    const [moving = 0, leaving = 0, over = 0, refused = 0] = await customer.active(4, from)
    await customer.usage(moving, 90)
    await harness.skipTo(first.endsAt + 60_000)
    await customer.monthEnd(first)
    const cycle = nextCycle('P1M', first)
    await harness.skipTo(cycle.startsAt + 26 * DAY)
    // Late usage for the closed month takes the pool over its capacity in that month.
    await customer.usage(over, 400, { at: new Date(first.endsAt - 60_000).toISOString() })
    await customer.usage(over, 450)
    await customer.untilPhase(over, cycle.key, 'suspended')
    const withdrawn = await customer.standardTariff(7)
    const apart = await customer.pool('apart', await customer.standardTariff(100))
    await customer.api('POST', `/api/sims/${moving}/queue-reprovision`, { poolId: to })
    await customer.api('POST', `/api/sims/${refused}/queue-reprovision`, { poolId: apart, tariffId: withdrawn })
    await customer.api('POST', `/api/sims/${leaving}/queue-unprovision`)
    await customer.inside('PATCH', `/internal/tariffs/${withdrawn}`, { isActive: false })

    const plan = await customer.inside('GET', `/internal/cycles/${cycle.key}/plan`)
    expect(await customer.tickets(moving)).toHaveLength(2)
    await harness.skipTo(cycle.endsAt + 60_000)
    const run = await customer.monthEnd(cycle)

    expect(run).toMatchObject({
      moved: plan.changes.moves,
      unassigned: plan.changes.unassignments,
      changesFailed: plan.conflicts.count,
      renewed: plan.renewals.count,
      statement: plan.statement,
    })
    expect(plan).toMatchObject({
      changes: { count: 3, moves: 1, unassignments: 1 },
      conflicts: { first: [{ simId: refused, code: 'tariff_inactive' }] },
      renewals: { first: [over] },
    })
    const statement = await customer.inside('GET', `/internal/cycles/${cycle.key}/statement`)
    const lines: Body[] = statement.lines
    const adjustments = lines.filter(({ kind }) => kind === 'adjustment')
    const charge = (all: Body[]) =>
      all.reduce((sum, l) => sum + l.feeMicro + l.smsMicro + l.voiceMicro + l.overageMicro, 0)
    expect(plan.totals).toMatchObject({
      lines: statement.lineCount,
      totalMicro: statement.totalMicro,
      adjustmentsMicro: charge(adjustments),
      usageBytes: 450 * MB,
      overageBytes: 50 * MB,
    })
    expect(plan.adjustments).toMatchObject({
      count: 1,
      first: [{ cycle: first.key, lines: adjustments.length, totalMicro: charge(adjustments) }],
    })
    expect(charge(adjustments)).toBe(450_000)
    for (const { poolId, totalMicro, nextLimitBytes } of plan.pools.first) {
      expect(charge(lines.filter((line) => line.poolId === poolId && line.kind !== 'adjustment'))).toBe(totalMicro)
      expect(await customer.api('GET', `/api/pools/${poolId}`)).toMatchObject({ limitMB: nextLimitBytes / MB })
    }
    const mails = await customer.mails()
    expect(mails.at(-1)?.text).toContain(`of which for ${first.key}: 0.45 (2 adjustments, 400 MB)`)
    await customer.expectEachOnce()
  })
})
