/** Usage around the end of a billing cycle: what comes late, and what comes early. */

import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { closeCycle, prepareClose } from '../../../service/month-end/close-cycle.ts'
import { tenantsChanged } from '../../../store/changed.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { accepting } from '../../setup/accepting.ts'
import { heldOpen } from '../../setup/lock-waits.ts'
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
  type WorldOptions,
  withParams,
} from './alert-world.ts'

const MINUTE = 60_000
const BOUNDARY = Date.UTC(2026, 11, 1)
const BEFORE_END = '2026-11-30T23:58:00Z'
/** As the month end changes a SIM. */
const AT_BOUNDARY = {
  type: TicketType.Provision,
  cause: { by: 'month-end', cycle: '2026-11' },
  effectiveAt: new Date(BOUNDARY),
} as const

/** A world whose November has ended three minutes ago. */
async function aWorldAfterItsCycle(options: WorldOptions) {
  const world = await aWorld(options)
  world.store.now = BOUNDARY + 3 * MINUTE
  await world.evaluate()
  const came = async (simId: number, megabytes: number, at = BEFORE_END) => {
    const bytes = { bytesDown: megabytes * MB, ...(megabytes < 0 ? { correction: true } : {}) }
    const { accepted } = await world.record([world.usage(simId, { ...bytes, at })])
    if (accepted !== 1) throw new Error('the record was not accepted')
    await world.evaluate()
  }
  return {
    ...world,
    /** Usage of November that is received now. */
    came,
    due: () =>
      world.rows(sql<{ key: string; dueAt: Date }>`
        select dedupe_key as key, due_at as "dueAt" from notifications order by id`),
  }
}

async function changeDevice(world: World, simId: number): Promise<void> {
  const seen = (imei: string, at: string) => world.record([world.usage(simId, { bytesDown: 1, imei, at })])
  await seen('490154203237518', '2026-11-30T23:57:00Z')
  await seen('356938035643809', BEFORE_END)
}

