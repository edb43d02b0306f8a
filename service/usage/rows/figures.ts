/**
 * Limit, usage, remaining and overage of pools and SIMs in a cycle, each read in one statement and so of one moment.
 * Nothing is locked or written.
 */
import { type RawBuilder, sql } from 'kysely'
import { TariffType } from '../../../domain/codes.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { type Allowance, capacityOf, governingTariff, shareBytes } from '../../../domain/usage/allowance.ts'
import type { FactFigures, Figures } from '../../../rules/fact-rows.ts'
import { anyOf, kept, listOf } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { readAllowances, type Seat, seatCounts, seatsOf } from './contributors.ts'
import { excessOf, isOfKind, rowTerms } from './pool-totals.ts'

/** Of a subject without a ledger row. */
export const NO_FIGURES: Figures = {
  limitBytes: 0,
  usageBytes: 0,
  remainingBytes: 0,
  overageBytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
}

/**
 * Ledger rows of a shared pool up to which a SIM's overage is exact. In larger pools it is rounded down, so the SIMs'
 * overage may add up to less than the pool's, by less than a byte a SIM.
 */
export const EXACT_ROWS = 10_000

/** Figures of pools, by id. A pool's sums include SIMs that left it during the cycle. */
export async function readPoolFigures(
  tx: TenantTx,
  cycleKey: string,
  poolIds: readonly number[],
): Promise<Map<number, Figures>> {
  const { rows } = await sql<Figures & { poolId: number }>`${kept}
    select ids.id as "poolId", f."limitBytes", f."usageBytes", f."remainingBytes", f."overageBytes", f."voiceSeconds",
           f."smsCount"
      from unnest(${[...poolIds]}::integer[]) as ids(id)
      left join pools p on p.id = ids.id
      left join tariffs t on t.id = p.tariff_id
     cross join lateral ${figuresOfPool(cycleKey, sql`ids.id`)} f`.execute(tx.q)
  return new Map(rows.map(({ poolId, ...figures }) => [poolId, figures]))
}

/** Capacity of a pool with the tariff `t` before any SIM contributes: a Fixed one has all of it. */
export const EMPTY_CAPACITY = sql`case when t.type = ${TariffType['Fixed Pool']} then t.allowance_bytes else 0 end`

/**
 * The row of `pool_figures` of a pool with the tariff `t`, for a lateral join; of a pool without totals in the cycle,
 * its empty capacity. `limit 1` makes PostgreSQL look each pool up: without statistics of a cycle it estimates one row,
 * and would read them all.
 */
export const figuresOfPool = (
  cycleKey: RawBuilder<unknown> | string,
  poolId: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`(
  select coalesce(f.contributing, 0) as contributing, coalesce(f.limit_bytes, u.bytes) as "limitBytes",
         coalesce(f.bytes, 0) as "usageBytes", coalesce(f.remaining_bytes, u.bytes) as "remainingBytes",
         coalesce(f.overage_bytes, 0) as "overageBytes", coalesce(f.voice_seconds, 0) as "voiceSeconds",
         coalesce(f.sms_count, 0) as "smsCount"
    from (select ${EMPTY_CAPACITY} as bytes) u
    left join lateral (
      select * from pool_figures
       where tenant_id = ${mine} and cycle_key = ${cycleKey} and pool_id = ${poolId}
       limit 1) f on true)`

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
): Promise<Map<number, Figures>> {
  const { rows } = await sql<Figures & { simId: number }>`${kept}
    with s as materialized (select id from unnest(${listOf(simIds)}) as ids(id)),
         ${figuresOfSims(sql`(select ${cycleKey}::text)`, sql`s`, exactRows)}
    select sim_id as "simId", ${sql.join(FIGURES.map((figure) => sql.ref(figure)))} from figures`.execute(tx.q)
  return new Map(rows.map(({ simId, ...figures }) => [simId, figures]))
}

export const FIGURES = [
  'limitBytes',
  'usageBytes',
  'remainingBytes',
  'overageBytes',
  'voiceSeconds',
  'smsCount',
] as const

