import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType } from '../../../domain/codes.ts'
import { queueReprovision, queueUnprovision } from '../../../service/month-end/queue-change.ts'
import { queuedChanges } from '../../../service/month-end/rows/changes.ts'
import { hasLateMonthEnd } from '../../../service/month-end/rows/progress.ts'
import { renewCycle } from '../../../service/month-end/steps.ts'
import { currentCycle, cycleNamed } from '../../../service/usage/rows/cycles.ts'
import { readPoolFigures } from '../../../service/usage/rows/figures.ts'
import { aStore } from '../../setup/estate.ts'
import { heldOpen, lockWaiters } from '../../setup/lock-waits.ts'
import { soon } from '../../setup/soon.ts'
import { aHarness, complete, type Harness } from '../harness.ts'
import {
  AT_BOUNDARY,
  at,
  BOUNDARY,
  CLOSE,
  CYCLE,
  charge,
  close,
  closeNext,
  DAY,
  inOctober,
  MONTH_END,
  NEXT,
  notifications,
  statement,
  total,
} from './october.ts'

const store = await aStore()
/** The values of each row, in the order of its columns. */
const valuesOf = async (harness: Harness, query: ReturnType<typeof sql>) =>
  (await harness.rows(query)).map((row) => Object.values(row as object))

describe('closeCycle', () => {
  test('keeps statement, summary and event when repeated', async () => {
    const harness = await inOctober(store)
    const poolId = await harness.aPool()
    const [simId = 0] = await harness.activeSims(1, { poolId })
    await harness.record([harness.usage(simId, { bytesUp: 1500 })])
    store.now = CLOSE
    const [first, second] = await Promise.all([close(harness), close(harness)])
    const lines = await statement(harness)

    store.now += DAY
    await harness.record([harness.usage(simId, { at: new Date(at(4)).toISOString(), bytesUp: 7 })])
    const later = await close(harness)

    expect(first).toEqual({ statement: true, closedAt: new Date(CLOSE).toISOString() })
    expect([second, later]).toEqual([first, first])
    expect(await statement(harness)).toEqual(lines)
    expect(lines.map(({ kind, bytes, overageBytes }) => [kind, bytes, overageBytes])).toEqual([
      ['pool', 1500, 500],
      ['sim', 1500, 500],
    ])
    const chargesMicro = total(lines, charge)
    expect(await notifications(harness)).toMatchObject([
      {
        body: {
          kind: 'summary',
          cycle: { key: CYCLE },
          figures: { usageMB: 0.0015, overageMB: 0.0005, chargesMicro, simsByStatus: { Active: 1 } },
          pools: [{ name: 'a pool', chargeMicro: chargesMicro }],
        },
      },
    ])
    expect(
      await harness.rows(sql`select title from events where type = 1 and title like 'Billing cycle%'`),
    ).toHaveLength(1)
  })

  test('counts as late from the cycle’s end until done', async () => {
    store.now = BOUNDARY.getTime() - 1
    const harness = await aHarness(store)
    await harness.activeSims(1, { poolId: await harness.aPool() })
    const isLate = () => harness.asTenant(hasLateMonthEnd)
    const before = await isLate()
    store.now = BOUNDARY.getTime()
    const atItsEnd = await isLate()
    store.now = CLOSE
    await close(harness)

    expect([before, atItsEnd, await isLate()]).toEqual([false, true, false])
  })

  test('refuses an open or unknown cycle', async () => {
    const harness = await aHarness(store)
    store.now = BOUNDARY.getTime() - 1

    await expect(close(harness)).rejects.toMatchObject({ code: 'cycle_open' })
    await expect(close(harness, '2026-10-01')).rejects.toMatchObject({ code: 'cycle_not_found' })
    await expect(close(harness, '20261001T0000Z')).rejects.toMatchObject({ code: 'cycle_not_found' })
    store.now += 1
    await expect(close(harness)).resolves.toMatchObject({ statement: false })
  })

  test('writes one row and no notification if empty', async () => {
    const harness = await inOctober(store)
    await harness.aPool()
    store.now = CLOSE

    const answers = [await close(harness), await close(harness)]

    expect(answers.map(({ statement }) => statement)).toEqual([false, false])
    expect((await statement(harness)).map(({ kind }) => kind)).toEqual(['empty'])
    expect(await notifications(harness)).toEqual([])
    expect(await harness.rows(sql`select 1 from events where type = 1`)).toEqual([])
  })

  test('notifies of changes in an empty cycle', async () => {
    const harness = await aHarness(store)
    const [failed, ...moved] = await harness.unprovisioned(3)
    await harness.rows(sql`
      insert into month_end_changes (cycle_key, kind, sim_id, outcome)
      select ${CYCLE}, 'move', id, case when id = ${failed} then 'failed' else 'complete' end
        from unnest(${[failed, ...moved]}::bigint[]) as s(id)`)
    store.now = CLOSE

    await close(harness)

    expect(await notifications(harness)).toMatchObject([
      { body: { figures: { movesApplied: 2, movesFailed: 1 }, pools: [] } },
    ])
  })
})