describe('a record of the last minutes that is received after the boundary', () => {
  test('is told for the ended cycle, in a grouped mail, and suspends nobody', async () => {
    const world = await aWorldAfterItsCycle({ rules: OVERAGE })
    await world.came(world.sim, 101)

    expect(await world.logged()).toEqual([OVER])
    expect((await world.log()).map(({ cycle, message }) => [cycle, message])).toEqual([
      ['2026-11', expect.stringMatching(/^For November 2026, which has ended: SIM \d+ is 1 MB over its limit/)],
    ])
    expect(await world.notices()).toMatchObject([
      {
        level: 2,
        message: expect.stringMatching(/^For November 2026, which has ended: /),
        facts: { usageMB: 101, limitMB: 100, overageMB: 1 },
        pace: null,
        whatNext: 'Nothing is suspended: the billing cycle has ended.',
      },
    ])
    expect((await world.due())[0]?.dueAt.getTime()).toBe(world.store.now + world.options.groupFirstMs)
    expect(await world.signals()).toEqual([])
    expect(await world.alerts()).toMatchObject([{ scope: '2026-11', firing: true }])
  })

  test('tells of a pool, and logs nobody who would have been suspended', async () => {
    const world = await aWorldAfterItsCycle({
      rules: only({ 'pool-overage': asShipped }),
      tariff: TariffType['Dynamic Pool'],
      mode: WatchdogMode.Monitor,
    })
    await world.came(world.sim, 101)

    expect(await world.logged()).toEqual(['pool-overage/pool/2026-11/fired'])
    expect(await world.signals()).toEqual([])
  })

  test('that a worker finds only after the boundary counts too', async () => {
    const world = await aWorld({ rules: OVERAGE })
    world.store.now = BOUNDARY - MINUTE
    await world.evaluate()
    await world.record([world.usage(world.sim, { bytesDown: 101 * MB })])
    world.store.now = BOUNDARY + 1000
    await world.evaluate()

    expect(await world.logged()).toEqual([OVER])
    expect(await world.signals()).toEqual([])
  })

  test('in the middle of an evaluation that began before the boundary counts too', async () => {
    const world = await aWorld({ rules: OVERAGE })
    world.store.now = BOUNDARY - MINUTE
    await world.evaluate()
    await world.record([world.usage(world.sim, { bytesDown: 101 * MB })])
    const rules = world.options.rules
    // The claim and the look are made in November, and the evaluation in December.
    Object.assign(world.options, {
      rules: async (tx: Parameters<typeof rules>[0]) => {
        const { rows } = await sql`select from changed_subjects where claimed_until > ${tx.now}`.execute(tx.q)
        if (rows.length > 0) world.store.now = BOUNDARY + 1000
        return rules(tx)
      },
    })
    await world.evaluate()
    await world.evaluate()

    expect(await world.logged()).toEqual([OVER])
  })

  test('leaves the alerts of the new cycle as they are', async () => {
    const world = await aWorldAfterItsCycle({ rules: OVERAGE })
    await world.came(world.sim, 101)
    await world.use(world.sim, 101)
    await world.came(world.sim, -5)

    expect(await world.logged()).toEqual([OVER, 'sim-overage/sim/2026-12/fired', 'sim-overage/sim/2026-11/resolved'])
    expect((await world.log()).at(-1)?.message).toMatch(
      /^For November 2026, which has ended: SIM \d+ is within its limit again/,
    )
    expect(await world.alerts()).toMatchObject([
      { scope: '2026-11', firing: false },
      { scope: '2026-12', firing: true },
    ])
    expect(await world.signals()).toEqual(['overLimit'])
  })

  test('leaves what was asked for in the ended cycle as it was', async () => {
    const world = await aWorld({ rules: OVERAGE })
    await world.use(world.sim, 101)
    world.store.now = BOUNDARY + MINUTE
    await world.evaluate()
    await world.record([world.usage(world.sim, { bytesDown: -5 * MB, correction: true, at: BEFORE_END })])
    await world.evaluate()

    expect(await world.logged()).toEqual([OVER, 'sim-overage/sim/2026-11/resolved'])
    expect(await world.signals()).toEqual(['overLimit'])
  })

  test('has rules that no cycle binds decided for the present alone', async () => {
    const world = await aWorldAfterItsCycle({ rules: only({ 'sim-imei-change': asShipped, 'sim-overage': asShipped }) })
    await changeDevice(world, world.sim)
    await world.evaluate()

    expect(await world.logged()).toEqual(['sim-imei-change/sim/1/fired'])
    expect((await world.log())[0]?.message).toMatch(/^SIM /)
  })

  test('is told once its rule’s `for` is over', async () => {
    const patient = only({ 'sim-overage': withParams({ for: 'PT30M' }) })
    const world = await aWorldAfterItsCycle({ rules: patient })
    await world.came(world.sim, 101)
    const before = [await world.logged(), (await inPlatform(world.store, tenantsChanged)).length]
    world.store.now += 30 * MINUTE
    const isDue = (await inPlatform(world.store, tenantsChanged)).includes(world.tenantId)
    await world.evaluate()

    expect([before, isDue]).toEqual([[[], 0], true])
    expect(await world.logged()).toEqual([OVER])
    expect(await world.rows(sql`select from changed_subjects`)).toEqual([])
  })

  test('is mailed once a silence ends', async () => {
    const world = await aWorldAfterItsCycle({ rules: WARNING })
    await world.silence({ simId: world.sim }, 'PT1H')
    await world.came(world.sim, 85)
    const during = await world.mailed()
    await world.wait(60 * MINUTE)

    expect(during).toEqual([])
    expect(await world.mailed()).toEqual([WARNED])
  })

  test('is told of as many subjects as it is true of, and asks nobody for a decision', async () => {
    const world = await aWorldAfterItsCycle({ rules: OVERAGE, sims: 3 })
    await world.asTenant((tx) => changeEnforcement(tx, { alertGuardLeast: 1, alertGuardPct: 0 }))
    await world.record(world.sims.map((simId) => world.usage(simId, { bytesDown: 101 * MB, at: BEFORE_END })))
    await world.evaluate()

    expect((await world.mailed()).toSorted()).toEqual(world.sims.map(() => OVER))
    expect(await world.rows(sql`select from guard_holds`)).toEqual([])
  })

  test('is not escalated', async () => {
    const world = await aWorldAfterItsCycle({ rules: OVERAGE })
    await world.rows(sql`update tenants set escalate_after = 'PT10M' where id = ${world.tenantId} returning 1`)
    await world.came(world.sim, 101)
    await world.wait(20 * MINUTE)
    await world.came(world.sim, 1)

    expect(await world.mailed()).toEqual([OVER])
  })

  test('is told of a SIM as it was in the pool of that cycle', async () => {
    const world = await aWorldAfterItsCycle({ rules: WARNING })
    const spare = await world.poolOf('spare', TariffType.Standard, WatchdogMode.Monitor)
    await world.complete({ simId: world.sim, ...AT_BOUNDARY, poolId: spare })
    await world.came(world.sim, 85)

    expect((await world.log()).map(({ key, poolId }) => [key, poolId])).toEqual([
      [`sim-usage-warning/sim/${world.sim}/2026-11/fired`, world.poolId],
    ])
  })

  test('is told of a SIM that was unassigned at the boundary', async () => {
    const world = await aWorldAfterItsCycle({ rules: OVERAGE })
    await world.complete({ simId: world.sim, ...AT_BOUNDARY, unassign: true })
    await world.came(world.sim, 101)

    expect(await world.logged()).toEqual([OVER])
  })

  test('has rates of the end of the cycle, without what was used since', async () => {
    const leaf = { fact: 'usage24hMB', operator: 'greaterThanInclusive', value: 60 }
    const burning = only({ 'sim-overage': firesOn(leaf, [60, 59]) })
    const world = await aWorldAfterItsCycle({ rules: burning })
    await world.use(world.sim, 30)
    await world.came(world.sim, 50)
    const before = await world.logged()
    await world.came(world.sim, 10)

    expect(before).toEqual(['sim-overage/sim/2026-12/fired'])
    expect(await world.logged()).toEqual(['sim-overage/sim/2026-12/fired', OVER])
  })

  test('changes nothing where the SIM is exempt, or its rule is in shadow', async () => {
    const exempt = await aWorldAfterItsCycle({ rules: OVERAGE })
    await exempt.set({ isWatchdogExempt: true })
    await exempt.came(exempt.sim, 101)
    const shadow = await aWorldAfterItsCycle({ rules: only({ 'sim-overage': inStage('shadow') }) })
    await shadow.came(shadow.sim, 101)

    expect([await exempt.logged(), await exempt.alerts(), await shadow.logged()]).toEqual([[], [], []])
  })

  test('is not evaluated once its cycle is closed', async () => {
    const world = await aWorldAfterItsCycle({ rules: OVERAGE })
    world.store.now = BOUNDARY + 6 * 60 * MINUTE
    await world.asTenant((tx) => closeCycle(tx, '2026-11'))
    await world.came(world.sim, 101)

    expect((await world.logged()).map((key) => key.split('/')[0])).toEqual(['late-usage'])
    expect(await world.alerts()).toEqual([])
    expect(await world.rows(sql`select from changed_subjects`)).toEqual([])
  })

  test('is not evaluated once the lines of its statement are written', async () => {
    const world = await aWorldAfterItsCycle({ rules: OVERAGE })
    await world.came(world.sim, 101)
    world.store.now = BOUNDARY + 6 * 60 * MINUTE
    await prepareClose(world.store, world.tenantId, '2026-11')
    const ended = await world.alerts()
    await world.came(world.sim, 30)

    expect((await world.logged()).map((key) => key.split('/')[0])).toEqual(['sim-overage', 'late-usage'])
    expect(await world.alerts()).toEqual(ended)
    expect(await world.rows(sql`select from alerts where firing`)).toEqual([])
    expect(await world.rows(sql`select from cycles where closed_at is not null`)).toEqual([])
  })

  test('waits for no cycle that is being closed, and is not evaluated then', async () => {
    const world = await aWorldAfterItsCycle({ rules: OVERAGE })
    world.store.now = BOUNDARY + 6 * 60 * MINUTE
    await world.record([world.usage(world.sim, { bytesDown: 101 * MB, at: BEFORE_END })])
    const commit = await heldOpen(world.asTenant, (tx) => closeCycle(tx, '2026-11'))
    await world.evaluate()
    await commit()

    expect(await world.logged()).toEqual([])
    expect(await world.alerts()).toEqual([])
  })
})