/** Adds up ledger rows. Sums beyond 2^53 − 1 are shown as that. */
export function sumOf(rows: readonly Figures[]): Figures {
  const sums: Record<keyof Figures, number> = { ...NO_FIGURES }
  for (const row of rows) {
    for (const figure of FIGURES) sums[figure] = Math.min(Number.MAX_SAFE_INTEGER, sums[figure] + row[figure])
  }
  return sums
}

/** The ledger row of a SIM in a pool: the watchdog judges the SIM by it. @param poolId null: outside pools */
export const rowIn = (rows: readonly FactFigures[], poolId: number | null): Figures =>
  rows.find((row) => row.poolId === (poolId ?? 0)) ?? NO_FIGURES

/** Overage of the row `f` of `ledger_figures`. If its pool is shared and over, `o` is its row of `overage_places`. */
export const OVERAGE_BYTES = sql`
  case when not f.is_shared then f.excess_bytes
       else coalesce(div(o.overage * f.excess_bytes, o.excess)
                     + case when (mod(o.overage * f.excess_bytes, o.excess), -f.sim_id) >= (o.remainder, -o.sim_id)
                            then 1 else 0 end, 0)::bigint end`

/**
 * Common table expressions: `own`, rows of the ledger with the figures of `ledger_figures`. A row's limit is that of its
 * kind, so the view is read once a kind. A full join is never a nested loop, also without statistics.
 *
 * @param ledger a select of rows of `usage_ledger` of one cycle, all columns
 */
