import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType } from '../../../domain/codes.ts'
import type { MonthEndPlan } from '../../../domain/month-end/plan.ts'
import { MOST_NAMED } from '../../../domain/month-end/plan.ts'
import { decide } from '../../../domain/tickets/decisions.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { fromMoney } from '../../../domain/units.ts'
import { applyChanges } from '../../../service/month-end/open-changes.ts'
import { planMonthEnd } from '../../../service/month-end/plan-month-end.ts'
import { queueReprovision, queueUnprovision } from '../../../service/month-end/queue-change.ts'
import { suspensionsToRenew } from '../../../service/month-end/rows/changes.ts'
import { poolTotals } from '../../../service/month-end/rows/statements.ts'
import { renewCycle } from '../../../service/month-end/steps.ts'
import { queueChange } from '../../../service/sims/rows/sim-changes.ts'
import { lockSim } from '../../../service/sims/rows/sim-state.ts'
import { setTariffActive } from '../../../service/tariffs/set-tariff-active.ts'
import { applyTickets } from '../../../service/tickets/apply-tickets.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { writeTicketEnds } from '../../../service/tickets/rows/batches.ts'
import { findTicket } from '../../../service/tickets/rows/tickets.ts'
import { readPoolFigures } from '../../../service/usage/rows/figures.ts'
import { cases } from '../../setup/cases.ts'
import { aStore, aTariff } from '../../setup/estate.ts'
import { everythingIn } from '../everything.ts'
import { aHarness, type Harness } from '../harness.ts'
import { at, BOUNDARY, CLOSE, CYCLE, charge, close, inOctober, NEXT, statement, total } from './october.ts'

const store = await aStore(undefined, { counted: false })
const plan = (harness: Harness, key = CYCLE): Promise<MonthEndPlan> => harness.asTenant((tx) => planMonthEnd(tx, key))
const watchdog = (until: 'renewal' | 'manual' = 'renewal'): Cause => ({
  by: 'watchdog',
  rule: 'r',
  cycle: CYCLE,
  until,
  workflowId: 'w',
})

/** Deletes a pool behind the service's back, or brings it back. */
const setDeleted = (poolId: number, at: Date | null) =>
  sql`update pools set deleted_at = ${at} where id = ${poolId}`.execute(store.db)

