/** What is not mailed because something else is, and what is mailed because nobody has looked. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import { acknowledgeAlert } from '../../../service/alerts/acknowledge-alert.ts'
import { addSilence } from '../../../service/alerts/silence-alerts.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { asShipped, aWorld, only } from './alert-world.ts'

const HOUR = 3_600_000
const [WARNING, OVERAGE] = ['sim-usage-warning/sim/2026-11/fired', 'sim-overage/sim/2026-11/fired']
const BOTH = only({ 'sim-usage-warning': asShipped, 'sim-overage': asShipped })

describe('an alert of a higher level', () => {
  test('is mailed alone; the log has both, and what still fires after it is mailed then', async () => {
    const world = await aWorld({ rules: BOTH })
    await world.use(world.sim, 101)
    const during = [await world.logged(), await world.mailed()]
    await world.mailAll()
    await world.use(world.sim, -10)
    await world.evaluate()

    expect(during).toEqual([[OVERAGE, WARNING], [OVERAGE]])
    expect(await world.mailed()).toEqual([OVERAGE, WARNING])
  })

  test('takes the place of a warning that waits for its mail', async () => {
    const world = await aWorld({ rules: BOTH })
    await world.use(world.sim, 85)
    const before = await world.mailed()
    await world.use(world.sim, 16)

    expect([before, await world.mailed()]).toEqual([[WARNING], [OVERAGE]])
  })

  test('holds nothing back that watches something else', async () => {
    const world = await aWorld({
      rules: only({
        'sim-overage': asShipped,
        'sim-never-seen': (rule) => {
          Object.assign(rule.event.params, { for: 'PT0S', clear: undefined })
          rule.conditions = { all: [{ fact: 'hoursSinceLastSeen', operator: 'lessThan', value: 1000 }] }
          rule.examples = [
            { fires: true, facts: { hoursSinceLastSeen: 1 } },
            { fires: false, facts: { hoursSinceLastSeen: null } },
          ]
        },
      }),
    })
    await world.use(world.sim, 101)

    expect((await world.mailed()).map((key) => key.split('/')[0])).toContain('sim-never-seen')
  })
})

describe('an alert of a pool that shares its data', () => {
  const shared = async () => {
    const rules = only({ 'sim-usage-warning': asShipped, 'pool-usage-warning': asShipped })
    const world = await aWorld({ rules, tariff: TariffType['Dynamic Pool'], sims: 2 })
    await world.asTenant((tx) => setSimWatchdog(tx, { id: world.sim, warningThresholdPct: 80 }))
    return world
  }
  const names = (keys: readonly string[]) => keys.map((key) => key.split('/')[0])

  test('is mailed in the place of those of its SIMs, until it ends', async () => {
    const world = await shared()
    await world.use(world.sims[1] ?? 0, 80)
    await world.use(world.sim, 85)
    const during = [names(await world.logged()), names(await world.mailed())]
    await world.mailAll()
    await world.use(world.sims[1] ?? 0, -70)
    world.store.now += 60_000
    await world.evaluate()

    expect(during[0]).toContain('sim-usage-warning')
    expect(during[1]).toEqual(['pool-usage-warning'])
    expect(names(await world.mailed())).toEqual(['pool-usage-warning', 'sim-usage-warning'])
  })

  test('that is silenced keeps those of its SIMs quiet too', async () => {
    const world = await shared()
    await world.asTenant((tx) => addSilence(tx, { rule: 'pool-*', lasts: 'cycle', reason: 'We know' }))
    await world.use(world.sims[1] ?? 0, 80)
    await world.use(world.sim, 85)

    expect(await world.mailed()).toEqual([])
  })
})

describe('a Critical alert that nobody acknowledges', () => {
  const escalating = async () => {
    const world = await aWorld({ rules: only({ 'sim-overage': asShipped }) })
    await world.asTenant((tx) => sql`update tenants set escalate_after = 'PT2H'`.execute(tx.q))
    await world.use(world.sim, 101)
    return world
  }
  const later = async (world: Awaited<ReturnType<typeof escalating>>, hours: number) => {
    world.store.now += hours * HOUR
    await world.evaluate()
  }

  test('is escalated once', async () => {
    const world = await escalating()
    await later(world, 1)
    const before = await world.mailed()
    await later(world, 1)
    await later(world, 5)

    expect(before).toEqual([OVERAGE])
    expect(await world.mailed()).toEqual([OVERAGE, 'sim-overage/sim/2026-11/escalated'])
    expect((await world.notices()).map(({ kind }) => kind)).toEqual(['fired', 'escalated'])
  })

  test('is not once somebody has', async () => {
    const world = await escalating()
    const acknowledge = () => world.asTenant((tx) => acknowledgeAlert(tx, { rule: 'sim-overage', simId: world.sim }))
    await acknowledge()
    await acknowledge()
    await later(world, 5)

    expect(await world.mailed()).toEqual([OVERAGE])
  })

  test('is refused an acknowledgement when it does not fire', async () => {
    const world = await aWorld({ rules: only({ 'sim-overage': asShipped }) })
    const acknowledge = () => world.asTenant((tx) => acknowledgeAlert(tx, { rule: 'sim-overage', simId: world.sim }))

    await expect(acknowledge()).rejects.toMatchObject({ code: 'alert_not_found' })
  })
})
