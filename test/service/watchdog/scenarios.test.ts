/** What becomes of alerts when rules, subjects and figures change. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { endSilence } from '../../../service/alerts/silence-alerts.ts'
import { tenantsWithMail } from '../../../service/channels/rows/mails.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { deletePool } from '../../../service/pools/delete-pool.ts'
import { updatePool } from '../../../service/pools/update-pool.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { accepting } from '../../setup/accepting.ts'
import { askedPermits } from '../harness.ts'
import {
  asShipped,
  aWorld,
  firesOn,
  inStage,
  OVER,
  OVERAGE,
  only,
  WARNED,
  WARNING,
  type World,
  withParams,
} from './alert-world.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
const ENDS_MAILED = only({ 'sim-usage-warning': withParams({ resolve: 'email' }) })
const { 'Dynamic Pool': Dynamic } = TariffType

describe('an alert', () => {
  test('of a pool is told once, at its threshold', async () => {
    const world = await aWorld({ rules: only({ 'pool-usage-warning': asShipped }), tariff: Dynamic, sims: 2 })
    await world.use(world.sim, 159)
    const below = await world.logged()
    await world.use(world.sim, 1)
    await world.use(world.sim, 1)

    expect(below).toEqual([])
    expect(await world.log()).toMatchObject([{ level: 1, message: expect.stringContaining('80 %') }])
    expect(await world.notices()).toMatchObject([
      { kind: 'fired', subject: { kind: 'pool', label: 'meters' }, facts: { usageMB: 160, limitMB: 200 } },
    ])
  })

  test('is one row and one mail though its rule gets another scope', async () => {
    const world = await aWorld({ rules: only({ 'sim-silent': asShipped }) })
    // A fact of no cycle beside the overage: `once` alone then says whether the cycle is in the key.
    const leaf = { fact: 'hoursSinceLastSeen', operator: 'lessThan', value: 100_000 }
    const once = (value: string) => only({ 'sim-overage': firesOn(leaf, [1, null], { once: value }) })
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

    const again = 'sim-overage/sim/2026-11/again-2/fired'
    expect(await world.logged()).toEqual([OVER, 'sim-overage/sim/2026-11/resolved', again])
    expect(await world.mailed()).toEqual([OVER, again])
    expect((await world.notices()).map(({ times }) => times)).toEqual([undefined, 2])
    expect(await world.signals()).toEqual(['overLimit', 'cleared', 'overLimit'])
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
      [
        {
          fact: 'usagePct',
          label: 'share of the limit used',
          value: 85,
          operator: 'greaterThanInclusive',
          operand: 80,
          unit: '%',
        },
      ],
    ])
  })

  test('of a cycle ends silently when the cycle is closed', async () => {
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
})

describe('an alert that ends before its mail leaves', () => {
  test.each(['log', 'email'])('is in no mail, nor is its end, if its rule resolves by %s', async (resolve) => {
    const world = await aWorld({ rules: only({ 'sim-usage-warning': withParams({ resolve }) }) })
    await world.use(world.sim, 85)
    const waiting = await world.mailed()
    await world.use(world.sim, -10)
    await world.put(ENDS_MAILED)
    await world.evaluate()
    const ended = [await world.logged(), await world.mailed()]
    await world.use(world.sim, 10)
    await world.mailAll()
    await world.use(world.sim, -10)

    expect([waiting, ...ended]).toEqual([[WARNED], [WARNED, 'sim-usage-warning/sim/2026-11/resolved'], []])
    expect(await world.mailed()).toEqual([
      'sim-usage-warning/sim/2026-11/again-2/fired',
      'sim-usage-warning/sim/2026-11/again-2/resolved',
    ])
  })

  test('is in no mail when it is withdrawn, and in one when it is back', async () => {
    const world = await aWorld({ rules: WARNING })
    await world.use(world.sim, 85)
    await world.set({ isWatchdogExempt: true })
    await world.wait(MINUTE)
    const withdrawn = await world.mailed()
    await world.set({ isWatchdogExempt: false })
    await world.wait(MINUTE)

    expect([withdrawn, await world.mailed()]).toEqual([[], [WARNED]])
  })
})

describe('an alert whose rule no longer covers its subject', () => {
  const forSpares = only({
    'sim-overage': (rule) => {
      rule.match = { tag: 'spare*' }
    },
  })
  const disabled = { name: 'meters', watchdogMode: WatchdogMode.Disabled, warningThresholdPct: 80 }

  test.each<[string, string, (world: World) => Promise<unknown>]>([
    ['the rule was removed', 'its rule is removed', ({ put }) => put(only({ 'sim-silent': asShipped }))],
    ['the rule was switched off', 'it is switched off', ({ put }) => put(only({ 'sim-overage': inStage('off') }))],
    ['the rule no longer covers the SIM', 'its rule is for other SIMs', ({ put }) => put(forSpares)],
    ['the SIM is exempt from the watchdog', 'it is exempted', ({ set }) => set({ isWatchdogExempt: true })],
    [
      'the watchdog is disabled for the SIM',
      'it is disabled for the pool',
      ({ asTenant, poolId }) => asTenant((tx) => updatePool(tx, { id: poolId, ...disabled })),
    ],
    [
      'the SIM is no longer provisioned',
      'the SIM is unassigned',
      ({ complete, sim }) => complete({ simId: sim, type: TicketType.Provision, unassign: true }),
    ],
  ])('is withdrawn once: %s, as %s', async (why, _what, happens) => {
    const world = await aWorld({ rules: OVERAGE })
    await world.use(world.sim, 101)
    await happens(world)
    await world.wait(MINUTE)
    await world.evaluate()

    expect(await world.alerts()).toMatchObject([{ firing: false, state: { phase: 'resolved' } }])
    expect((await world.log()).at(-1)).toMatchObject({ level: 0, message: expect.stringContaining(`: ${why}.`) })
    expect(await world.logged()).toEqual([OVER, 'sim-overage/sim/2026-11/withdrawn'])
    expect((await world.signals()).filter((signal) => signal !== 'personActed')).toEqual(['overLimit', 'standDown'])
  })

  test('goes on untold when the rule covers it again', async () => {
    const world = await aWorld({ rules: OVERAGE })
    await world.use(world.sim, 101)
    await world.set({ isWatchdogExempt: true })
    await world.evaluate()
    await world.set({ isWatchdogExempt: false })
    await world.wait(MINUTE)

    expect(await world.alerts()).toMatchObject([{ firing: true }])
    expect(await world.logged()).toEqual([OVER, 'sim-overage/sim/2026-11/withdrawn'])
    expect(await world.mailed()).toHaveLength(1)
    expect(await world.signals()).toEqual(['overLimit', 'standDown', 'overLimit'])
  })

  test('is withdrawn with a pool that is deleted', async () => {
    const world = await aWorld({ rules: only({ 'pool-usage-warning': asShipped }), tariff: Dynamic })
    await world.use(world.sim, 85)
    await world.complete({ simId: world.sim, type: TicketType.Provision, unassign: true })
    await world.asTenant((tx) => deletePool(tx, world.poolId))
    await world.wait(MINUTE)

    expect(await world.alerts()).toMatchObject([{ firing: false, state: { phase: 'resolved' } }])
  })
})

describe('a rule that suspends', () => {
  const requests = async (world: World) =>
    (
      await world.rows(sql<{ id: string; how: string }>`
        select workflow_id as id, (request ->> 'do') || ' ' || (request ->> 'signal') as how
          from workflow_outbox order by id`)
    ).map(({ id, how }) => `${id} ${how}`)

  test('ends permits in Monitor mode when its alert clears', async () => {
    const world = await aWorld({ rules: OVERAGE })
    const ask = { rule: 'sim-overage', cycle: '2026-11', simIds: [world.sim], workflowId: 'w' }
    const permits = () => world.asTenant((tx) => askedPermits(tx, ask))
    const useIn = async (mode: WatchdogMode, megabytes: number) => {
      await world.rows(sql`update pools set watchdog_mode = ${mode} where id = ${world.poolId}`)
      await world.use(world.sim, megabytes)
    }
    await world.asTenant((tx) => changeEnforcement(tx, { guardLeast: 1, guardPct: 0 }))
    await useIn(WatchdogMode.Enforce, 120)
    const first = await permits()
    await useIn(WatchdogMode.Monitor, 1)
    await useIn(WatchdogMode.Monitor, 1)
    const asked = await world.rows(sql`select asked from alerts`)
    const whileItFires = await permits()
    await useIn(WatchdogMode.Monitor, -50)
    await useIn(WatchdogMode.Enforce, 50)

    expect(asked).toEqual([{ asked: 'would' }])
    expect([first, whileItFires]).toMatchObject([{ granted: [world.sim] }, { granted: [world.sim] }])
    expect(await permits()).toMatchObject({ granted: [], held: [world.sim] })
  })

  test('signals the run of each cycle once', async () => {
    const lost = firesOn({ fact: 'tag', operator: 'equal', value: 'lost' }, ['lost', ''], { once: 'episode' })
    const world = await aWorld({ rules: only({ 'sim-overage': lost }) })
    await world.rows(sql`update sims set tag = 'lost' where id = ${world.sim}`)
    await world.use(world.sim, 1)
    world.store.now = Date.UTC(2026, 11, 1)
    for (let n = 0; n < 2; n += 1) await world.use(world.sim, 1)

    const runs = ['2026-11', '2026-12'].map((cycle) => suspendOnOverageId(world.tenantId, world.sim, cycle))
    expect(await requests(world)).toEqual(runs.map((run) => `${run} signalWithStart overLimit`))
  })

  test('signals again when a suspended SIM comes back', async () => {
    const world = await aWorld({ rules: OVERAGE })
    const monthEnd = { simId: world.sim, cause: { by: 'month-end', cycle: '2026-10' } } as const
    const hows = async () => (await requests(world)).map((one) => one.replace(/^\S+ /, ''))
    await world.complete({ ...monthEnd, type: TicketType.Suspend })
    await world.use(world.sim, 120)
    await world.use(world.sim, 120)
    const stopped = await hows()
    await world.complete({ ...monthEnd, type: TicketType.Activate })
    await world.use(world.sim, 120)
    await world.use(world.sim, 120)
    const back = await hows()
    await world.use(world.sim, -400)

    expect(stopped).toEqual(['signalWithStart overLimit'])
    expect(back).toEqual(['signalWithStart overLimit', 'signal overLimit'])
    expect(await hows()).toEqual([...back, 'signal cleared'])
  })
})

describe('a silence', () => {
  test('holds back the notice, not the entry nor the suspension; what fires at its end is mailed once', async () => {
    const world = await aWorld({ rules: OVERAGE })
    await world.silence({ rule: 'sim-*', simId: world.sim })
    const began = world.store.now
    await world.use(world.sim, 101)
    const during = [await world.logged(), await world.mailed(), await world.signals()]
    await world.wait(2 * DAY)
    await world.evaluate()

    expect(during).toEqual([[OVER], [], ['overLimit']])
    expect(await world.mailed()).toEqual([OVER])
    expect(await world.notices()).toMatchObject([{ since: new Date(began + MINUTE).toISOString() }])
  })

  test('that a person ends has what still fires mailed', async () => {
    const world = await aWorld({ rules: WARNING })
    const { id } = await world.silence({ simId: world.sim })
    await world.use(world.sim, 85)
    await world.asTenant((tx) => endSilence(tx, id))
    await world.evaluate()

    expect(await world.mailed()).toEqual([WARNED])
  })

  describe('at times of the week', () => {
    /** It holds from the next hour on, for two hours each day. */
    const aNight = async () => {
      const world = await aWorld({ rules: WARNING })
      const clock = (ms: number) => new Date(world.store.now + ms).toISOString().slice(11, 16)
      const { id } = await world.silence({ rule: 'sim-*', times: [{ from: clock(HOUR), to: clock(3 * HOUR) }] }, null)
      return { world, id }
    }

    test('holds back notices then, and mails what still fires at their end', async () => {
      const { world } = await aNight()
      await world.wait(HOUR + MINUTE)
      await world.use(world.sim, 85)
      const during = await world.mailed()
      await world.wait(2 * HOUR)
      await world.evaluate()

      expect([during, await world.mailed()]).toEqual([[], [WARNED]])
    })

    test('holds back nothing at other times', async () => {
      const { world } = await aNight()
      await world.use(world.sim, 85)

      expect(await world.mailed()).toEqual([WARNED])
    })

    test('has what still fires mailed when a person ends it', async () => {
      const { world, id } = await aNight()
      await world.wait(HOUR + MINUTE)
      await world.use(world.sim, 85)
      await world.asTenant((tx) => endSilence(tx, id))
      await world.evaluate()

      expect(await world.mailed()).toEqual([WARNED])
    })
  })

  test('mails nothing of what ended meanwhile', async () => {
    const world = await aWorld({ rules: WARNING })
    await world.silence({ simId: world.sim })
    await world.use(world.sim, 85)
    await world.use(world.sim, -10)
    await world.wait(2 * DAY)

    expect(await world.logged()).toEqual([WARNED, 'sim-usage-warning/sim/2026-11/resolved'])
    expect(await world.mailed()).toEqual([])
  })

  test.each(['by its time', 'by a person', 'by its time of the day'])(
    'keeps a notice that waits until it ends %s',
    async (how) => {
      const world = await aWorld({ rules: WARNING })
      await world.use(world.sim, 85)
      const from = new Date(world.store.now).toISOString().slice(11, 16)
      const to = new Date(world.store.now + 6 * HOUR).toISOString().slice(11, 16)
      const daily = how === 'by its time of the day' ? { times: [{ from, to }] } : {}
      const { id } = await world.silence(
        { simId: world.sim, ...daily },
        how === 'by its time of the day' ? null : 'PT6H',
      )
      let sent = 0
      const mailer = {
        render: () => ({ subject: '', text: '', html: '', headers: {} }),
        send: () => {
          sent += 1
          return accepting.send()
        },
      }
      const send = () => sendMails(world.store, mailer, { retryMaxMs: 1000, giveUpAfterMs: 1000 }, world.tenantId)
      const isWork = async () => (await inPlatform(world.store, (tx) => tenantsWithMail(tx, 10))).length > 0
      world.store.now += 2 * HOUR
      await send()
      const during = [sent, await isWork()]
      if (how === 'by a person') await world.asTenant((tx) => endSilence(tx, id))
      else world.store.now += 5 * HOUR
      const due = await isWork()
      await send()

      expect([during, due, sent]).toEqual([[0, false], true, 1])
    },
  )
})
