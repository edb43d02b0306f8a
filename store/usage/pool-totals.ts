/** Totals of pools in a billing cycle, and the sums over their ledger rows. */

import { type RawBuilder, sql } from 'kysely'
import { TariffType } from '../../domain/codes.ts'
import type { TenantTx } from '../tenancy.ts'
import { restating } from './restatements.ts'

/**
 * Makes missing rows of pool totals in a cycle, so that a pool has its capacity before any usage.
 *
 * @returns the pool ids, sorted and without duplicates
 */
export async function ensurePools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<number[]> {
  const ids = [...new Set(poolIds)].sort((a, b) => a - b)
  await sql`
    insert into pool_cycles (cycle_key, pool_id)
    select ${cycleKey}, id from unnest(${ids}::integer[]) as p(id) order by id
    on conflict do nothing`.execute(tx.q)
  return ids
}

/**
 * Locks pools' totals in a cycle, in id order, and makes missing rows. Call it before changing ledger rows of a pool.
 * It keeps totals and ledger rows at the same version.
 *
 * @returns the pools' usage versions; a new row has version 1
 */
export async function lockPools(
  tx: TenantTx,
  cycleKey: string,
  poolIds: readonly number[],
): Promise<{ readonly poolId: number; readonly version: number }[]> {
  const ids = await ensurePools(tx, cycleKey, poolIds)
  const { rows } = await sql<{ poolId: number; version: number }>`
    select pool_id as "poolId", usage_version as version from pool_cycles
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = any(${ids}::integer[])
     order by pool_id
       for update`.execute(tx.q)
  return rows
}

/** Usage versions of all pools in some cycles, by `<cycle>/<pool>`. Takes no lock. */
export async function poolVersions(tx: TenantTx, cycleKeys: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ place: string; version: number }>`
    select cycle_key || '/' || pool_id as place, usage_version as version from pool_cycles
     where tenant_id = ${tx.tenantId} and cycle_key = any(${[...cycleKeys]}::text[])`.execute(tx.q)
  return new Map(rows.map(({ place, version }) => [place, version]))
}

/** A SIM's place in a cycle: one ledger row. Pool 0: outside pools. */
export interface LedgerPlace {
  readonly simId: number
  readonly poolId: number
}

/** Sums over the rows that a change concerns, by pool. */
interface Sums {
  readonly poolId: number
  readonly bytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
  readonly contributing: number
  readonly limitBytes: number
  readonly excessBytes: number
  readonly remainingBytes: number
}

/**
 * Changes ledger rows of a cycle, and their pools' totals by the difference. Raises the pools' usage versions, even if
 * nothing differs. Call with the cycle and the pools locked. The cost is that of the given rows, however large the
 * pools are.
 *
 * @param places every row that `change` inserts, updates or deletes
 */
export async function changeLedger<T>(
  tx: TenantTx,
  cycleKey: string,
  places: readonly LedgerPlace[],
  change: () => Promise<T>,
): Promise<T> {
  const before = await sumsOf(tx, cycleKey, places)
  const result = await change()
  const after = await sumsOf(tx, cycleKey, places)
  await addToPools(tx, cycleKey, { before, after })
  return result
}

async function sumsOf(tx: TenantTx, cycleKey: string, places: readonly LedgerPlace[]): Promise<Sums[]> {
  const { rows } = await sql<Sums>`
    select k."poolId", coalesce(sum(f.bytes), 0)::bigint as bytes,
           coalesce(sum(f.voice_seconds), 0)::bigint as "voiceSeconds", coalesce(sum(f.sms_count), 0)::bigint as "smsCount",
           count(*) filter (where f.contributing)::integer as contributing,
           coalesce(sum(f.limit_bytes) filter (where not coalesce(f.is_shared, false)), 0)::bigint as "limitBytes",
           coalesce(sum(f.excess_bytes), 0)::bigint as "excessBytes",
           coalesce(sum(greatest(0, f.limit_bytes - f.bytes)) filter (where not coalesce(f.is_shared, false)), 0)::bigint
             as "remainingBytes"
      from (select distinct "simId", "poolId"
              from jsonb_to_recordset(${JSON.stringify(places)}::jsonb) as p("simId" bigint, "poolId" integer)) k
      left join ledger_figures f
        on f.tenant_id = ${tx.tenantId} and f.cycle_key = ${cycleKey} and f.sim_id = k."simId" and f.pool_id = k."poolId"
     group by k."poolId"`.execute(tx.q)
  return rows
}

async function addToPools(
  tx: TenantTx,
  cycleKey: string,
  sums: { readonly before: readonly Sums[]; readonly after: readonly Sums[] },
): Promise<void> {
  const set = (rows: readonly Sums[]) => sql`
    select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as s(
      "poolId" integer, bytes bigint, "voiceSeconds" bigint, "smsCount" bigint, contributing integer,
      "limitBytes" bigint, "excessBytes" bigint, "remainingBytes" bigint)`
  await restating(
    tx,
    sql`
      update pool_cycles p
         set bytes = p.bytes + a.bytes - b.bytes, voice_seconds = p.voice_seconds + a."voiceSeconds" - b."voiceSeconds",
             sms_count = p.sms_count + a."smsCount" - b."smsCount",
             contributing = p.contributing + a.contributing - b.contributing,
             limit_bytes = p.limit_bytes + a."limitBytes" - b."limitBytes",
             excess_bytes = p.excess_bytes + a."excessBytes" - b."excessBytes",
             remaining_bytes = p.remaining_bytes + a."remainingBytes" - b."remainingBytes",
             usage_version = p.usage_version + 1,
             summed_version = ${summedAfter(sql`a.contributing <> b.contributing`)}
        from (${set(sums.after)}) a
        join (${set(sums.before)}) b using ("poolId")
       where p.tenant_id = ${tx.tenantId} and p.cycle_key = ${cycleKey} and p.pool_id = a."poolId"`,
  ).execute(tx.q)
}

/**
 * A pool's `summed_version` after a change by which its sums were changed too. A Fixed pool with another number of
 * contributing SIMs has other shares for all of them, so its sums are no longer right.
 *
 * @param newShares condition: whether the number of contributing SIMs changes
 */
export const summedAfter = (newShares: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  case when p.summed_version = p.usage_version
            and not (${newShares} and exists (select from pools o join tariffs t on t.id = o.tariff_id
                                               where o.id = p.pool_id and t.type = ${TariffType['Fixed Pool']}))
       then p.usage_version + 1 else p.summed_version end`

/**
 * Adds up the ledger rows of those given pools whose sums are not right, and stores the sums. Reading figures then costs
 * one row a pool. Locks these pools.
 */
export async function sumPools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<void> {
  const { rows } = await sql<{ poolId: number }>`
    select pool_id as "poolId" from pool_cycles
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = any(${[...poolIds]}::integer[])
       and summed_version <> usage_version
     order by pool_id
       for update`.execute(tx.q)
  if (rows.length === 0) return
  // A statement of its own, so that it reads what the lock protects.
  await sql`
    update pool_cycles p
       set limit_bytes = case when f.is_shared then 0 else f.limit_bytes end, excess_bytes = f.excess_bytes,
           remaining_bytes = case when f.is_shared then 0 else f.remaining_bytes end, summed_version = p.usage_version
      from pool_figures f
     where f.tenant_id = p.tenant_id and f.cycle_key = p.cycle_key and f.pool_id = p.pool_id
       and p.tenant_id = ${tx.tenantId} and p.cycle_key = ${cycleKey}
       and p.pool_id = any(${rows.map(({ poolId }) => poolId)}::integer[])`.execute(tx.q)
}
