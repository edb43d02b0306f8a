/** Shipped rules that most estates never hear of: what makes them fire, and that nothing else does. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketStatus, WatchdogMode } from '../../../domain/codes.ts'
import { asShipped, aWorld, only, type World } from './alert-world.ts'

const HOUR = 3_600_000
const { 'Dynamic Pool': Dynamic } = TariffType

describe('sim-sms-flood', () => {
  /** Sends messages, and has them evaluated a minute later. */
  async function send(world: World, smsCount: number): Promise<void> {
    await world.record([world.usage(world.sim, { bytesDown: 1, smsCount })])
    await world.wait(60_000)
  }

  test('tells of 200 messages in a day, and a day after the last', async () => {
    const world = await aWorld({ rules: only({ 'sim-sms-flood': asShipped }) })
    await send(world, 199)
    const before = await world.logged()
    await send(world, 1)
    const notices = await world.notices()
    await world.mailAll()
    for (let hours = 0; hours < 60; hours += 6) {
      world.store.now += 6 * HOUR
      await send(world, 0)
    }

    expect(before).toEqual([])
    expect(await world.logged()).toEqual([
      'sim-sms-flood/sim/2026-11/episode-1/fired',
      'sim-sms-flood/sim/2026-11/episode-1/resolved',
    ])
    expect(notices.map(({ message }) => message.replace(/^SIM \S+ /, ''))).toEqual([
      'has sent 200 messages within a day, 200 in this billing cycle.',
    ])
  })

  test('is silent about as many over weeks', async () => {
    const world = await aWorld({ rules: only({ 'sim-sms-flood': asShipped }) })
    for (let day = 0; day < 8; day += 1) {
      await send(world, 150)
      world.store.now += 25 * HOUR
    }

    expect(await world.logged()).toEqual([])
  })
})

describe('pool-top-sim', () => {
  test('names the share of the SIM that eats its pool', async () => {
    const world = await aWorld({ rules: only({ 'pool-top-sim': asShipped }), tariff: Dynamic, sims: 10 })
    await world.use(world.sims[1] ?? 0, 240)
    const before = await world.logged()
    for (const sim of world.sims.slice(2)) await world.use(sim, 30)
    await world.use(world.sim, 30)
    await world.use(world.sims[1] ?? 0, 60)

    expect(before).toEqual([])
    expect(await world.logged()).toEqual(['pool-top-sim/pool/2026-11/fired'])
    expect((await world.notices()).map(({ message }) => message)).toEqual([
      'Pool meters is eaten by one SIM: it has 52.6 % of the 570 MB that 10 SIMs have used. The pool is at 57 %.',
    ])
  })
})

describe('tickets-failing', () => {
  const ended = (world: World, count: number, status: TicketStatus) =>
    world.asTenant((tx) =>
      sql`insert into tickets (id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at)
          select gen_random_uuid(), ${world.sim}, 0, ${status}, ${tx.now}, '{"by": "user"}', ${tx.now}, ${tx.now}
            from generate_series(1, ${count})`.execute(tx.q),
    )

  test('tells of ten that are half of all, and when they have passed', async () => {
    const world = await aWorld({ rules: only({ 'tickets-failing': asShipped }) })
    await ended(world, 11, TicketStatus.Complete)
    await ended(world, 10, TicketStatus.Failed)
    await world.wait(2 * HOUR)
    const before = await world.logged()
    await ended(world, 100, TicketStatus.Cancelled)
    await ended(world, 10, TicketStatus.Failed)
    await world.wait(2 * HOUR)
    const notices = await world.notices()
    await world.wait(25 * HOUR)

    expect(before).toEqual([])
    expect(await world.logged()).toEqual([
      'tickets-failing/tenant/episode-1/fired',
      'tickets-failing/tenant/episode-1/resolved',
    ])
    expect(notices.map(({ message }) => message.replace(/\d\d\.?\d? %/, '… %'))).toEqual([
      'Tickets fail: 20 within the last thirtieth of the billing cycle, … % of all that ended.',
    ])
  })
})

describe('overage-cost-forecast', () => {
  test('adds up pools, and compares with their fees', async () => {
    const world = await aWorld({ rules: only({ 'overage-cost-forecast': asShipped }), tariff: Dynamic, sims: 2 })
    const standard = await world.poolOf('cameras', TariffType.Standard, WatchdogMode.Monitor)
    const [camera = 0] = await world.activeSims(1, { poolId: standard })
    world.store.now = Date.parse('2026-11-13T00:00:00Z')
    await world.use(world.sim, 100)
    await world.use(camera, 120)
    const before = await world.logged()
    await world.use(world.sim, 70)

    expect(before).toEqual([])
    expect(await world.logged()).toEqual(['overage-cost-forecast/tenant/2026-11/fired'])
    expect((await world.log()).map(({ message }) => message)).toEqual([
      'Overage will cost EUR 1.37 by the end of the billing cycle if pools go on like this: 45.8 % of what they cost without it. So far it is EUR 0.10, with 40 % of the cycle gone.',
    ])
  })
})
