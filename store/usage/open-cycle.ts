/**
 * Opening a billing cycle: whole, or in slices of SIMs, each a transaction.
 *
 *   a slice of SIMs gets its ledger rows → the next → … → the cycle's own row
 *
 * The cycle's own row says that the cycle is open, so nobody sees it before all is there. What is done already stands in
 * `cycle_openings`. A ticket that ends meanwhile keeps the rows of its SIM right (`settleAhead`).
 */

import { sql } from 'kysely'
import type { Cycle } from '../../domain/time/cycle.ts'
import { kept } from '../kept.ts'
import { mine, type TenantTx } from '../tenancy.ts'
import { settleContributors, simsBetween } from './contributors.ts'
import { lockCycleAlone } from './cycle-locks.ts'

/** SIMs in a transaction. One takes about 0.1 s. */
export const SLICE = 10_000
/** Higher than the id of any SIM. */
export const ALL_SIMS = Number.MAX_SAFE_INTEGER

/**
 * Opens a cycle, in this transaction. Writes a ledger row for every SIM that is Active in it or resumes at its start. The
 * SIM then contributes from the first moment. Does nothing if the cycle has been opened before. Otherwise call without
 * the cycle locked by `lockCycles`.
 *
 * Nobody has to ask for a look at the subjects, though cycle-bound facts start from zero: every shard is due when the
 * cycle before ends.
 *
 * @returns whether this call opened it
 */
export async function openCycle(tx: TenantTx, cycle: Cycle): Promise<boolean> {
  if (await isOpen(tx, cycle)) return false
  await lockCycleAlone(tx, cycle.key)
  const after = await openedToOf(tx, cycle)
  if (after === ALL_SIMS) return false
  await settleContributors(tx, cycle, after === 0 ? undefined : simsBetween(after, ALL_SIMS))
  await markOpened(tx, cycle)
  return true
}

/**
 * Opens the next slice of a cycle; after the last one, the cycle. Call until the cycle is open.
 *
 * @param sims SIMs in the slice
 * @param finish whether to open the cycle after its last slice
 * @returns whether there is nothing left to do
 */
export async function openSlice(tx: TenantTx, cycle: Cycle, sims: number, finish = true): Promise<boolean> {
  await lockCycleAlone(tx, cycle.key)
  const after = await openedToOf(tx, cycle)
  if (after === ALL_SIMS) return true
  const through = await endOfSlice(tx, after, sims)
  if (through === undefined) {
    if (finish) await markOpened(tx, cycle)
    return true
  }
  await settleContributors(tx, cycle, simsBetween(after, through))
  await sql`
    insert into cycle_openings (cycle_key, opened_to) values (${cycle.key}, ${through})
    on conflict (tenant_id, cycle_key) do update set opened_to = excluded.opened_to`.execute(tx.q)
  return false
}

/**
 * Up to which SIM each of these cycles is opened, by key: {@link ALL_SIMS} if it is open. One of which nothing is opened is
 * left out.
 */
export async function openedTo(tx: TenantTx, cycles: readonly Cycle[]): Promise<Map<string, number>> {
  const keys = cycles.map(({ key }) => key)
  const { rows } = await sql<{ key: string; openedTo: number }>`${kept}
    select cycle_key as key, opened_to as "openedTo" from cycle_openings
     where tenant_id = ${mine} and cycle_key = any(${keys}::text[])
    union all
    select key, ${ALL_SIMS}::bigint from cycles where tenant_id = ${mine} and key = any(${keys}::text[])
     order by 2`.execute(tx.q)
  return new Map(rows.map((row) => [row.key, row.openedTo]))
}

const openedToOf = async (tx: TenantTx, cycle: Cycle): Promise<number> =>
  (await openedTo(tx, [cycle])).get(cycle.key) ?? 0

export const isOpen = async (tx: TenantTx, cycle: Cycle): Promise<boolean> => (await openedToOf(tx, cycle)) === ALL_SIMS

/** Forgets how far the opening of open cycles has come. A process of the previous release opens a cycle whole. */
export async function forgetOpenings(tx: TenantTx): Promise<void> {
  await sql`
    delete from cycle_openings o using cycles c
     where o.tenant_id = ${mine} and c.tenant_id = o.tenant_id and c.key = o.cycle_key`.execute(tx.q)
}

/** The last SIM of the slice after a SIM; undefined if no SIM follows. */
export async function endOfSlice(tx: TenantTx, after: number, sims: number): Promise<number | undefined> {
  const { rows } = await sql<{ id: number | null }>`
    select max(id) as id
      from (select id from sims where tenant_id = ${tx.tenantId} and id > ${after} order by id limit ${sims}) s`.execute(
    tx.q,
  )
  return rows[0]?.id ?? undefined
}

async function markOpened(tx: TenantTx, { key, startsAt, endsAt }: Cycle): Promise<void> {
  await sql`
    insert into cycles (key, starts_at, ends_at, opened_at)
    values (${key}, ${new Date(startsAt)}, ${new Date(endsAt)}, ${tx.now})
    on conflict do nothing`.execute(tx.q)
  await sql`delete from cycle_openings where tenant_id = ${mine} and cycle_key = ${key}`.execute(tx.q)
}