export const ownFigures = (ledger: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  ledger as materialized (${ledger}), terms as materialized (${rowTerms(sql`ledger`)}), own as materialized (
    select l.sim_id, l.pool_id, l.bytes, l.voice_seconds, l.sms_count, l.sessions, l.contributing, t.limit_bytes,
           t.is_shared, ${excessOf(sql`l.bytes`)} as excess_bytes, greatest(0, t.limit_bytes - l.bytes) as remaining_bytes
      from ledger l
      full join terms t on ${isOfKind('l')}
  )`

/** The same, and `places`: the rows of `overage_places` of their pools. */
export const ownAndPlaces = (
  cycleKey: RawBuilder<unknown>,
  ledger: RawBuilder<unknown>,
  exactRows: number,
): RawBuilder<unknown> => sql`
  ${ownFigures(ledger)}, places as materialized (
    select o.*
      from (select ${cycleKey} as cycle_key, array_agg(distinct pool_id) as ids
              from own where is_shared and excess_bytes > 0) used
     cross join lateral overage_places(used.cycle_key, used.ids, ${exactRows}) o
  )`

/** The rows of `own`, each with its row of `places`. */
export const PLACED = sql`own f left join places o on f.is_shared and f.excess_bytes > 0 and o.pool_id = f.pool_id`

/** The ledger rows of SIMs, by SIM. A SIM without rows is left out. */
export async function rowFigures(
  tx: TenantTx,
  cycleKey: string,
  simIds: readonly number[],
): Promise<Map<number, FactFigures[]>> {
  if (simIds.length === 0) return new Map()
  const ofCycle = sql`(select ${cycleKey}::text)`
  const ledger = sql`
    select * from usage_ledger where tenant_id = ${mine} and cycle_key = ${ofCycle} and sim_id = ${anyOf(simIds)}`
  const { rows } = await sql<FactFigures & { simId: number }>`${kept}
    with ${ownAndPlaces(ofCycle, ledger, EXACT_ROWS)}
    select f.sim_id as "simId", f.pool_id as "poolId", f.limit_bytes as "limitBytes", f.bytes as "usageBytes",
           f.remaining_bytes as "remainingBytes", f.voice_seconds as "voiceSeconds", f.sms_count as "smsCount",
           f.sessions, f.contributing, ${OVERAGE_BYTES} as "overageBytes"
      from ${PLACED}`.execute(tx.q)
  const bySim = new Map<number, FactFigures[]>()
  for (const { simId, ...figures } of rows) {
    const known = bySim.get(simId)
    if (known === undefined) bySim.set(simId, [figures])
    else known.push(figures)
  }
  return bySim
}

/** The sum of a column. As in {@link sumOf}, one beyond 2^53 − 1 is shown as that. */
const total = (column: RawBuilder<unknown>) => sql`least(sum(${column}), ${sql.lit(Number.MAX_SAFE_INTEGER)})::bigint`

/**
 * Common table expressions that end in `figures`: as {@link simFigures}, in a statement with more of the same SIMs. One row
 * for each SIM with a ledger row.
 *
 * @param sims a relation with their ids: at most a page
 * @param exactRows as in {@link simFigures}
 */
export function figuresOfSims(
  cycleKey: RawBuilder<unknown>,
  sims: RawBuilder<unknown>,
  exactRows = EXACT_ROWS,
): RawBuilder<unknown> {
  // `offset 0` makes PostgreSQL look each SIM up: without statistics of a cycle it estimates one row, and would read all.
  const ledger = sql`
    select l.* from ${sims} a
     cross join lateral (
       select * from usage_ledger
        where tenant_id = ${mine} and cycle_key = ${cycleKey} and sim_id = a.id offset 0) l`
  return sql`
    ${ownAndPlaces(cycleKey, ledger, exactRows)}, figures as materialized (
      select f.sim_id, ${total(sql`f.limit_bytes`)} as "limitBytes", ${total(sql`f.bytes`)} as "usageBytes",
             ${total(sql`f.remaining_bytes`)} as "remainingBytes", ${total(OVERAGE_BYTES)} as "overageBytes",
             ${total(sql`f.voice_seconds`)} as "voiceSeconds", ${total(sql`f.sms_count`)} as "smsCount"
        from ${PLACED} group by f.sim_id)`
}

// Figures in a cycle not opened yet: no usage, and the limits that opening it now would give. The worker opens cycles,
// so this lasts a moment.

const unused = (limitBytes: number) => ({ ...NO_FIGURES, limitBytes, remainingBytes: limitBytes })

/** As {@link readPoolFigures}. Counts the SIMs of these pools. */
export async function unopenedPoolFigures(
  tx: TenantTx,
  cycle: Cycle,
  poolIds: readonly number[],
): Promise<Map<number, Figures>> {
  const { tariffs, poolTariffs, counts } = await readSeats(tx, cycle, poolIds)
  return new Map(poolIds.map((id) => [id, unused(capacityOf(poolTariffs.get(id) ?? null, counts.get(id), tariffs))]))
}

/** As {@link simFigures}. Counts the SIMs of their pools. */
export async function unopenedSimFigures(
  tx: TenantTx,
  cycle: Cycle,
  simIds: readonly number[],
): Promise<Map<number, Figures>> {
  const seats = await seatsOf(tx, cycle, false, simIds)
  const poolIds = new Set([...seats.values()].flat().map(({ poolId }) => poolId))
  const { tariffs, poolTariffs, counts } = await readSeats(tx, cycle, [...poolIds])
  const limitOf = (poolId: number, tariffId: number | null) => {
    const governing = governingTariff(tariffs.get(tariffId ?? 0) ?? null, poolTariffs.get(poolId) ?? null)
    const contributing = [...(counts.get(poolId)?.values() ?? [])].reduce((sum, sims) => sum + sims, 0)
    return shareBytes(governing, contributing)
  }
  const limits = (own: readonly Seat[]) => own.reduce((sum, { poolId, tariffId }) => sum + limitOf(poolId, tariffId), 0)
  return new Map([...seats].map(([simId, own]) => [simId, unused(limits(own))]))
}

async function readSeats(tx: TenantTx, cycle: Cycle, poolIds: readonly number[]) {
  const tariffs = await readAllowances(tx)
  const { rows } = await sql<{ id: number; tariffId: number }>`
    select id, tariff_id as "tariffId" from pools where id = any(${[...poolIds]}::integer[])`.execute(tx.q)
  const poolTariffs = new Map<number, Allowance | undefined>(
    rows.map(({ id, tariffId }) => [id, tariffs.get(tariffId)]),
  )
  return { tariffs, poolTariffs, counts: await seatCounts(tx, cycle, false, poolIds) }
}