describe('planMonthEnd', () => {
  test.each([
    ['the running cycle', CYCLE, at(20), 'open'],
    ['the running cycle, not yet opened', NEXT, at(40), 'open'],
    ['an ended cycle', CYCLE, CLOSE, 'open'],
    ['an ended cycle, the next not yet opened', CYCLE, BOUNDARY.getTime(), 'open'],
    ['a closed cycle', CYCLE, CLOSE, 'closed'],
    ['a future cycle', '2027-01', at(20), 'open'],
    ['a cycle before the tenant had any usage', '2026-03', at(20), 'open'],
  ])('changes nothing: %s', async (_, cycle, now, state) => {
    store.now = at(-20)
    const harness = await aHarness(store)
    const pools = [await harness.aPool(), await harness.aPool(TariffType['Dynamic Pool'])]
    const [simId = 0, other = 0] = await harness.activeSims(2, { poolId: pools[1] ?? 0 })
    await harness.record([harness.usage(simId, { bytesUp: 1500 })])
    store.now = at(3)
    await close(harness, '2026-09')
    // A late record for a closed cycle, and overage that has not been divided.
    await harness.record([harness.usage(simId, { bytesUp: 1500, at: new Date(at(-19)).toISOString() })])
    await harness.record([harness.usage(other, { bytesUp: 2500 })])
    await harness.asTenant((tx) => queueReprovision(tx, { id: simId, poolId: pools[0] ?? 0 }))
    await harness.asTenant((tx) => queueUnprovision(tx, other))
    store.now = now
    if (state === 'closed') await close(harness)
    store.jobs.length = 0
    const before = await everythingIn(store.databaseUrl)

    const made = await plan(harness, cycle)

    expect(await everythingIn(store.databaseUrl)).toEqual(before)
    expect(store.jobs).toEqual([])
    expect(made).toMatchObject({ cycle, statement: true, closedAt: state === 'closed' ? expect.any(String) : null })
  })

  test('lists charges, capacities, adjustments, changes and renewals', async () => {
    store.now = at(-20)
    const harness = await aHarness(store)
    const from = await harness.aPool(TariffType['Dynamic Pool'])
    const to = await harness.aPool(TariffType['Dynamic Pool'])
    const unused = await harness.aPool(TariffType['Fixed Pool'], 7000)
    const [moved = 0, gone = 0, stopped = 0, stays = 0] = await harness.activeSims(4, { poolId: from })
    store.now = at(3)
    await close(harness, '2026-09')
    await harness.record([harness.usage(moved, { bytesUp: 4100, at: new Date(at(-19)).toISOString() })])
    await harness.asTenant(async (tx) => {
      await queueReprovision(tx, { id: moved, poolId: to })
      await queueUnprovision(tx, gone)
    })
    await harness.complete({ simId: stopped, type: TicketType.Suspend, cause: watchdog() })
    await harness.record([harness.usage(stays, { bytesUp: 4500, smsCount: 2, voiceSeconds: 90 })])

    const used = { poolId: from, poolName: 'a pool', lines: 5, usageBytes: 4500 }
    const bucket = { poolId: unused, lines: 1 }
    expect(await plan(harness)).toEqual({
      cycle: CYCLE,
      endsAt: BOUNDARY.toISOString(),
      closedAt: null,
      at: new Date(at(3)).toISOString(),
      statement: true,
      currency: 'EUR',
      totals: {
        // Two pools, four SIMs, and the adjustment of one SIM and its pool.
        lines: 8,
        usageBytes: 4500,
        voiceSeconds: 90,
        smsCount: 2,
        overageBytes: 500,
        feeMicro: 4 * fromMoney(1) + fromMoney(20),
        smsMicro: 2 * fromMoney(0.05),
        voiceMicro: fromMoney(0.15),
        overageMicro: 3,
        adjustmentsMicro: 1,
        totalMicro: 4 * fromMoney(1) + fromMoney(20) + 2 * fromMoney(0.05) + fromMoney(0.15) + 3 + 1,
      },
      pools: {
        count: 3,
        first: [
          expect.objectContaining({ ...used, limitBytes: 4000, nextLimitBytes: 2000, overageBytes: 500 }),
          expect.objectContaining({ poolId: to, lines: 0, limitBytes: 0, nextLimitBytes: 1000, totalMicro: 0 }),
          expect.objectContaining({ ...bucket, limitBytes: 7000, nextLimitBytes: 7000, totalMicro: fromMoney(20) }),
        ],
        more: 0,
      },
      adjustments: { count: 1, first: [{ cycle: '2026-09', lines: 2, totalMicro: 1 }], more: 0 },
      changes: {
        count: 2,
        first: [
          expect.objectContaining({ simId: moved, poolId: to, unassign: false }),
          expect.objectContaining({ simId: gone, unassign: true }),
        ],
        more: 0,
        moves: 1,
        unassignments: 1,
      },
      conflicts: { count: 0, first: [], more: 0 },
      renewals: { count: 1, first: [stopped], more: 0 },
      difference: null,
    })
  })

  test('explains each change that would fail', async () => {
    const harness = await inOctober(store)
    const [from, to] = [await harness.aPool(), await harness.aPool()]
    const own = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 5000))
    const [noPool = 0, noTariff = 0, leaving = 0, fine = 0] = await harness.activeSims(4, { poolId: from })
    const lost = await harness.aPool()
    await harness.asTenant(async (tx) => {
      await queueReprovision(tx, { id: noPool, poolId: lost })
      await queueReprovision(tx, { id: noTariff, tariffId: own.id })
      await queueReprovision(tx, { id: leaving, poolId: to })
      await queueReprovision(tx, { id: fine, poolId: to })
      await setTariffActive(tx, { id: own.id, isActive: false })
      await openTicket(tx, { simId: leaving, type: TicketType.Provision, unassign: true, cause: { by: 'user' } })
    })
    await setDeleted(lost, new Date())

    const { changes, conflicts, pools } = await plan(harness)

    expect(conflicts).toMatchObject({
      count: 3,
      first: [
        { simId: noPool, code: 'pool_not_found', detail: `There is no pool ${lost}.` },
        { simId: noTariff, code: 'tariff_inactive', detail: expect.stringContaining(`Tariff ${own.id}`) },
        { simId: leaving, code: 'sim_state_conflict', detail: expect.stringContaining('cannot be moved') },
      ],
    })
    expect(changes).toMatchObject({ count: 4, moves: 1, unassignments: 0 })
    expect(pools.first.map(({ poolId, nextLimitBytes }) => [poolId, nextLimitBytes])).toEqual([
      [from, 3000],
      [to, 1000],
    ])
  })

  test('leaves begun and failed changes to their month end', async () => {
    const harness = await inOctober(store)
    const [from, to, lost] = [await harness.aPool(), await harness.aPool(), await harness.aPool()]
    const [failed = 0, moves = 0, queued = 0, open = 0] = await harness.activeSims(4, { poolId: from })
    await harness.asTenant(async (tx) => {
      await queueReprovision(tx, { id: failed, poolId: lost })
      for (const id of [moves, open]) await queueReprovision(tx, { id, poolId: to })
    })
    await setDeleted(lost, new Date())
    store.now = BOUNDARY.getTime() + 1000
    const begun = await apply(harness, [open])
    await setDeleted(lost, null)
    await harness.asTenant((tx) => queueReprovision(tx, { id: queued, poolId: to }))

    expect(begun.done).toEqual({ move: 1, unassign: 0 })
    const ofThis = await plan(harness)
    const refused = { simId: failed, code: 'pool_not_found', detail: `There is no pool ${lost}.` }
    expect(ofThis.conflicts).toMatchObject({ count: 1, first: [refused] })
    expect(ofThis.changes).toMatchObject({ count: 2, first: [{ simId: failed }, { simId: open }], moves: 1 })
    const ofNext = await plan(harness, NEXT)
    expect(ofNext.changes).toMatchObject({ count: 2, first: [{ simId: failed }, { simId: queued }], moves: 2 })
    expect(ofNext.conflicts).toMatchObject({ count: 0 })
    expect(ofNext.pools.first.map(({ poolId, nextLimitBytes }) => [poolId, nextLimitBytes])).toEqual([
      [from, 0],
      [to, 3000],
      [lost, 1000],
    ])
  })

  test('repeats the statement of a closed cycle', async () => {
    const harness = await inOctober(store)
    const poolId = await harness.aPool()
    const [simId = 0] = await harness.activeSims(1, { poolId })
    await harness.record([harness.usage(simId, { bytesUp: 1500 })])
    store.now = CLOSE
    await close(harness)
    await harness.record([harness.usage(simId, { bytesUp: 70_000, at: new Date(at(4)).toISOString() })])
    const lines = await statement(harness)

    expect(await plan(harness)).toMatchObject({
      closedAt: new Date(CLOSE).toISOString(),
      statement: true,
      totals: { lines: 2, usageBytes: 1500, overageBytes: 500, adjustmentsMicro: 0, totalMicro: total(lines, charge) },
      changes: { count: 0 },
    })
    expect((await plan(harness, NEXT)).adjustments).toMatchObject({ count: 1, first: [{ cycle: CYCLE, lines: 2 }] })
  })

  test('stays below 1 MB for 6000 SIMs', async () => {
    const harness = await inOctober(store)
    const { id: tariffId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 1000))
    const now = new Date(store.now)
    await sql`
      insert into pools (tenant_id, name, type, tariff_id, watchdog_mode, created_at, updated_at, activated_at)
      select ${harness.tenantId}, repeat('x', 50), 0, ${tariffId}, 1, ${now}, ${now}, ${now}
        from generate_series(1, 3000)`.execute(store.db)
    const [{ id: lost } = { id: 0 }] = await harness.rows(sql<{ id: number }>`select max(id) as id from pools`)
    await sql`
      insert into sims (tenant_id, iccid, type, status, status_since, pool_id, pending_pool_id, pending_since,
                        created_at, updated_at)
      select ${harness.tenantId}, (8944000000000000000 + n)::text, 0, 1, ${now}, ${lost - 1},
             ${lost}, ${now}, ${now}, ${now}
        from generate_series(1, 6000) n`.execute(store.db)
    await setDeleted(lost, new Date())
    await sql`
      insert into suspensions (tenant_id, sim_id, cause, rule, cycle_key, until, opened_at)
      select tenant_id, id, 'watchdog', 'r', ${CYCLE}, 'renewal', ${now} from sims
       where tenant_id = ${harness.tenantId}`.execute(store.db)

    const made = await plan(harness)

    expect(made).toMatchObject({
      pools: { count: 2999, more: 2999 - MOST_NAMED.pools },
      changes: { count: 6000, more: 6000 - MOST_NAMED.changes, moves: 0 },
      conflicts: { count: 6000, more: 6000 - MOST_NAMED.conflicts },
      renewals: { count: 6000, more: 6000 - MOST_NAMED.renewals },
    })
    expect(made.renewals.first).toHaveLength(MOST_NAMED.renewals)
    expect(JSON.stringify(made).length).toBeLessThan(1_000_000)
  })
})

