/** What becomes of alerts when rules, subjects and figures change. */

import { describe, expect, test } from 'vitest'
import { TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import { addSilence, endSilence } from '../../../service/alerts/silence-alerts.ts'
import { tenantsWithMail } from '../../../service/channels/rows/mails.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { deletePool } from '../../../service/pools/delete-pool.ts'
import { updatePool } from '../../../service/pools/update-pool.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { accepting } from '../../setup/accepting.ts'
import { asShipped, aWorld, type Edit, inStage, only } from './alert-world.ts'
import { missingFact } from './missing-fact.ts'

const [HOUR, DAY] = [3_600_000, 86_400_000]
const OVERAGE = only({ 'sim-overage': asShipped })

describe('a rule whose stage is raised', () => {
  test('tells and asks from enforce on what fired in shadow', async () => {
    const world = await aWorld({ rules: only({ 'sim-overage': inStage('shadow') }) })
    await world.use(world.sim, 101)
    const before = [await world.logged(), await world.mailed(), await world.signals()]

    await world.put(OVERAGE)
    await world.evaluate()
    await world.evaluate()

    expect(before).toEqual([[], [], []])
    expect(await world.logged()).toEqual(['sim-overage/sim/2026-11/fired'])
    expect(await world.mailed()).toEqual(['sim-overage/sim/2026-11/fired'])
    expect(await world.signals()).toEqual(['overLimit'])
  })

  test('mails from notify on what was only logged', async () => {
    const world = await aWorld({ rules: only({ 'sim-overage': inStage('log') }) })
    await world.use(world.sim, 101)
    const before = await world.mailed()

    await world.put(only({ 'sim-overage': inStage('notify') }))
    await world.evaluate()
    await world.put(OVERAGE)
    await world.evaluate()

    expect(before).toEqual([])
    expect(await world.mailed()).toEqual(['sim-overage/sim/2026-11/fired'])
    expect((await world.logged()).filter((key) => key.endsWith('fired'))).toHaveLength(1)
  })
})

describe('an alert', () => {
  test('is one row and one mail though its rule gets another scope', async () => {
    const world = await aWorld({ rules: only({ 'sim-silent': asShipped }) })
    const once = (value: string) =>
      only({
        'sim-overage': (rule) => {
          // A fact of no cycle beside the overage: `once` alone then says whether the cycle is in the key.
          rule.conditions = { all: [{ fact: 'hoursSinceLastSeen', operator: 'lessThan', value: 100_000 }] }
          rule.examples = [
            { fires: true, facts: { hoursSinceLastSeen: 1 } },
            { fires: false, facts: { hoursSinceLastSeen: null } },
          ]
          rule.event.params.once = value
        },
      })
    await world.put(once('cycle'))
    await world.use(world.sim, 1)
    const before = await world.alerts()

    await world.put(once('episode'))
    await world.evaluate()
    await world.put(once('cycle'))
    await world.evaluate()

    expect(before).toMatchObject([{ rule: 'sim-overage', scope: '2026-11', firing: true }])
    expect(await world.alerts()).toMatchObject([{ rule: 'sim-overage', scope: '2026-11', firing: true }])
    expect(await world.mailed()).toHaveLength(1)
    expect(await world.signals()).toEqual(['overLimit'])
  })

  test('is told again when its conditions come back in the same cycle', async () => {
    const world = await aWorld({ rules: OVERAGE })
    await world.use(world.sim, 101)
    await world.mailAll()
    await world.use(world.sim, -5)
    await world.use(world.sim, 6)

    expect(await world.logged()).toEqual([
      'sim-overage/sim/2026-11/fired',
      'sim-overage/sim/2026-11/resolved',
      'sim-overage/sim/2026-11/again-2/fired',
    ])
    expect(await world.mailed()).toEqual(['sim-overage/sim/2026-11/fired', 'sim-overage/sim/2026-11/again-2/fired'])
    expect((await world.notices()).map(({ times }) => times)).toEqual([undefined, 2])
    expect(await world.signals()).toEqual(['overLimit', 'cleared', 'overLimit'])
  })

  test('is told again when a higher threshold is passed too', async () => {
    const world = await aWorld({ rules: only({ 'sim-usage-warning': asShipped }) })
    const threshold = (warningThresholdPct: number) =>
      world.asTenant((tx) => setSimWatchdog(tx, { id: world.sim, warningThresholdPct }))
    await threshold(80)
    await world.use(world.sim, 85)
    await threshold(90)
    await world.use(world.sim, 1)
    await world.use(world.sim, 5)

    expect(await world.logged()).toEqual([
      'sim-usage-warning/sim/2026-11/fired',
      'sim-usage-warning/sim/2026-11/resolved',
      'sim-usage-warning/sim/2026-11/again-2/fired',
    ])
  })

  test('names under Why only the comparisons that held', async () => {
    const either = only({
      'sim-usage-warning': (rule) => {
        rule.conditions = {
          any: [
            { fact: 'usagePct', operator: 'greaterThanInclusive', value: 80 },
            { fact: 'smsCount', operator: 'greaterThan', value: 10 },
          ],
        }
        rule.examples = [
          { fires: true, facts: { usagePct: 80, smsCount: 0 } },
          { fires: false, facts: { usagePct: 79, smsCount: 0 } },
        ]
      },
    })
    const world = await aWorld({ rules: either })
    await world.use(world.sim, 85)

    expect((await world.notices()).map(({ why }) => why)).toEqual([
      [{ fact: 'usagePct', value: 85, operator: 'greaterThanInclusive', operand: 80, unit: '%' }],
    ])
  })

  test('is in no mail if it ends before its mail leaves', async () => {
    const resolved = only({
      'sim-usage-warning': (rule) => {
        rule.event.params.resolve = 'email'
      },
    })
    const world = await aWorld({ rules: resolved })
    await world.use(world.sim, 85)
    const waiting = await world.mailed()
    await world.use(world.sim, -10)
    const takenBack = await world.mailed()
    await world.use(world.sim, 10)
    await world.mailAll()
    await world.use(world.sim, -10)

    expect([waiting, takenBack]).toEqual([['sim-usage-warning/sim/2026-11/fired'], []])
    expect(await world.mailed()).toEqual([
      'sim-usage-warning/sim/2026-11/again-2/fired',
      'sim-usage-warning/sim/2026-11/again-2/resolved',
    ])
  })
})

describe('an alert that ends before its mail leaves', () => {
  const WARNING = only({ 'sim-usage-warning': asShipped })

  test('is in no mail, whatever its rule does at an end', async () => {
    const world = await aWorld({ rules: WARNING })
    await world.use(world.sim, 85)
    const waiting = await world.mailed()
    await world.use(world.sim, -10)

    expect([waiting, await world.mailed()]).toEqual([['sim-usage-warning/sim/2026-11/fired'], []])
    expect(await world.logged()).toEqual([
      'sim-usage-warning/sim/2026-11/fired',
      'sim-usage-warning/sim/2026-11/resolved',
    ])
  })

  test('is in no mail when it is withdrawn, and in one when it is back', async () => {
    const world = await aWorld({ rules: WARNING })
    const exempt = async (isWatchdogExempt: boolean) => {
      await world.asTenant((tx) => setSimWatchdog(tx, { id: world.sim, isWatchdogExempt }))
      world.store.now += 60_000
      await world.evaluate()
    }
    await world.use(world.sim, 85)
    await exempt(true)
    const withdrawn = await world.mailed()
    await exempt(false)

    expect(withdrawn).toEqual([])
    expect(await world.mailed()).toEqual(['sim-usage-warning/sim/2026-11/fired'])
  })

  test('has no end in a mail either, though its rule mails ends later', async () => {
    const world = await aWorld({ rules: WARNING })
    await world.use(world.sim, 85)
    await world.use(world.sim, -10)
    await world.put(
      only({
        'sim-usage-warning': (rule) => {
          rule.event.params.resolve = 'email'
        },
      }),
    )
    await world.evaluate()

    expect(await world.mailed()).toEqual([])
  })
})

describe('an alert whose rule no longer covers its subject', () => {
  const ways: readonly [string, string, (world: Awaited<ReturnType<typeof aWorld>>) => Promise<unknown>][] = [
    ['the rule was removed', 'its rule is removed', (world) => world.put(only({ 'sim-silent': asShipped }))],
    [
      'the rule was switched off',
      'its rule is switched off',
      (world) => world.put(only({ 'sim-overage': inStage('off') })),
    ],
    [
      'the rule no longer covers the SIM',
      'its rule is for other SIMs',
      (world) =>
        world.put(
          only({
            'sim-overage': (rule) => {
              rule.match = { tag: 'spare*' }
            },
          }),
        ),
    ],
    [
      'the SIM is exempt from the watchdog',
      'the SIM is exempted',
      (world) => world.asTenant((tx) => setSimWatchdog(tx, { id: world.sim, isWatchdogExempt: true })),
    ],
    [
      'the watchdog is disabled for the SIM',
      'the watchdog is disabled for the pool',
      (world) =>
        world.asTenant((tx) =>
          updatePool(tx, {
            id: world.poolId,
            name: 'meters',
            watchdogMode: WatchdogMode.Disabled,
            warningThresholdPct: 80,
          }),
        ),
    ],
    [
      'the SIM is no longer provisioned',
      'the SIM is unassigned',
      (world) => world.complete({ simId: world.sim, type: TicketType.Provision, unassign: true }),
    ],
  ]

  test.each(ways)('is withdrawn: %s, as %s', async (why, _what, happens) => {
    const world = await aWorld({ rules: OVERAGE })
    await world.use(world.sim, 101)
    await happens(world)
    world.store.now += 60_000
    await world.evaluate()

    expect(await world.alerts()).toMatchObject([{ firing: false, state: { phase: 'resolved' } }])
    expect((await world.log()).at(-1)).toMatchObject({ level: 0, message: expect.stringContaining(`: ${why}.`) })
    expect(await world.logged()).toContain('sim-overage/sim/2026-11/withdrawn')
    expect((await world.signals()).filter((signal) => signal !== 'personActed')).toEqual(['overLimit', 'standDown'])
  })

  test('goes on untold when the rule covers it again', async () => {
    const world = await aWorld({ rules: OVERAGE })
    const exempt = (isWatchdogExempt: boolean) =>
      world.asTenant((tx) => setSimWatchdog(tx, { id: world.sim, isWatchdogExempt }))
    await world.use(world.sim, 101)
    await exempt(true)
    await world.evaluate()
    await exempt(false)
    world.store.now += 60_000
    await world.evaluate()

    expect(await world.alerts()).toMatchObject([{ firing: true }])
    expect(await world.logged()).toEqual(['sim-overage/sim/2026-11/fired', 'sim-overage/sim/2026-11/withdrawn'])
    expect(await world.mailed()).toHaveLength(1)
    expect(await world.signals()).toEqual(['overLimit', 'standDown', 'overLimit'])
  })

  test('is withdrawn with a pool that is deleted', async () => {
    const world = await aWorld({
      rules: only({ 'pool-usage-warning': asShipped }),
      tariff: TariffType['Dynamic Pool'],
    })
    await world.use(world.sim, 85)
    await world.complete({ simId: world.sim, type: TicketType.Provision, unassign: true })
    await world.asTenant((tx) => deletePool(tx, world.poolId))
    world.store.now += 60_000
    await world.evaluate()

    expect(await world.alerts()).toMatchObject([{ firing: false, state: { phase: 'resolved' } }])
  })
})

describe('a `for` that runs', () => {
  const lasting = (edit: Edit = asShipped) =>
    only({
      'sim-usage-warning': (rule) => {
        rule.event.params.for = 'PT2H'
        edit(rule)
      },
    })

  test('begins anew at the first evaluation under its edited rule', async () => {
    const world = await aWorld({ rules: lasting() })
    await world.use(world.sim, 85)
    world.store.now += HOUR
    await world.put(
      lasting((rule) => {
        rule.conditions = { all: [{ fact: 'usagePct', operator: 'greaterThanInclusive', value: 82 }] }
        rule.examples = [
          { fires: true, facts: { usagePct: 82 } },
          { fires: false, facts: { usagePct: 81 } },
        ]
      }),
    )
    await world.evaluate()
    const edited = world.store.now
    world.store.now += 1.5 * HOUR
    await world.evaluate()
    const waiting = await world.logged()
    world.store.now += 0.5 * HOUR
    await world.evaluate()

    expect(waiting).toEqual([])
    expect(await world.logged()).toEqual(['sim-usage-warning/sim/2026-11/fired'])
    expect(await world.alerts()).toMatchObject([{ state: { phase: 'firing', began: edited } }])
  })

  test('runs on when a text of its rule is edited, or another rule', async () => {
    const world = await aWorld({ rules: lasting() })
    await world.use(world.sim, 85)
    world.store.now += HOUR
    await world.put([
      ...lasting((rule) => {
        rule.description = 'Another text.'
      }),
      ...OVERAGE,
    ])
    await world.evaluate()
    world.store.now += HOUR
    await world.evaluate()

    expect(await world.logged()).toEqual(['sim-usage-warning/sim/2026-11/fired'])
  })
})

test('an alert of a cycle ends silently when the cycle is closed', async () => {
  const world = await aWorld({ rules: OVERAGE })
  await world.use(world.sim, 101)
  const logged = await world.logged()
  world.store.now = Date.UTC(2026, 11, 1, 7)
  await world.evaluate()
  const before = await world.alerts()
  await world.asTenant((tx) => closeCycle(tx, '2026-11'))

  expect(before).toMatchObject([{ scope: '2026-11', firing: true }])
  expect(await world.alerts()).toMatchObject([{ scope: '2026-11', firing: false, state: { phase: 'resolved' } }])
  expect(await world.logged()).toEqual(logged)
})

describe('a silence', () => {
  const WARNING = only({ 'sim-usage-warning': asShipped })
  const silence = (world: Awaited<ReturnType<typeof aWorld>>, lasts = 'P2D') =>
    world.asTenant((tx) => addSilence(tx, { rule: 'sim-*', simId: world.sim, lasts, reason: 'The meter is replaced' }))

  test('holds back the notice, not the entry; at its end the alert that still fires is mailed once', async () => {
    const world = await aWorld({ rules: WARNING })
    await silence(world)
    const began = world.store.now
    await world.use(world.sim, 85)
    const during = [await world.logged(), await world.mailed()]
    world.store.now += 2 * DAY
    await world.evaluate()
    await world.evaluate()

    expect(during).toEqual([['sim-usage-warning/sim/2026-11/fired'], []])
    expect(await world.mailed()).toEqual(['sim-usage-warning/sim/2026-11/fired'])
    expect(await world.notices()).toMatchObject([{ since: new Date(began + 60_000).toISOString() }])
  })

  test('that a person ends has what still fires mailed', async () => {
    const world = await aWorld({ rules: WARNING })
    const { id } = await silence(world)
    await world.use(world.sim, 85)
    await world.asTenant((tx) => endSilence(tx, id))
    await world.evaluate()

    expect(await world.mailed()).toEqual(['sim-usage-warning/sim/2026-11/fired'])
  })

  test('mails nothing of what ended meanwhile', async () => {
    const world = await aWorld({ rules: WARNING })
    await silence(world)
    await world.use(world.sim, 85)
    await world.use(world.sim, -10)
    world.store.now += 2 * DAY
    await world.evaluate()

    expect(await world.logged()).toEqual([
      'sim-usage-warning/sim/2026-11/fired',
      'sim-usage-warning/sim/2026-11/resolved',
    ])
    expect(await world.mailed()).toEqual([])
  })

  test.each([
    ['by its time', (_: unknown) => Promise.resolve()],
    ['by a person', (end: () => Promise<unknown>) => end()],
  ])('keeps a notice that waits to be mailed until it ends %s', async (_how, ends) => {
    const world = await aWorld({ rules: WARNING })
    await world.use(world.sim, 85)
    const { id } = await silence(world, 'PT6H')
    const sent: unknown[] = []
    const mailer = {
      render: () => ({ subject: '', text: '', html: '', headers: {} }),
      send: (mail: unknown) => {
        sent.push(mail)
        return accepting.send()
      },
    }
    const send = () => sendMails(world.store, mailer, { retryMaxMs: 1000, giveUpAfterMs: 1000 }, world.tenantId)
    const isWork = async () => (await inPlatform(world.store, (tx) => tenantsWithMail(tx, 10))).length > 0
    world.store.now += 2 * HOUR
    await send()
    const during = [sent.length, await isWork()]
    await ends(() => world.asTenant((tx) => endSilence(tx, id)))
    world.store.now += ends.length === 0 ? 0 : 5 * HOUR
    const due = await isWork()
    await send()

    expect([during, due, sent.length]).toEqual([[0, false], true, 1])
  })

  test('does not hold back suspensions', async () => {
    const world = await aWorld({ rules: OVERAGE })
    await silence(world)
    await world.use(world.sim, 101)

    expect(await world.mailed()).toEqual([])
    expect(await world.signals()).toEqual(['overLimit'])
  })
})

test('a rule that cannot be decided leaves suspended SIMs as they are', async () => {
  const world = await aWorld({ rules: OVERAGE })
  await world.use(world.sim, 101)
  const rules = world.options.rules
  Object.assign(world.options, {
    rules: async (tx: Parameters<typeof rules>[0]) => missingFact(await rules(tx), new Set(['sim-overage'])),
  })
  await world.use(world.sim, 1)

  expect(await world.alerts()).toMatchObject([{ firing: true, state: { phase: 'firing', error: expect.any(String) } }])
  expect(await world.signals()).toEqual(['overLimit'])
})
