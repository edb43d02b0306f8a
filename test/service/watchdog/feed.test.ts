/** What the watchdog makes of a usage feed that is late, and of records that are. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { askPermits } from '../../../service/enforcement/ask-permits.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { undoPage } from '../../../service/enforcement/undo-suspensions.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { importSims } from '../../../service/sims/import-sims.ts'
import { tagSim } from '../../../service/sims/tag-sim.ts'
import { markDue, tenantsDue } from '../../../store/due.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { askedPermits } from '../harness.ts'
import { asShipped, aWorld, firesOn, OVER, only, type World } from './alert-world.ts'

const [HOUR, MB] = [3_600_000, 1_000_000]
const FEED = only({ 'usage-feed-silent': asShipped })

/** A nightly file: a record of each SIM, some hours old. */
async function file(world: World, hoursAgo: number, megabytes: number, sims: readonly number[] = world.sims) {
  const at = new Date(world.store.now - hoursAgo * HOUR).toISOString()
  const { accepted } = await world.record(sims.map((sim) => world.usage(sim, { at, bytesDown: megabytes * MB })))
  await world.evaluate()
  return accepted
}

const FIRED = 'usage-feed-silent/tenant/episode-1/fired'
const RESOLVED = 'usage-feed-silent/tenant/episode-1/resolved'

describe('a feed (scenario 16)', () => {
  test('that never sent a record is reported when a SIM has been Active for 36 hours', async () => {
    const world = await aWorld({ rules: FEED })
    await world.wait(35 * HOUR)
    const before = await world.logged()
    await world.wait(HOUR)

    expect(before).toEqual([])
    expect(await world.log()).toMatchObject([{ level: 2, message: expect.stringContaining('for 36 h') }])
    expect(await world.mailed()).toEqual([FIRED])
  })

  test('by nightly files of records that are 20 hours old is not reported, and burn rates fire', async () => {
    const world = await aWorld({ rules: only({ 'usage-feed-silent': asShipped, 'sim-burn-rate': asShipped }) })
    await world.set({ enableBurnRateAlerts: true })
    // The records are of the time in the pool.
    await world.wait(24 * HOUR)
    await file(world, 20, 30)
    await world.wait(24 * HOUR)
    await file(world, 20, 20)
    await world.wait(23 * HOUR)

    expect(await world.logged()).toEqual(['sim-burn-rate/sim/2026-11/fired'])
  })

  test('is reported once, and its return too', async () => {
    const world = await aWorld({ rules: FEED })
    await file(world, 0, 1)
    await world.wait(36 * HOUR)
    await world.wait(20 * HOUR)
    // Old records are received now.
    await file(world, 30, 1)

    expect(await world.logged()).toEqual([FIRED, RESOLVED])
  })

  test('that only repeats what is known is stale', async () => {
    const world = await aWorld({ rules: FEED })
    const known = world.usage(world.sim, { bytesDown: MB })
    for (let day = 0; day < 2; day += 1) {
      await world.record([known])
      await world.wait(20 * HOUR)
    }

    expect(await world.logged()).toEqual([FIRED])
  })

  test('is awaited as the tenant says', async () => {
    const world = await aWorld({ rules: FEED })
    await file(world, 0, 1)
    await world.awaitUsage('PT1H')
    await world.wait(1.4 * HOUR)
    const before = await world.logged()
    await world.wait(0.1 * HOUR)
    await world.awaitUsage('P1D')
    await world.evaluate()

    expect([before, await world.logged()]).toEqual([[], [FIRED, RESOLVED]])
  })

  test('is not awaited while no SIM is Active', async () => {
    const world = await aWorld({ rules: FEED })
    await file(world, 0, 1)
    await world.complete({ simId: world.sim, type: TicketType.Suspend })
    await world.wait(200 * HOUR)
    await world.complete({ simId: world.sim, type: TicketType.Activate })
    await world.wait(35 * HOUR)
    const before = await world.logged()
    await world.wait(HOUR)

    expect([before, await world.logged()]).toEqual([[], [FIRED]])
  })

  test('is awaited from the day on which SIMs are taken over', async () => {
    const world = await aWorld({ rules: FEED, sims: 0 })
    const { poolId } = world
    const running = { iccid: '894450010300000077', status: 1, poolId, activatedAt: '2024-01-01T00:00:00Z' }
    const { rejected } = await world.asTenant((tx) => importSims(tx, [running]))
    expect(rejected).toEqual([])
    await world.evaluate()
    await world.wait(35 * HOUR)
    const before = await world.logged()
    await world.wait(HOUR)

    expect([before, await world.logged()]).toEqual([[], [FIRED]])
  })
})