const place = fc.option(fc.integer({ min: 0, max: 2 }), { freq: 3 })
const life = fc.record({
  pool: place,
  own: fc.boolean(),
  state: fc.constantFrom('active' as const, 'user' as const, 'renewal' as const, 'manual' as const, 'new' as const),
  bytes: fc.nat(2500),
  queued: fc.constantFrom('nothing' as const, 'move' as const, 'move' as const, 'unassign' as const),
  to: place,
  toOwn: fc.boolean(),
  /** Activated (`new`) or suspended (`active`) in the new cycle, before the plan is made. */
  late: fc.boolean(),
})
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never
const estate = fc.record({
  lives: fc.array(life, { minLength: 1, maxLength: 7 }),
  /** When the plan is made: in the last days of the cycle, or after its end. */
  when: fc.constantFrom('before' as const, 'after' as const),
  withdrawn: fc.boolean(),
})

/** Whether a SIM's own tariff governs: outside pools (null), and in the first pool, which is Standard. */
const governsItself = (place: number | null) => place === null || place === 0

async function live(harness: Harness, pools: readonly number[], ownId: number, lives: readonly Life[]) {
  const sims: number[] = []
  for (const one of lives) {
    const poolId = one.pool === null ? null : (pools[one.pool] ?? null)
    const [simId = 0] = await harness.unprovisioned(1)
    sims.push(simId)
    await harness.complete({
      simId,
      type: TicketType.Provision,
      poolId,
      tariffId: one.own && governsItself(one.pool) ? ownId : null,
    })
    if (one.state !== 'new') await harness.complete({ simId, type: TicketType.Activate })
    if (one.state === 'user') await harness.complete({ simId, type: TicketType.Suspend })
    if (one.state === 'renewal' || one.state === 'manual')
      await harness.complete({ simId, type: TicketType.Suspend, cause: watchdog(one.state) })
    await harness.record([harness.usage(simId, { bytesUp: one.bytes, smsCount: 1, voiceSeconds: one.bytes })])
    if (one.queued === 'unassign') await harness.asTenant((tx) => queueUnprovision(tx, simId))
    if (one.queued === 'move') {
      const to = { poolId: one.to === null ? null : (pools[one.to] ?? null), tariffId: one.toOwn ? ownId : null }
      // As queued before the pool got a tariff that governs its SIMs: the month end applies it.
      if (one.toOwn && !governsItself(one.to ?? one.pool)) {
        await harness.asTenant((tx) => queueChange(tx, simId, { ...to, unassign: false }))
      } else await harness.asTenant((tx) => queueReprovision(tx, { id: simId, ...to }))
    }
  }
  return sims
}

