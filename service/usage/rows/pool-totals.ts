/** Totals of pools in a billing cycle, and the sums over their ledger rows. */

import { type RawBuilder, sql } from 'kysely'
import { TariffType } from '../../../domain/codes.ts'
import { kept } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { restating } from './restatements.ts'

/**
 * Makes missing rows of pool totals in a cycle: a pool has its capacity before any usage. Call before the pools have
 * ledger rows in the cycle: the sums of a new row are 0, and right.
 *
 * @returns the pool ids, sorted and without duplicates
 */
export async function ensurePools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<number[]> {
  const ids = [...new Set(poolIds)].sort((a, b) => a - b)
  await sql`${kept}
    insert into pool_cycles (cycle_key, pool_id, usage_version, summed_version)
    select ${cycleKey}, id, 1, 1 from unnest(${ids}::integer[]) as p(id) order by id
    on conflict do nothing`.execute(tx.q)
  return ids
}

/**
 * Locks pools' totals in a cycle, in id order, and makes missing rows. Call it before changing ledger rows of a pool.
 * It keeps totals and ledger rows at the same version.
 */
export async function lockPools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<void> {
  const ids = await ensurePools(tx, cycleKey, poolIds)
  await sql`
    select from pool_cycles
     where tenant_id = ${mine} and cycle_key = ${cycleKey} and pool_id = any(${ids}::integer[])
     order by pool_id
       for update`.execute(tx.q)
}

/** A SIM's place in a cycle: one ledger row. Pool 0: outside pools. */
export interface LedgerPlace {
  readonly simId: number
  readonly poolId: number
}

const SUMS = [
  'bytes',
  'voiceSeconds',
  'smsCount',
  'contributing',
  'limitBytes',
  'excessBytes',
  'remainingBytes',
] as const

/** Sums over the rows of a pool that a change concerns. */
export type Sums = Readonly<{ poolId: number } & Record<(typeof SUMS)[number], number>>

/**
 * Changes ledger rows of a cycle, and their pools' totals by the difference. Raises the pools' usage versions, even if
 * nothing differs. Call with the cycle and the pools locked. The cost depends on the given rows, not on the size of the
 * pools.
 *
 * @param places every row that `change` inserts, updates or deletes
 */
export async function changeLedger<T>(
  tx: TenantTx,
  cycleKey: string,
  places: readonly LedgerPlace[],
  change: () => Promise<T>,
): Promise<T> {
  const selected = selectOf(places)
  return changeSums(tx, cycleKey, { before: selected, after: selected }, change)
}

/**
 * As {@link changeLedger}, for places that a select gives, each once: SIM id (null: none) and pool id. Both selects
 * have the same pools.
 *
 * @param places.before the places that have a row
 * @param places.after the places that have a row after the change
 */
export async function changeSums<T>(
  tx: TenantTx,
  cycleKey: string,
  places: { readonly before: RawBuilder<unknown>; readonly after: RawBuilder<unknown> },
  change: () => Promise<T>,
): Promise<T> {
  const before = await sumsOf(tx, cycleKey, places.before)
  const result = await change()
  const after = await sumsOf(tx, cycleKey, places.after)
  await addToPools(tx, cycleKey, { before, after })
  return result
}

/** Adds rows inserted by this transaction to their pools' totals. Call with the cycle and the pools locked. */
export const addNewRows = (tx: TenantTx, cycleKey: string, sums: readonly Sums[]): Promise<void> =>
  addToPools(tx, cycleKey, { before: [], after: sums })

/** Adds up given rows of a cycle, by pool. */
export const sumsOfPlaces = (tx: TenantTx, cycleKey: string, places: readonly LedgerPlace[]): Promise<Sums[]> =>
  sumsOf(tx, cycleKey, selectOf(places))

const selectOf = (places: readonly LedgerPlace[]): RawBuilder<unknown> => sql`${kept}
  select distinct "simId", "poolId"
    from jsonb_to_recordset(${JSON.stringify(places)}::jsonb) as p("simId" bigint, "poolId" integer)`

/**
 * Selects the limit of each kind of row in a set of ledger rows, for many rows: rows of a pool with the same own tariff
 * have the same limit. `limit 1` makes PostgreSQL look each row up: it has no statistics yet of a cycle being opened.
 *
 * @param rows with cycle_key, sim_id, pool_id, tariff_id, contributing
 */