describe('queuedChanges', () => {
  test('pages changes queued before the boundary, by kind', async () => {
    const harness = await inOctober(store)
    const [from, to] = [await harness.aPool(), await harness.aPool()]
    const sims = await harness.activeSims(6, { poolId: from })
    await harness.asTenant(async (tx) => {
      for (const [i, id] of sims.slice(0, 5).entries()) {
        await (i % 2 === 0 ? queueReprovision(tx, { id, poolId: to }) : queueUnprovision(tx, id))
      }
    })
    store.now = BOUNDARY.getTime()
    await harness.asTenant((tx) => queueUnprovision(tx, sims[5] ?? 0))
    const read = (afterSimId: number, limit: number, kind?: 'unassign' | 'move') =>
      harness.asTenant(async (tx) => queuedChanges(tx, await cycleNamed(tx, CYCLE), { afterSimId, limit, kind }))
    const list = async (...query: Parameters<typeof read>) => (await read(...query)).map(({ simId }) => simId)

    expect(await list(0, 2)).toEqual(sims.slice(0, 2))
    expect(await list(sims[1] ?? 0, 2)).toEqual(sims.slice(2, 4))
    expect(await list(sims[3] ?? 0, 2)).toEqual(sims.slice(4, 5))
    expect(await list(0, 10, 'unassign')).toEqual([sims[1], sims[3]])
    expect(await list(0, 10, 'move')).toEqual([sims[0], sims[2], sims[4]])
    expect(await read(0, 2)).toMatchObject([
      { poolId: to, tariffId: null, unassign: false },
      { poolId: null, tariffId: null, unassign: true },
    ])
  })
})

describe('renewCycle', () => {
  test('opens the next cycle once, after the boundary', async () => {
    const harness = await inOctober(store)
    const [simId = 0] = await harness.activeSims(1)
    const renew = () => harness.asTenant((tx) => renewCycle(tx, CYCLE))
    await expect(renew()).rejects.toMatchObject({ code: 'cycle_open' })
    store.now = BOUNDARY.getTime()

    const answers = [...(await Promise.all([renew(), renew()])), await renew()]

    expect(answers.filter(({ opened }) => opened)).toHaveLength(1)
    expect((await harness.ledger()).filter(({ cycle }) => cycle === NEXT)).toMatchObject([
      { simId, contributing: true, bytes: 0 },
    ])
  })

  /** The SIMs that contribute to November, and how many do by the pools' totals. */
  const contributing = async (harness: Harness) => ({
    sims: (await harness.ledger())
      .filter(({ cycle, contributing }) => cycle === NEXT && contributing)
      .map(({ simId, poolId }) => [simId, poolId]),
    pools: await valuesOf(
      harness,
      sql`select pool_id, contributing from pool_cycles
           where cycle_key = ${NEXT} and contributing > 0 order by pool_id`,
    ),
  })
  const MINUTE = 60_000

  test('takes contributors from the start, even if opened early', async () => {
    const harness = await inOctober(store)
    const [from, to] = [await harness.aPool(TariffType['Dynamic Pool']), await harness.aPool()]
    const sims = await harness.activeSims(5, { poolId: from })
    const [stays = 0, suspended = 0, unassigned = 0, moved = 0, dueBack = 0] = sims
    store.now = BOUNDARY.getTime() - 3 * MINUTE
    const first = new Date(BOUNDARY.getTime() + MINUTE / 2).toISOString()
    await harness.record([stays, suspended].map((simId) => harness.usage(simId, { at: first, bytesUp: 10 })))
    store.now += MINUTE
    const [comes = 0] = await harness.activeSims(1, { poolId: from })
    await harness.complete({ simId: suspended, type: TicketType.Suspend })
    await harness.complete({ simId: unassigned, type: TicketType.Provision, unassign: true })
    await harness.complete({ simId: moved, type: TicketType.Provision, poolId: to, cause: MONTH_END })
    const cause = { by: 'watchdog', rule: 'r', cycle: CYCLE, until: 'renewal', workflowId: 'w' } as const
    await harness.complete({ simId: dueBack, type: TicketType.Suspend, cause })
    const ahead = await contributing(harness)
    store.now = BOUNDARY.getTime() + 1000
    await harness.asTenant((tx) => renewCycle(tx, CYCLE))
    const renewed = await contributing(harness)
    const figures = await harness.asTenant((tx) => readPoolFigures(tx, NEXT, [from]))
    // A suspension within the cycle ends no contribution, even if the month end runs again.
    store.now += MINUTE
    await harness.complete({ simId: dueBack, type: TicketType.Suspend })
    await harness.complete({ simId: stays, type: TicketType.Suspend })
    await harness.asTenant((tx) => renewCycle(tx, CYCLE))

    expect(ahead.sims).toContainEqual([comes, from])
    expect(renewed).toEqual({
      sims: [
        [stays, from],
        [moved, to],
        [dueBack, from],
        [comes, from],
      ],
      pools: [
        [from, 3],
        [to, 1],
      ],
    })
    expect(figures.get(from)).toMatchObject({ limitBytes: 3000, usageBytes: 20 })
    expect(await contributing(harness)).toEqual(renewed)
    await closeNext(store, harness)
    const fees = (await statement(harness, NEXT)).filter(({ feeMicro }) => feeMicro > 0)
    expect(fees.map(({ simId }) => simId).filter((id) => id !== null)).toEqual([stays, dueBack, comes, moved])
  })

  test('includes a SIM whose ticket spans the boundary', async () => {
    const harness = await inOctober(store)
    const poolId = await harness.aPool()
    const [stays = 0] = await harness.activeSims(1, { poolId })
    const [comes = 0] = await harness.unprovisioned(1)
    await harness.complete({ simId: comes, type: TicketType.Provision, poolId })
    store.now = BOUNDARY.getTime() - 1
    const commit = await heldOpen(harness.asTenant, (tx) => complete(tx, { simId: comes, type: TicketType.Activate }))

    store.now = BOUNDARY.getTime()
    // The opening waits for the cycle, which the ticket has locked.
    const opened = harness.asTenant(currentCycle)
    await soon(async () => expect(await lockWaiters(store)).toBe(1))
    const renewed = harness.asTenant((tx) => renewCycle(tx, CYCLE))
    await soon(async () => expect(await lockWaiters(store)).toBe(2))
    await Promise.all([commit(), opened, renewed])

    expect(await contributing(harness)).toEqual({
      sims: [
        [stays, poolId],
        [comes, poolId],
      ],
      pools: [[poolId, 2]],
    })
  })
})

