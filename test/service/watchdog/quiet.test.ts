/** What is not mailed because something else is, or nobody wants it, and what is mailed because nobody has looked. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel, TariffType } from '../../../domain/codes.ts'
import { acknowledgeAlert } from '../../../service/alerts/acknowledge-alert.ts'
import { changeNotices } from '../../../service/channels/change-notices.ts'
import { logAction } from '../../../service/enforcement/log-action.ts'
import { readNoticeSettings } from '../../../service/tenants/rows/tenants.ts'
import { asShipped, aWorld, BOTH, firesOn, OVER, OVERAGE, only, WARNED, type World } from './alert-world.ts'

const HOUR = 3_600_000

describe('an alert of a higher level', () => {
  test('is mailed alone; the log has both, and what still fires after it is mailed then', async () => {
    const world = await aWorld({ rules: BOTH })
    await world.use(world.sim, 101)
    const during = [await world.logged(), await world.mailed()]
    await world.mailAll()
    await world.use(world.sim, -10)
    await world.evaluate()

    expect(during).toEqual([[OVER, WARNED], [OVER]])
    expect(await world.mailed()).toEqual([OVER, WARNED])
  })

  test('holds nothing back that watches something else', async () => {
    const seen = { fact: 'hoursSinceLastSeen', operator: 'lessThan', value: 1000 }
    const never = firesOn(seen, [1, null], { for: 'PT0S', clear: undefined })
    const world = await aWorld({ rules: only({ 'sim-overage': asShipped, 'sim-never-seen': never }) })
    await world.use(world.sim, 101)

    expect((await world.mailed()).map((key) => key.split('/')[0])).toContain('sim-never-seen')
  })
})

describe('an alert of a pool that shares its data', () => {
  const shared = async () => {
    const rules = only({ 'sim-usage-warning': asShipped, 'pool-usage-warning': asShipped })
    const world = await aWorld({ rules, tariff: TariffType['Dynamic Pool'], sims: 2 })
    await world.set({ warningThresholdPct: 80 })
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
    await world.wait(60_000)

    expect(during[0]).toContain('sim-usage-warning')
    expect(during[1]).toEqual(['pool-usage-warning'])
    expect(names(await world.mailed())).toEqual(['pool-usage-warning', 'sim-usage-warning'])
  })

  test('that is silenced keeps those of its SIMs quiet too', async () => {
    const world = await shared()
    await world.silence({ rule: 'pool-*' }, 'cycle')
    await world.use(world.sims[1] ?? 0, 80)
    await world.use(world.sim, 85)

    expect(await world.mailed()).toEqual([])
  })
})

describe('a Critical alert that nobody acknowledges', () => {
  const escalating = async () => {
    const world = await aWorld({ rules: OVERAGE })
    await world.asTenant((tx) => sql`update tenants set escalate_after = 'PT2H'`.execute(tx.q))
    await world.use(world.sim, 101)
    return world
  }
  const acknowledge = (world: World) =>
    world.asTenant((tx) => acknowledgeAlert(tx, { rule: 'sim-overage', simId: world.sim }))

  test('is escalated once', async () => {
    const world = await escalating()
    await world.wait(HOUR)
    const before = await world.mailed()
    await world.wait(HOUR)
    await world.wait(5 * HOUR)

    expect(before).toEqual([OVER])
    expect(await world.mailed()).toEqual([OVER, 'sim-overage/sim/2026-11/escalated'])
    expect((await world.notices()).map(({ kind }) => kind)).toEqual(['fired', 'escalated'])
  })

  test('is not once somebody has', async () => {
    const world = await escalating()
    await acknowledge(world)
    await acknowledge(world)
    await world.wait(5 * HOUR)

    expect(await world.mailed()).toEqual([OVER])
  })

  test('is refused an acknowledgement when it does not fire', async () => {
    const world = await aWorld({ rules: OVERAGE })

    await expect(acknowledge(world)).rejects.toMatchObject({ code: 'alert_not_found' })
  })
})

async function aTenant() {
  const world = await aWorld({ rules: BOTH })
  return {
    ...world,
    mailFrom: async (mailsFrom: LogLevel) => {
      await world.asTenant(async (tx) => {
        const settings = await readNoticeSettings(tx)
        if (settings !== undefined) await changeNotices(tx, { ...settings, mailsFrom })
      })
      await world.evaluate()
    },
    withheld: async () => (await world.alerts()).map(({ state }) => state.withheld ?? []),
  }
}

describe('a tenant that wants mails of Critical alerts alone', () => {
  test('gets the log of all, and mails of Critical ones', async () => {
    const tenant = await aTenant()
    await tenant.mailFrom(LogLevel.Critical)
    await tenant.use(tenant.sim, 85)
    const during = [await tenant.logged(), await tenant.mailed(), await tenant.withheld()]
    await tenant.use(tenant.sim, 16)

    expect(during).toEqual([[WARNED], [], [['unsubscribed']]])
    expect(await tenant.mailed()).toEqual([OVER])
  })

  test('is not mailed what waits for a mail', async () => {
    const tenant = await aTenant()
    await tenant.use(tenant.sim, 85)
    const before = await tenant.mailed()
    await tenant.mailFrom(LogLevel.Critical)

    expect([before, await tenant.mailed()]).toEqual([[WARNED], []])
  })

  test('is mailed no end of a warning that was mailed before', async () => {
    const tenant = await aTenant()
    await tenant.use(tenant.sim, 85)
    await tenant.mailAll()
    await tenant.mailFrom(LogLevel.Critical)
    await tenant.use(tenant.sim, -50)

    expect(await tenant.mailed()).toEqual([WARNED])
  })

  test('is mailed what still fires once it wants it again, once', async () => {
    const tenant = await aTenant()
    await tenant.mailFrom(LogLevel.Critical)
    await tenant.use(tenant.sim, 85)
    await tenant.mailFrom(LogLevel.Info)
    const again = await tenant.mailed()
    await tenant.mailAll()
    await tenant.mailFrom(LogLevel.Critical)
    await tenant.mailFrom(LogLevel.Warning)

    expect([again, await tenant.mailed()]).toEqual([[WARNED], [WARNED]])
  })

  test.each([
    [LogLevel.Warning, 1],
    [LogLevel.Critical, 0],
  ])('is told of a grace period from level %i on in %i mails', async (mailsFrom, mails) => {
    const tenant = await aTenant()
    await tenant.mailFrom(mailsFrom)
    const { logged } = await tenant.asTenant((tx) =>
      logAction(tx, {
        action: 'graceStarted',
        rule: 'sim-overage',
        simId: tenant.sim,
        poolId: null,
        cycle: '2026-11',
        counter: 1,
        detail: 'The SIM will be suspended at noon.',
        workflowId: 'w',
      }),
    )

    expect([logged, (await tenant.notices()).length]).toEqual([true, mails])
  })
})