export const rowTerms = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select a.*, f.limit_bytes, f.is_shared, f.governing_type is not null as is_governed
    from (select cycle_key, pool_id, tariff_id, contributing, min(sim_id) as sim_id
            from ${rows} group by cycle_key, pool_id, tariff_id, contributing) a
   cross join lateral (
     select * from ledger_figures f
      where f.tenant_id = ${mine} and f.cycle_key = a.cycle_key and f.sim_id = a.sim_id
        and f.pool_id = a.pool_id limit 1) f`

/** Condition: the row is of the kind of `t`, a row of {@link rowTerms} of the same cycle. */
export const isOfKind = (row: string): RawBuilder<unknown> => sql`
  t.pool_id = ${sql.ref(`${row}.pool_id`)} and t.contributing = ${sql.ref(`${row}.contributing`)}
  and coalesce(t.tariff_id, 0) = coalesce(${sql.ref(`${row}.tariff_id`)}, 0)`

/** What a row with these bytes and the terms `t` adds to its pool's sums, as the view `pool_figures` adds them up. */
export const excessOf = (bytes: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`case when t.is_governed then greatest(0, ${bytes} - t.limit_bytes) else 0 end`
export const remainingOf = (bytes: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`case when t.is_shared then 0 else greatest(0, t.limit_bytes - ${bytes}) end`

async function sumsOf(tx: TenantTx, cycleKey: string, places: RawBuilder<unknown>): Promise<Sums[]> {
  const { rows } = await sql<Sums>`
    with given as materialized (
      select ${cycleKey}::text as cycle_key, k."poolId" as pool_id, l.sim_id, l.tariff_id,
             coalesce(l.contributing, false) as contributing, l.bytes, l.voice_seconds, l.sms_count
        from (${places}) as k("simId", "poolId")
        left join lateral (
          select * from usage_ledger u
           where u.tenant_id = ${mine} and u.cycle_key = ${cycleKey} and u.sim_id = k."simId"
             and u.pool_id = k."poolId" limit 1) l on true
    ), terms as materialized (${rowTerms(sql`given`)})
    select g.pool_id as "poolId", coalesce(sum(g.bytes), 0)::bigint as bytes,
           coalesce(sum(g.voice_seconds), 0)::bigint as "voiceSeconds", coalesce(sum(g.sms_count), 0)::bigint as "smsCount",
           count(*) filter (where g.contributing)::integer as contributing,
           coalesce(sum(t.limit_bytes) filter (where not t.is_shared), 0)::bigint as "limitBytes",
           sum(${excessOf(sql`g.bytes`)})::bigint as "excessBytes",
           sum(${remainingOf(sql`g.bytes`)})::bigint as "remainingBytes"
      from given g
      left join terms t on ${isOfKind('g')} and g.sim_id is not null
     group by g.pool_id`.execute(tx.q)
  return rows
}

async function addToPools(
  tx: TenantTx,
  cycleKey: string,
  sums: { readonly before: readonly Sums[]; readonly after: readonly Sums[] },
): Promise<void> {
  const was = new Map(sums.before.map((before) => [before.poolId, before]))
  const changes = sums.after.map((after) => differenceOf(after, was.get(after.poolId)))
  await restating(
    tx,
    sql`${kept}
      insert into pool_cycles as p (cycle_key, pool_id, bytes, voice_seconds, sms_count, contributing, limit_bytes,
                                    excess_bytes, remaining_bytes)
      select ${cycleKey}, "poolId", bytes, "voiceSeconds", "smsCount", contributing, "limitBytes", "excessBytes",
             "remainingBytes"
        from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as s(
               "poolId" integer, bytes bigint, "voiceSeconds" bigint, "smsCount" bigint, contributing integer,
               "limitBytes" bigint, "excessBytes" bigint, "remainingBytes" bigint)
       order by "poolId"
      on conflict (tenant_id, cycle_key, pool_id) do update
        set bytes = p.bytes + excluded.bytes, voice_seconds = p.voice_seconds + excluded.voice_seconds,
            sms_count = p.sms_count + excluded.sms_count, contributing = p.contributing + excluded.contributing,
            limit_bytes = p.limit_bytes + excluded.limit_bytes, excess_bytes = p.excess_bytes + excluded.excess_bytes,
            remaining_bytes = p.remaining_bytes + excluded.remaining_bytes, usage_version = p.usage_version + 1,
            summed_version = ${summedAfter(sql`excluded.contributing <> 0 and (p.bytes > 0 or excluded.bytes > 0)`)}`,
  ).execute(tx.q)
}

function differenceOf(after: Sums, before: Sums | undefined): Sums {
  const difference = { ...after }
  for (const sum of SUMS) difference[sum] -= before?.[sum] ?? 0
  return difference
}

/**
 * A pool's `summed_version` after a change of its rows and sums. A Fixed pool with another number of contributing SIMs
 * has other shares for all of them, so its sums are no longer right.
 *
 * @param newShares condition: whether the number of contributing SIMs changes, and there is usage. Without usage there
 *   is no excess, at any shares.
 */
export const summedAfter = (newShares: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  case when p.summed_version = p.usage_version
            and not (${newShares} and exists (select from pools o join tariffs t on t.id = o.tariff_id
                                               where o.id = p.pool_id and t.type = ${TariffType['Fixed Pool']}))
       then p.usage_version + 1 else p.summed_version end`

/**
 * Adds up the ledger rows of given pools with wrong sums, and stores the sums. Reading figures then costs one row a
 * pool. Locks these pools.
 */
export async function sumPools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<void> {
  const { rows } = await sql<{ poolId: number }>`${kept}
    select pool_id as "poolId" from pool_cycles
     where tenant_id = ${mine} and cycle_key = ${cycleKey} and pool_id = any(${[...poolIds]}::integer[])
       and summed_version <> usage_version
     order by pool_id
       for update`.execute(tx.q)
  if (rows.length === 0) return
  // A separate statement, to read the rows protected by the lock.
  await sql`${kept}
    update pool_cycles p
       set limit_bytes = case when f.is_shared then 0 else f.limit_bytes end, excess_bytes = f.excess_bytes,
           remaining_bytes = case when f.is_shared then 0 else f.remaining_bytes end, summed_version = p.usage_version
      from unnest(${rows.map(({ poolId }) => poolId)}::integer[]) as ids(id)
     cross join lateral (
       select * from pool_figures
        where tenant_id = ${mine} and cycle_key = ${cycleKey} and pool_id = ids.id
        limit 1
     ) f
     where p.tenant_id = ${mine} and p.cycle_key = ${cycleKey} and p.pool_id = ids.id`.execute(tx.q)
}