describe('a ticket effective at the boundary', () => {
  /** Bytes since the boundary in the ledger, the pools' totals, the buckets and the records, by pool. */
  const since = async (harness: Harness) => ({
    ledger: (await harness.ledger())
      .filter(({ cycle }) => cycle === NEXT)
      .map(({ poolId, bytes, contributing }) => [poolId, bytes, contributing]),
    pools: await valuesOf(
      harness,
      sql`select pool_id, bytes, contributing from pool_cycles
           where cycle_key = ${NEXT} and (bytes > 0 or contributing > 0) order by pool_id`,
    ),
    buckets: await valuesOf(
      harness,
      sql`select subject_id, sum(bytes)::bigint from usage_buckets where subject_kind = 2 and starts_at >= ${BOUNDARY}
           group by subject_id having sum(bytes) <> 0 order by subject_id`,
    ),
    records: await valuesOf(
      harness,
      sql`select pool_id, sum(bytes_up)::bigint from usage_records where at >= ${BOUNDARY} group by 1 order by 1`,
    ),
  })
  const later = (hours: number) => new Date(BOUNDARY.getTime() + hours * 3_600_000).toISOString()

  test('moves the usage since then to the new pool', async () => {
    const harness = await inOctober(store)
    const [from, to] = [await harness.aPool(), await harness.aPool()]
    const [simId = 0, stays = 0] = await harness.activeSims(2, { poolId: from })
    await harness.record([harness.usage(simId, { bytesUp: 1 }), harness.usage(stays, { bytesUp: 2 })])
    store.now = Date.parse(later(5))
    await harness.record([
      harness.usage(simId, { at: later(0), bytesUp: 10 }),
      harness.usage(simId, { at: later(4), bytesUp: 20 }),
      harness.usage(stays, { at: later(4), bytesUp: 40 }),
    ])
    const usageBefore = (await harness.ledger()).filter(({ cycle }) => cycle === CYCLE)

    await harness.complete({ simId, ...AT_BOUNDARY, poolId: to })
    const moved = await since(harness)
    await harness.record([harness.usage(simId, { at: later(1), bytesUp: 100 })])

    expect(moved).toEqual({
      ledger: [
        [to, 30, true],
        [from, 40, true],
      ],
      pools: [
        [from, 40, 1],
        [to, 30, 1],
      ],
      buckets: [
        [from, 40],
        [to, 30],
      ],
      records: [
        [from, 40],
        [to, 30],
      ],
    })
    expect(await since(harness)).toMatchObject({
      pools: [
        [from, 40, 1],
        [to, 130, 1],
      ],
      buckets: [
        [from, 40],
        [to, 130],
      ],
    })
    expect((await harness.ledger()).filter(({ cycle }) => cycle === CYCLE)).toEqual(usageBefore)
  })
})
