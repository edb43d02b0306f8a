/**
 * Limit, usage, remaining and overage of pools and SIMs in a cycle, each read in one statement and so of one moment.
 * Nothing is locked or written.
 */
import { type RawBuilder, sql } from 'kysely'
import { TariffType } from '../../../domain/codes.ts'
import type { Figures, RowFigures } from '../../../rules/fact-rows.ts'
import { kept } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** Of a subject without a ledger row. */
export const NO_FIGURES: Figures = {
  limitBytes: 0,
  usageBytes: 0,
  remainingBytes: 0,
  overageBytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
}
export type SimFigures = Figures
export type PoolFigures = Figures

/**
 * Ledger rows of a shared pool up to which a SIM's overage is exact. In larger pools it is rounded down, so the SIMs'
 * overage may add up to less than the pool's, by less than a byte a SIM.
 */
const EXACT_ROWS = 10_000

/** Figures of pools, by id. A pool's sums include SIMs that left it during the cycle. */
export async function poolFigures(
  tx: TenantTx,
  cycleKey: string,
  poolIds: readonly number[],
): Promise<Map<number, PoolFigures>> {
  const capacity = sql`case when t.type = ${TariffType['Fixed Pool']} then t.allowance_bytes else 0 end`
  // A pool without totals in this cycle still has its capacity. `limit 1` makes PostgreSQL look each pool up: without
  // statistics of a cycle it estimates one row, and would read them all.
  const { rows } = await sql<PoolFigures & { poolId: number }>`
    select ids.id as "poolId",
           coalesce(f.limit_bytes, ${capacity}) as "limitBytes", coalesce(f.bytes, 0) as "usageBytes",
           coalesce(f.remaining_bytes, ${capacity}) as "remainingBytes",
           coalesce(f.overage_bytes, 0) as "overageBytes", coalesce(f.voice_seconds, 0) as "voiceSeconds",
           coalesce(f.sms_count, 0) as "smsCount"
      from unnest(${[...poolIds]}::integer[]) as ids(id)
      left join pools p on p.id = ids.id
      left join tariffs t on t.id = p.tariff_id
      left join lateral (
        select * from pool_figures f
         where f.tenant_id = ${mine} and f.cycle_key = ${cycleKey} and f.pool_id = ids.id
         limit 1
      ) f on true`.execute(tx.q)
  return new Map(rows.map(({ poolId, ...figures }) => [poolId, figures]))
}

/**
 * Figures of SIMs, by id: sums over a SIM's ledger rows of the cycle. A SIM without rows is left out.
 *
 * @param exactRows ledger rows of a shared pool up to which the SIMs' overage adds up to the pool's
 */
export async function simFigures(
  tx: TenantTx,
  cycleKey: string,
  simIds: readonly number[],
  exactRows = EXACT_ROWS,
): Promise<Map<number, SimFigures>> {
  const rows = await rowFigures(tx, cycleKey, simIds, exactRows)
  return new Map([...rows].map(([simId, of]) => [simId, sumOf(of)]))
}

/** Adds up ledger rows. Sums beyond 2^53 − 1 are shown as that. */
export function sumOf(rows: readonly Figures[]): Figures {
  const total = (of: (row: Figures) => number) =>
    Math.min(
      Number.MAX_SAFE_INTEGER,
      rows.reduce((sum, row) => sum + of(row), 0),
    )
  return {
    limitBytes: total(({ limitBytes }) => limitBytes),
    usageBytes: total(({ usageBytes }) => usageBytes),
    remainingBytes: total(({ remainingBytes }) => remainingBytes),
    overageBytes: total(({ overageBytes }) => overageBytes),
    voiceSeconds: total(({ voiceSeconds }) => voiceSeconds),
    smsCount: total(({ smsCount }) => smsCount),
  }
}

/** The ledger row of a SIM in a pool: the watchdog judges the SIM by it. @param poolId null: outside pools */
export const rowIn = (rows: readonly RowFigures[], poolId: number | null): Figures =>
  rows.find((row) => row.poolId === (poolId ?? 0)) ?? NO_FIGURES