/**
 * Applies the month end's changes as its workflow does. Tickets complete at once, except those of `leftOpen`.
 *
 * @returns the refused changes, and how many are done
 */
async function apply(harness: Harness, leftOpen: readonly number[] = []) {
  const refused: { simId: number; code: string | null; detail: string | null }[] = []
  const done = { move: 0, unassign: 0 }
  for (const kind of ['unassign', 'move'] as const) {
    const ask = { kind, afterSimId: 0, throughSimId: Number.MAX_SAFE_INTEGER }
    const { results } = await harness.asTenant((tx) => applyChanges(tx, CYCLE, ask))
    for (const { simId, ticketId, code, detail } of results) {
      if (ticketId === null) {
        refused.push({ simId, code, detail })
        continue
      }
      if (leftOpen.includes(simId)) continue
      await harness.asTenant(async (tx) => {
        const [sim, ticket] = [await lockSim(tx, simId), await findTicket(tx, ticketId)]
        if (sim === undefined || ticket === undefined) throw new Error(`ticket ${ticketId} is gone`)
        if (decide(sim, ticket).do !== 'nothing') await applyTickets(tx, [{ sim, ticket }])
        await writeTicketEnds(tx, [{ ticket, status: 2, failure: null }])
      })
      done[kind] += 1
    }
  }
  return { refused: refused.toSorted((a, b) => a.simId - b.simId), done }
}

