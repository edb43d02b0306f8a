/** What is not mailed because the tenant wants no mails of alerts of that level. */
import { describe, expect, test } from 'vitest'
import { LogLevel } from '../../../domain/codes.ts'
import { changeNotices } from '../../../service/channels/change-notices.ts'
import { logAction } from '../../../service/enforcement/log-action.ts'
import { readNoticeSettings } from '../../../service/tenants/rows/tenants.ts'
import { aWorld, BOTH, OVER, WARNED } from './alert-world.ts'

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