/** The ledger rows of SIMs, by SIM. A SIM without rows is left out. @param exactRows as in {@link simFigures} */
export async function rowFigures(
  tx: TenantTx,
  cycleKey: string,
  simIds: readonly number[],
  exactRows = EXACT_ROWS,
): Promise<Map<number, RowFigures[]>> {
  if (simIds.length === 0) return new Map()
  // PostgreSQL takes a list of unknown length for ten ids, and would plan anew for each single SIM.
  const [only] = simIds
  const among = simIds.length === 1 ? sql`sim_id = ${only}::bigint` : sql`sim_id = any(${[...simIds]}::bigint[])`
  return readRowFigures(tx, cycleKey, among, exactRows)
}

/** As {@link rowFigures}, for all SIMs of a range of ids: no list of thousands of ids is sent. */
export const rowFiguresBetween = (
  tx: TenantTx,
  cycleKey: string,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<Map<number, RowFigures[]>> =>
  readRowFigures(tx, cycleKey, sql`sim_id between ${first} and ${last}`, EXACT_ROWS)

async function readRowFigures(
  tx: TenantTx,
  cycleKey: string,
  among: RawBuilder<unknown>,
  exactRows: number,
): Promise<Map<number, RowFigures[]>> {
  const { rows } = await sql<RowFigures & { simId: number }>`${kept}
    with own as materialized (
      select f.sim_id, f.pool_id, f.bytes, f.limit_bytes, f.voice_seconds, f.sms_count,
             coalesce(f.is_shared, false) as is_shared, f.excess_bytes
        from (select sim_id, pool_id from usage_ledger
               where tenant_id = ${mine} and cycle_key = (select ${cycleKey}::text) and ${among}) l
       cross join lateral (
         select * from ledger_figures
          where tenant_id = ${mine} and cycle_key = ${cycleKey} and sim_id = l.sim_id and pool_id = l.pool_id limit 1) f
    ), overs as materialized (
      select p.pool_id, p.overage_bytes::numeric as overage, greatest(1, p.excess_bytes)::numeric as total
        from (select distinct pool_id from own where is_shared and excess_bytes > 0) ids
       cross join lateral (
         select f.pool_id, f.overage_bytes, f.excess_bytes from pool_figures f
          where f.tenant_id = ${mine} and f.cycle_key = ${cycleKey} and f.pool_id = ids.pool_id
          limit 1
       ) p
       where p.overage_bytes > 0
    ), places as materialized (
      -- Not called where no pool is over: its plan may read the cycle's ledger for nothing.
      select l.* from (select array_agg(pool_id) as ids from overs having count(*) > 0) o
       cross join lateral overage_places(${cycleKey}, o.ids, ${exactRows}) l
    )
    select m.sim_id as "simId", m.pool_id as "poolId", m.limit_bytes as "limitBytes",
           m.bytes as "usageBytes", greatest(0, m.limit_bytes - m.bytes) as "remainingBytes",
           m.voice_seconds as "voiceSeconds", m.sms_count as "smsCount",
           case when not m.is_shared then m.excess_bytes
                else (div(coalesce(o.overage, 0) * m.excess_bytes, coalesce(o.total, 1))
                      + case when (mod(o.overage * m.excess_bytes, o.total), -m.sim_id) >= (l.remainder, -l.sim_id)
                             then 1 else 0 end)::bigint end as "overageBytes"
      from own m
      left join overs o on m.is_shared and m.excess_bytes > 0 and o.pool_id = m.pool_id
      left join places l on l.pool_id = o.pool_id`.execute(tx.q)
  const bySim = new Map<number, RowFigures[]>()
  for (const { simId, ...figures } of rows) {
    const known = bySim.get(simId)
    if (known === undefined) bySim.set(simId, [figures])
    else known.push(figures)
  }
  return bySim
}