describe('while the feed is stale', () => {
  const RULES = only({ 'usage-feed-silent': asShipped, 'sim-overage': asShipped })
  /** Gives SIMs a limit of 200 MB instead of 100. */
  async function raiseLimit(world: World) {
    await sql`update tariffs set allowance_bytes = ${200 * MB}`.execute(world.store.db)
    await world.asTenant((tx) => markDue(tx, [{ kind: 'sim', id: world.sim }]))
    await world.wait(HOUR)
  }
  const CLEARED = 'sim-overage/sim/2026-11/resolved'

  /** A SIM that is over its limit, and another, of which nothing has come for 40 hours. */
  async function aStaleWorld() {
    // raiseLimit leaves the kept sums as they are.
    const store = await aStore(undefined, { counted: false })
    const world = await aWorld({ rules: RULES, sims: 2, store })
    await file(world, 0, 101, [world.sim])
    await world.wait(40 * HOUR)
    return world
  }

  test('nothing resolves and no SIM is brought back, until usage of any SIM is received', async () => {
    const world = await aStaleWorld()
    await raiseLimit(world)
    const during = [await world.logged(), await world.signals()]
    const alerts = await world.alerts()
    await file(world, 0, 1, world.sims.slice(1))

    expect(during).toEqual([[OVER, FIRED], ['overLimit']])
    expect(alerts).toMatchObject([{ rule: 'sim-overage', firing: true, state: { withheld: ['nodata'] } }, {}])
    expect(await world.logged()).toEqual([OVER, FIRED, CLEARED, RESOLVED])
    expect(await world.signals()).toEqual(['overLimit', 'cleared'])
  })

  test('rules that read no usage are decided', async () => {
    const params = { once: 'episode', message: 'moved', occurrence: undefined }
    const moved = firesOn({ fact: 'tag', operator: 'equal', value: 'moved' }, ['moved', ''], params)
    const renamed = only({ 'usage-feed-silent': asShipped, 'sim-imei-change': moved })
    const world = await aWorld({ rules: renamed })
    await world.wait(40 * HOUR)
    await world.asTenant((tx) => tagSim(tx, { id: world.sim, tag: 'moved' }))
    await world.evaluate()

    expect(await world.logged()).toContain('sim-imei-change/sim/episode-1/fired')
  })

  test('a person can still stop the watchdog', async () => {
    const world = await aStaleWorld()
    await world.asTenant((tx) => changeEnforcement(tx, { enabled: false }))
    await world.wait(HOUR)
    const stopped = await world.signals()
    await world.asTenant((tx) => changeEnforcement(tx, { enabled: true }))
    await world.wait(HOUR)
    const still = await world.signals()
    await file(world, 0, 1, world.sims.slice(1))

    const stands = ['overLimit', 'standDown']
    expect([stopped, still, await world.signals()]).toEqual([stands, stands, [...stands, 'overLimit']])
  })

  test('an alert is withdrawn whose rule is removed', async () => {
    const world = await aStaleWorld()
    await world.put(FEED)
    await world.evaluate()

    expect(await world.logged()).toEqual([OVER, FIRED, 'sim-overage/sim/2026-11/withdrawn'])
  })

  const CYCLE = '2026-11'
  const ask = (world: World, rule = 'sim-overage') => ({ rule, cycle: CYCLE, simIds: [world.sim], workflowId: 'w' })
  const permits = (world: World, rule?: string) => world.asTenant((tx) => askedPermits(tx, ask(world, rule)))

  test('no SIM is suspended, and the order is given again once usage is received', async () => {
    const world = await aStaleWorld()
    const stale = [await permits(world), await permits(world)]
    await world.wait(HOUR)
    const waiting = await world.signals()
    await file(world, 0, 1, world.sims.slice(1))

    const none = { granted: [], held: [], discarded: [], delayed: [world.sim], holdId: null }
    expect(stale).toEqual([none, none])
    expect(waiting).toEqual(['overLimit'])
    expect(await world.signals()).toEqual(['overLimit', 'overLimit'])
    expect(await permits(world)).toMatchObject({ granted: [world.sim], delayed: [] })
  })

  test('a permit that was given before counts no more', async () => {
    const world = await aWorld({ rules: RULES, sims: 2 })
    await file(world, 0, 101, [world.sim])
    const fresh = await permits(world)
    await world.wait(40 * HOUR)

    expect([fresh.granted, (await permits(world)).granted]).toEqual([[world.sim], []])
  })

  test('an order that is delayed is taken back where the overage has gone', async () => {
    const world = await aStaleWorld()
    await permits(world)
    await raiseLimit(world)
    await file(world, 0, 1, world.sims.slice(1))

    expect(await world.signals()).toEqual(['overLimit', 'cleared'])
  })

  test('an order that is delayed is evaluated at once, should usage have come just then', async () => {
    const world = await aStaleWorld()
    const due = () => inPlatform(world.store, tenantsDue)
    const before = await due()
    await permits(world)

    expect([before, await due()]).toEqual([[], [world.tenantId]])
  })

  test('a rule that reads no usage suspends', async () => {
    const world = await aStaleWorld()
    const answer = await world.asTenant((tx) => askPermits(tx, ask(world), async () => false))

    expect(answer).toMatchObject({ granted: [world.sim], delayed: [] })
  })

  test('an undo finds the SIM whose order is delayed', async () => {
    const world = await aStaleWorld()
    await permits(world)
    const [since = '', until = ''] = [world.store.now - 48 * HOUR, world.store.now].map((at) =>
      new Date(at).toISOString(),
    )
    const page = await world.asTenant((tx) => undoPage(tx, { rule: 'sim-overage', since, until }))

    expect(page.suspensions).toMatchObject([{ simId: world.sim, suspended: false }])
  })

  test('a cycle ends and closes as ever', async () => {
    const world = await aStaleWorld()
    world.store.now = Date.UTC(2026, 11, 1, 7)
    await world.evaluate()
    await world.asTenant((tx) => closeCycle(tx, '2026-11'))
    await world.evaluate()

    expect(await world.alerts()).toMatchObject([
      { rule: 'sim-overage', scope: '2026-11', firing: false, state: { phase: 'resolved' } },
      { rule: 'usage-feed-silent', firing: true },
    ])
    expect(await world.signals()).toEqual(['overLimit'])
  })
})