describe('the mail about a cycle that has ended', () => {
  test('is one, whatever the levels in it', async () => {
    const rules = only({ 'sim-overage': asShipped, 'sim-imei-change': asShipped })
    const world = await aWorldAfterItsCycle({ rules, sims: 2 })
    const [first = 0, second = 0] = world.sims
    await changeDevice(world, first)
    await world.came(first, 101)
    await world.came(second, 101)
    const mails: string[] = []
    const mailer = {
      render: (told: readonly unknown[]) => ({ subject: String(told.length), text: '', html: '', headers: {} }),
      send: ({ subject }: { subject: string }) => {
        mails.push(subject)
        return accepting.send()
      },
    }
    const send = () => sendMails(world.store, mailer, { retryMaxMs: 1000, giveUpAfterMs: 1000 }, world.tenantId)
    await send()
    const before = [...mails]
    world.store.now += 2 * MINUTE
    await send()

    expect([before, mails]).toEqual([[], ['3']])
  })
})

describe('a record that is ahead of the clock', () => {
  /** Fires for every SIM in the first hours of a cycle. */
  const NEW_CYCLE = only({
    'sim-usage-warning': firesOn({ fact: 'elapsedPct', operator: 'lessThan', value: 1 }, [0, 1]),
    'sim-overage': asShipped,
  })

  test('opens the next cycle, whose subjects are all looked at as it begins', async () => {
    const world = await aWorld({ rules: NEW_CYCLE, sims: 3 })
    world.store.now = BOUNDARY - MINUTE
    await world.evaluate()
    await world.record([world.usage(world.sim, { bytesDown: 101 * MB, at: '2026-12-01T00:01:00Z' })])
    await world.evaluate()
    const before = [await world.logged(), await world.signals()]
    const planned = await world.rows(sql<{ at: Date }>`select next_at as at from watch_shards`)
    world.store.now = BOUNDARY
    await world.evaluate()

    expect(before).toEqual([[], []])
    expect(planned.filter(({ at }) => at.getTime() > BOUNDARY)).toEqual([])
    expect((await world.log()).map(({ key }) => key).toSorted()).toEqual(
      [
        `sim-overage/sim/${world.sim}/2026-12/fired`,
        ...world.sims.map((id) => `sim-usage-warning/sim/${id}/2026-12/fired`),
      ].toSorted(),
    )
    expect(await world.signals()).toEqual(['overLimit'])
  })
})
