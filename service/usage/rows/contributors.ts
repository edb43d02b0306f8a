/** The contributors to a billing cycle, opened or not: by spans and memberships, and by their ledger rows. */

import { type RawBuilder, sql } from 'kysely'
import type { Cycle } from '../../../domain/time/cycle.ts'
import type { Allowance } from '../../../domain/usage/allowance.ts'
import { type Db, mine, type TenantTx } from '../../../store/tenancy.ts'
import { changeSums, type LedgerPlace, lockPools } from './pool-totals.ts'

/**
 * A condition on the id of a SIM, given its column. It stands in every branch of a select: each branch reads a part.
 */
export type ContributorRange = (simId: RawBuilder<unknown>) => RawBuilder<unknown>

/** Any SIM. */
const ALL: ContributorRange = () => sql`true`
export const theseSims =
  (simIds: readonly number[]): ContributorRange =>
  (simId) =>
    sql`${simId} = any(${[...simIds]}::bigint[])`
/** SIMs with an id above `after`, up to `through`. */
export const simsBetween =
  (after: number, through: number): ContributorRange =>
  (simId) =>
    sql`${simId} > ${after} and ${simId} <= ${through}`

/**
 * Selects the SIMs that are Active in a cycle or resume at its start. One row for each pool that a SIM belongs to in
 * the cycle, with its last own tariff there.
 */
export function contributors({ key, ...cycle }: Cycle, among: ContributorRange = ALL): RawBuilder<unknown> {
  const [startsAt, endsAt] = [new Date(cycle.startsAt), new Date(cycle.endsAt)]
  return sql`
    select distinct on (m.sim_id, m.pool_id) m.sim_id, m.pool_id, m.tariff_id
      from (select sim_id, from_at, coalesce(to_at, 'infinity') as to_at from active_spans
             where tenant_id = ${mine} and from_at < ${endsAt} and (to_at is null or to_at > ${startsAt})
               and ${among(sql`sim_id`)}
            union all
            select sim_id, ${startsAt}, 'infinity' from suspensions
             where tenant_id = ${mine} and closed_at is null and cause = 'watchdog' and until = 'renewal'
               and cycle_key < ${key} and ${among(sql`sim_id`)}) a
      join memberships m on m.tenant_id = ${mine} and m.sim_id = a.sim_id and ${among(sql`m.sim_id`)}
       and m.from_at < ${endsAt} and coalesce(m.to_at, 'infinity') > ${startsAt}
       and m.from_at < a.to_at and coalesce(m.to_at, 'infinity') > a.from_at
     order by m.sim_id, m.pool_id, m.from_at desc`
}

/**
 * Corrects the contributors to a cycle among some SIMs, and with them the pools' totals. Without ledger rows this opens
 * the cycle for these SIMs. Call with the cycle locked: alone for a range of SIMs, shared for locked SIMs.
 *
 * In a begun cycle an existing row keeps its own tariff: tickets maintain it. Before, it gets the SIM's.
 *
 * @returns ids of the pools with changes
 */
export async function settleContributors(tx: TenantTx, cycle: Cycle, among: ContributorRange = ALL): Promise<number[]> {
  const { key } = cycle
  const isAhead = cycle.startsAt > tx.now.getTime()
  const pools = await findChanges(tx, cycle, isAhead, among)
  const poolIds = pools.map(({ poolId }) => poolId)
  if (poolIds.length === 0) return []
  await lockPools(tx, key, poolIds)
  const before = sql`
    select sim_id, pool_id from contributor_changes where not is_new
    union all select distinct null::bigint, pool_id from contributor_changes where is_new`
  await changeSums(tx, key, { before, after: sql`select sim_id, pool_id from contributor_changes` }, async () => {
    await sql`
      insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing)
      select ${key}, sim_id, pool_id, tariff_id, true from contributor_changes
       where is_new order by sim_id, pool_id`.execute(tx.q)
    if (pools.every(({ isNew }) => isNew)) return
    // The pools are locked, so no other transaction changes a row between the search and the deletion.
    await sql`
      with found as materialized (
        select r.sim_id, r.pool_id, r.comes, ${isAhead ? sql`case when r.comes then r.tariff_id else l.tariff_id end` : sql`l.tariff_id`} as tariff_id,
               not r.comes and l.bytes = 0 and l.voice_seconds = 0 and l.sms_count = 0
                 and l.sessions = 0 as goes, l.place
          from contributor_changes r
         cross join lateral (
           select *, ctid as place from usage_ledger
            where tenant_id = ${mine} and cycle_key = ${key} and sim_id = r.sim_id and pool_id = r.pool_id limit 1) l
         where not r.is_new
      ), gone as (
        delete from usage_ledger where ctid = any(array(select place from found where goes))
      )
      insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing)
      select ${key}, sim_id, pool_id, tariff_id, comes from found where not goes order by sim_id, pool_id
      on conflict (tenant_id, cycle_key, sim_id, pool_id) do update
        set contributing = excluded.contributing, tariff_id = excluded.tariff_id`.execute(tx.q)
  })
  return poolIds
}