/** Number of estates. They need a tenth of `MOST_MS`; the rest is for shrinking a failure. */
const RUNS = cases(40)
const MOST_MS = 120_000 + RUNS * 6000

describe('planMonthEnd', () => {
  test('agrees with the month end in every figure', { timeout: MOST_MS + 30_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(estate, async ({ lives, when, withdrawn }) => {
        store.now = at(2)
        const harness = await aHarness(store)
        const pools: number[] = []
        for (const type of [TariffType.Standard, TariffType['Dynamic Pool'], TariffType['Fixed Pool']])
          pools.push(await harness.aPool(type, 1001))
        const { id: ownId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 300))
        const sims = await live(harness, pools, ownId, lives)
        if (withdrawn) await harness.asTenant((tx) => setTariffActive(tx, { id: ownId, isActive: false }))
        store.now = when === 'before' ? at(28) : BOUNDARY.getTime() + 1000
        if (when === 'after') {
          await harness.asTenant((tx) => renewCycle(tx, CYCLE))
          for (const [i, { late, state }] of lives.entries()) {
            const simId = sims[i] ?? 0
            if (late && state === 'new') await harness.complete({ simId, type: TicketType.Activate })
            if (late && state === 'active') await harness.complete({ simId, type: TicketType.Suspend })
          }
        }

        const planned = await plan(harness)

        store.now = Math.max(store.now, BOUNDARY.getTime() + 60_000)
        await harness.asTenant((tx) => renewCycle(tx, CYCLE))
        const { refused, done } = await apply(harness)
        const figures = await harness.asTenant((tx) => readPoolFigures(tx, NEXT, [0, ...pools]))
        const back = await harness.asTenant((tx) =>
          suspensionsToRenew(tx, CYCLE, { afterSimId: 0, throughSimId: Number.MAX_SAFE_INTEGER }, 100),
        )
        store.now = CLOSE
        const closed = await close(harness)
        const totals = await harness.asTenant((tx) => poolTotals(tx, CYCLE))
        const lines = await statement(harness)

        expect(planned.conflicts).toMatchObject({ count: refused.length, first: refused })
        expect(planned.changes).toMatchObject({
          count: refused.length + done.move + done.unassign,
          moves: done.move,
          unassignments: done.unassign,
        })
        expect(planned.renewals.first).toEqual(back.map(({ simId }) => simId))
        expect(planned.statement).toBe(closed.statement)
        const [count, totalMicro] = [lines.length, total(lines, charge)]
        expect(planned.totals).toMatchObject({ lines: count, totalMicro, adjustmentsMicro: 0 })
        for (const pool of planned.pools.first) {
          const stated = totals.find(({ poolId }) => poolId === pool.poolId)
          expect(pool, `pool ${pool.poolId}`).toMatchObject({
            poolName: stated?.poolName ?? 'a pool',
            usageBytes: stated?.bytes ?? 0,
            overageBytes: stated?.overageBytes ?? 0,
            totalMicro: stated?.chargeMicro ?? 0,
            ...(stated === undefined ? {} : { limitBytes: stated.limitBytes }),
            nextLimitBytes: figures.get(pool.poolId)?.limitBytes,
          })
        }
        const named = new Set(planned.pools.first.map(({ poolId }) => poolId))
        expect([...totals.map(({ poolId }) => poolId), ...pools].filter((id) => !named.has(id))).toEqual([])
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: MOST_MS },
    )
  })
})