/** Makes the table of the changes, if the session has none yet. @param atCommit fate of its rows at the commit */
export async function makeContributorChanges(q: Db, atCommit: 'delete rows' | 'preserve rows'): Promise<void> {
  await sql`
    create temporary table if not exists contributor_changes (
      sim_id bigint, pool_id integer, tariff_id integer, comes boolean, is_new boolean
    ) on commit ${sql.raw(atCommit)}`.execute(q)
}

/**
 * Puts the differences between the contributors and the ledger rows into `contributor_changes`.
 *
 * @returns the pools with differences, by id, and whether all differences of a pool are missing rows
 */
async function findChanges(tx: TenantTx, cycle: Cycle, isAhead: boolean, among: ContributorRange) {
  if (!tx.isReplay) await makeContributorChanges(tx.q, 'delete rows')
  const { rows } = await sql<{ readonly poolId: number; readonly isNew: boolean }>`
    with cleared as (
      delete from contributor_changes
    ), found as (
      insert into contributor_changes
      select coalesce(c.sim_id, l.sim_id), coalesce(c.pool_id, l.pool_id), c.tariff_id, c.sim_id is not null,
             l.sim_id is null
        from (${contributors(cycle, among)}) c
        full join (select sim_id, pool_id, tariff_id, contributing from usage_ledger
                    where tenant_id = ${mine} and cycle_key = (select ${cycle.key}::text) and ${among(sql`sim_id`)}) l
          on l.sim_id = c.sim_id and l.pool_id = c.pool_id
       where case when c.sim_id is null then l.contributing
                  else l.contributing is not true or ${isAhead} and c.tariff_id is distinct from l.tariff_id end
      returning pool_id, is_new
    )
    select pool_id as "poolId", bool_and(is_new) as "isNew" from found group by pool_id order by pool_id`.execute(tx.q)
  return rows
}

/** Allowances of all tariffs visible to the tenant, by tariff id. */
export async function readAllowances(tx: TenantTx): Promise<Map<number, Allowance>> {
  const { rows } = await sql<Allowance & { id: number }>`
    select id, type, allowance_bytes as "allowanceBytes" from tariffs`.execute(tx.q)
  return new Map(rows.map(({ id, ...allowance }) => [id, allowance]))
}

/** A SIM that contributes to a pool (0: outside pools), with its own tariff, if any. */
export interface Seat extends LedgerPlace {
  readonly tariffId: number | null
}

/**
 * Selects the SIMs that contribute to a cycle: by its ledger once it is opened, before by the rows that opening it
 * would write.
 */
const seats = (cycle: Cycle, opened: boolean, among: ContributorRange = ALL): RawBuilder<unknown> =>
  opened
    ? sql`
        select sim_id, pool_id, tariff_id from usage_ledger
         where tenant_id = ${mine} and cycle_key = (select ${cycle.key}::text) and contributing
           and ${among(sql`sim_id`)}`
    : contributors(cycle, among)

/** Numbers of SIMs that contribute to each pool, or to some of them, by pool and own tariff. */
export async function seatCounts(
  tx: TenantTx,
  cycle: Cycle,
  opened: boolean,
  poolIds?: readonly number[],
): Promise<Map<number, Map<number | null, number>>> {
  const ofPools = poolIds === undefined ? sql`` : sql`where pool_id = any(${[...poolIds]}::integer[])`
  const { rows } = await sql<{ poolId: number; tariffId: number | null; sims: number }>`
    select pool_id as "poolId", tariff_id as "tariffId", count(*)::integer as sims
      from (${seats(cycle, opened)}) s ${ofPools} group by pool_id, tariff_id`.execute(tx.q)
  const counts = new Map<number, Map<number | null, number>>()
  for (const { poolId, tariffId, sims } of rows) {
    counts.set(poolId, (counts.get(poolId) ?? new Map<number | null, number>()).set(tariffId, sims))
  }
  return counts
}

/** The seats of given SIMs, by SIM id. A SIM that contributes nowhere is left out. */
export async function seatsOf(
  tx: TenantTx,
  cycle: Cycle,
  opened: boolean,
  simIds: readonly number[],
): Promise<Map<number, Seat[]>> {
  const { rows } = await sql<Seat>`
    select sim_id as "simId", pool_id as "poolId", tariff_id as "tariffId"
      from (${seats(cycle, opened, theseSims(simIds))}) s`.execute(tx.q)
  return Map.groupBy(rows, ({ simId }) => simId)
}
