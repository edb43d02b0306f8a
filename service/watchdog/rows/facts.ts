/** Reads the values behind the facts of subjects. The number of statements does not grow with the batch. */
import { type RawBuilder, sql } from 'kysely'
import { SimStatus, TicketStatus } from '../../../domain/codes.ts'
import { type Allowance, governingTariff } from '../../../domain/usage/allowance.ts'
import { SUBJECT_CODES } from '../../../domain/watchdog/subject.ts'
import type {
  Fees,
  OverageCharges,
  PoolFactRow,
  PoolOfSims,
  PoolScan,
  SimRow,
  SimWindowSums,
  TenantFactRow,
  TicketCounts,
  WindowSums,
  Windows,
} from '../../../rules/fact-rows.ts'
import type { Moment } from '../../../rules/facts-of.ts'
import { kept } from '../../../store/kept.ts'
import { byKey, mineAfter, pageLimit } from '../../../store/keyset-pages.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { settingsColumns } from '../../pools/rows/pools.ts'
import { simColumns } from '../../sims/rows/sims.ts'
import { figuresOfPool, ownFigures } from '../../usage/rows/figures.ts'
import { SIGHTING, SIM_IMEI } from '../../usage/rows/sightings.ts'

export const NO_USAGE: SimWindowSums = {
  shortBytes: 0,
  longBytes: 0,
  dayBytes: 0,
  todayBytes: 0,
  hourMessages: 0,
  dayMessages: 0,
  daySessions: 0,
  weekBytes: 0,
  averageBytes: 0,
  averageSince: null,
}

/**
 * Sums the usage of pools over windows, by id: from time buckets. A pool without usage is left out.
 *
 * @param since start of the longest window that is needed: sums over longer ones are not whole
 */
export async function poolWindowSums(
  tx: TenantTx,
  ids: readonly number[],
  windows: Windows,
  since: Date,
): Promise<Map<number, WindowSums>> {
  const { rows } = await sql<WindowSums & { id: number }>`
    select id, ${sumsOver(windows)}
      from (select subject_id as id, starts_at as at, bytes, sms_count from usage_buckets
             where tenant_id = ${mine} and subject_kind = ${SUBJECT_CODES.pool}
               and subject_id = any(${[...ids]}::bigint[])
               and starts_at >= ${since} and starts_at < ${windows.until}) u
     group by id`.execute(tx.q)
  return new Map(rows.map(({ id, ...sums }) => [id, sums]))
}

/**
 * Sums the usage of SIMs over windows, by id: from the records, because a SIM has few. The sums are those of time
 * buckets, because windows begin with one. A SIM without usage is left out.
 *
 * @param since as of `poolWindowSums`
 */
export async function simWindowSums(
  tx: TenantTx,
  ids: readonly number[],
  windows: Windows,
  since: Date,
): Promise<Map<number, SimWindowSums>> {
  const { week, average, day, until } = windows
  const { rows } = await sql<SimWindowSums & { id: number }>`
    select id, ${sumsOver(windows)},
           coalesce(sum(sessions) filter (where at >= ${day}), 0)::bigint as "daySessions",
           coalesce(sum(bytes) filter (where at >= ${week}), 0)::bigint as "weekBytes",
           coalesce(sum(bytes) filter (where at >= ${average} and at < ${day}), 0)::bigint as "averageBytes",
           min(at) filter (where at >= ${average} and at < ${day}) as "averageSince"
      from (select sim_id as id, at, bytes_up + bytes_down as bytes, sms_count, sessions from usage_records
             where sim_id = any(${[...ids]}::bigint[]) and at >= ${since} and at < ${until}) u
     group by id`.execute(tx.q)
  return new Map(rows.map(({ id, ...sums }) => [id, sums]))
}

const sumsOver = ({ short, long, day, today, hour }: Windows): RawBuilder<unknown> => sql`
  coalesce(sum(bytes) filter (where at >= ${short}), 0)::bigint as "shortBytes",
  coalesce(sum(bytes) filter (where at >= ${long}), 0)::bigint as "longBytes",
  coalesce(sum(bytes) filter (where at >= ${day}), 0)::bigint as "dayBytes",
  coalesce(sum(bytes) filter (where at >= ${today}), 0)::bigint as "todayBytes",
  coalesce(sum(sms_count) filter (where at >= ${hour}), 0)::bigint as "hourMessages",
  coalesce(sum(sms_count) filter (where at >= ${day}), 0)::bigint as "dayMessages"`

/** The first subjects of a range of ids. */
export interface Range {
  readonly fromId: number
  /** Not in it; null: no end. */
  readonly toId: number | null
  /** So many at most. */
  readonly most: number
}

/** Subjects by id, or those of a range. */
export type Among = { readonly ids: readonly number[] } | Range

/** Source of the pool and the own tariff of the SIM `s`: in an ended cycle its last seat there. */
function seatIn({ cycle, isEnded }: Pick<Moment, 'cycle' | 'isEnded'>) {
  if (!isEnded) return { seat: sql`s`, join: sql`` }
  const join = sql`
     cross join lateral (
       select nullif(pool_id, 0) as pool_id, tariff_id from memberships
        where sim_id = s.id and from_at < ${new Date(cycle.endsAt)}
          and coalesce(to_at, 'infinity') > ${new Date(cycle.startsAt)}
        order by from_at desc limit 1) m`
  return { seat: sql`m`, join }
}

/** Columns about the sighting `g` of the SIM `s`. */
export const SEEN = {
  imei: SIM_IMEI,
  deviceChanges: sql`coalesce(g.device_changes, 0)`,
  deviceChangedAt: sql`g.device_changed_at`,
  lastSeenAt: sql`g.last_seen_at`,
  country: sql`g.country`,
  mccMnc: sql`g.mcc_mnc`,
  rat: sql`g.rat`,
  countryChangedAt: sql`g.country_changed_at`,
} as const

/** Cause of the open suspension of the SIM `s`. Looked up for Suspended SIMs only. */
export const SUSPENSION = sql`
  case when s.status = ${sql.lit(SimStatus.Suspended)}
       then (select cause from suspensions u where u.sim_id = s.id and u.closed_at is null) end`

/**
 * Reads SIMs with these ids, in their order.
 *
 * @param moment in an ended cycle, SIMs are in their last pools there; those without one are left out
 */
export async function simRows(
  tx: TenantTx,
  moment: Pick<Moment, 'cycle' | 'isEnded'>,
  ids: readonly number[],
): Promise<SimRow[]> {
  const { seat, join } = seatIn(moment)
  const { rows } = await sql<Omit<SimRow, 'pool' | 'tariffType' | 'fees'> & { tariffId: number | null }>`${kept}
    select s.id as "simId", ${simColumns(seat)}, s.status_since as "statusSince", ${SEEN.imei} as imei,
           ${SEEN.deviceChanges} as "deviceChanges", ${SEEN.deviceChangedAt} as "deviceChangedAt",
           ${SEEN.lastSeenAt} as "lastSeenAt", ${SEEN.country} as country, ${SEEN.mccMnc} as "mccMnc", ${SEEN.rat} as rat,
           ${SEEN.countryChangedAt} as "countryChangedAt", ${SUSPENSION} as suspension
      from sims s ${SIGHTING}${join}
     where s.id = any(${[...ids]}::bigint[])
     order by s.id`.execute(tx.q)
  const present = (ids: readonly (number | null)[]) => [...new Set(ids)].filter((id) => id !== null)
  const pools = await poolsOfSims(tx, moment.cycle.key, present(rows.map(({ poolId }) => poolId)))
  const tariffs = await pricedTariffs(tx, present(rows.map(({ tariffId }) => tariffId)))
  return rows.map(({ tariffId, ...row }) => {
    const pool = pools.get(row.poolId ?? 0) ?? null
    const fees = governingTariff(tariffs.get(tariffId ?? 0) ?? null, pool?.tariff ?? null)
    return { ...row, pool, tariffType: fees?.type ?? null, fees }
  })
}

export interface PricedTariff extends Allowance, Fees {}

/** The columns of a tariff `t` that allowances and charges follow from, but for its type. */
const TERMS = sql`
  t.allowance_bytes as "allowanceBytes", t.sim_monthly_fee as "simMonthlyFee", t.sms_fee as "smsFee",
  t.voice_fee as "voiceFee", t.overage_fee_per_gb as "overageFeePerGb"`

/** A SIM's pool, with the data for the limits of its SIMs. */
export interface PoolOfLimits extends PoolOfSims {
  readonly tariff: PricedTariff | null
  /** SIMs that contribute to it in the cycle. */
  readonly contributing: number
  readonly overageBytes: number
}

export async function poolsOfSims(
  tx: TenantTx,
  cycleKey: string,
  ids: readonly number[],
): Promise<Map<number, PoolOfLimits>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<Omit<PoolOfLimits, 'tariff'> & Omit<PricedTariff, 'type'> & { id: number }>`${kept}
    select p.id, p.name, ${settingsColumns('p')}, t.type as "tariffType", ${TERMS}, f.contributing, f."usageBytes",
           f."limitBytes", f."overageBytes"
      from pools p
      left join tariffs t on t.id = p.tariff_id
     cross join lateral ${figuresOfPool(cycleKey, sql`p.id`)} f
     where p.id = any(${[...ids]}::integer[])`.execute(tx.q)
  return new Map(
    rows.map(({ id, allowanceBytes, simMonthlyFee, smsFee, voiceFee, overageFeePerGb, ...pool }) => {
      const terms = { allowanceBytes, simMonthlyFee, smsFee, voiceFee, overageFeePerGb }
      return [id, { ...pool, tariff: pool.tariffType === null ? null : { type: pool.tariffType, ...terms } }]
    }),
  )
}

/** Reads what allowances and charges follow from of tariffs, by id. */
export async function pricedTariffs(tx: TenantTx, ids: readonly number[]): Promise<Map<number, PricedTariff>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<PricedTariff & { id: number }>`${kept}
    select t.id, t.type, ${TERMS} from tariffs t where t.id = any(${[...ids]}::integer[])`.execute(tx.q)
  return new Map(rows.map(({ id, ...tariff }) => [id, tariff]))
}

/** Reads pools, by id, without deleted ones. */
export async function poolFactRows(tx: TenantTx, cycleKey: string, of: Among): Promise<PoolFactRow[]> {
  const which =
    'ids' in of
      ? sql`p.id = any(${[...of.ids]}::integer[]) order by p.id`
      : sql`${mineAfter('p.id', of.fromId - 1, of.toId === null ? undefined : of.toId - 1)}
            order by ${byKey('p.id')} limit ${pageLimit(of.most)}`
  const { rows } = await sql<PoolFactRow>`${kept}
    select p.id as "poolId", p.name as "poolName", p.type as "poolType", t.type as "tariffType",
           p.watchdog_mode as mode, p.warning_threshold_pct as "warningThresholdPct",
           coalesce(p.enable_burn_rate_alerts, false) as "enableBurnRateAlerts",
           p.active_sim_count as "activeSimCount", p.total_sim_count as "totalSimCount",
           f."usageBytes", f."limitBytes", f."remainingBytes", f."overageBytes"
      from pools p
      join tariffs t on t.id = p.tariff_id
     cross join lateral ${figuresOfPool(cycleKey, sql`p.id`)} f
     where p.deleted_at is null and ${which}`.execute(tx.q)
  return rows
}

export const NO_SIMS: PoolScan = { overSimCount: 0, silentSimCount: 0, topSimBytes: 0, lastSeenAt: null }

/**
 * Reads the SIMs of pools, by pool.
 *
 * @param silentBefore a SIM is silent if it has been Active, and has not been seen, since before this instant
 */
export async function scanPools(
  tx: TenantTx,
  cycleKey: string,
  ids: readonly number[],
  silentBefore: Date,
): Promise<Map<number, PoolScan>> {
  const { rows } = await sql<PoolScan & { id: number }>`${kept}
    with ${ownFigures(sql`
      select * from usage_ledger
       where tenant_id = ${mine} and cycle_key = (select ${cycleKey}::text) and pool_id = any(${[...ids]}::integer[])`)},
    used as (
      select pool_id, count(*) filter (where excess_bytes > 0)::integer as over_sims, max(bytes) as top_bytes
        from own group by pool_id
    ),
    seen as (
      select s.pool_id, max(g.last_seen_at) as last_seen_at,
             count(*) filter (where s.status = ${SimStatus.Active} and s.status_since < ${silentBefore}
                                and (g.last_seen_at is null or g.last_seen_at < ${silentBefore}))::integer as silent_sims
        from sims s ${SIGHTING}
       where s.pool_id = any(${[...ids]}::integer[]) group by s.pool_id
    )
    select p.id, coalesce(u.over_sims, 0) as "overSimCount", coalesce(seen.silent_sims, 0) as "silentSimCount",
           coalesce(u.top_bytes, 0) as "topSimBytes", seen.last_seen_at as "lastSeenAt"
      from unnest(${[...ids]}::integer[]) as p(id)
      left join used u on u.pool_id = p.id
      left join seen on seen.pool_id = p.id`.execute(tx.q)
  return new Map(rows.map(({ id, ...scan }) => [id, scan]))
}

export const NO_TICKET_COUNTS: TicketCounts = { doneTickets: 0, failedTickets: 0 }

/** Counts tickets done or failed since an instant. Cancelled ones do not count: a person ended them. */
export async function ticketCounts(tx: TenantTx, since: Date): Promise<TicketCounts> {
  const { rows } = await sql<TicketCounts>`
    select count(*) filter (where status = ${TicketStatus.Complete})::integer as "doneTickets",
           count(*) filter (where status = ${TicketStatus.Failed})::integer as "failedTickets"
      from tickets
     where tenant_id = ${mine} and finished_at >= ${since}
       and status in (${TicketStatus.Complete}, ${TicketStatus.Failed})`.execute(tx.q)
  return rows[0] ?? NO_TICKET_COUNTS
}

export const NO_CHARGES: OverageCharges = { feeMicro: 0, overageMicro: 0, forecastMicro: 0 }

/**
 * Adds up the charges of the tenant's pools. SIMs outside pools are left out. A statement charges by the SIM and rounds
 * each, so this is an estimate.
 *
 * @param share part of the cycle with known usage, above 0 and at most 1
 */
export async function overageCharges(tx: TenantTx, cycleKey: string, share: number): Promise<OverageCharges> {
  const { rows } = await sql<OverageCharges>`${kept}
    select coalesce(sum(f.contributing::bigint * t.sim_monthly_fee + t.fixed_bucket_cost), 0)::bigint as "feeMicro",
           coalesce(sum(f.overage_bytes::numeric * t.overage_fee_per_gb) / 1000000000, 0)::bigint as "overageMicro",
           coalesce(sum(case when f.is_shared then greatest(0, f.bytes / ${share}::numeric - f.limit_bytes)
                             else f.overage_bytes / ${share}::numeric end * t.overage_fee_per_gb) / 1000000000, 0)::bigint
             as "forecastMicro"
      from pool_figures f
      join pools p on p.tenant_id = f.tenant_id and p.id = f.pool_id
      join tariffs t on t.id = p.tariff_id
     where f.tenant_id = ${mine} and f.cycle_key = ${cycleKey}`.execute(tx.q)
  return rows[0] ?? NO_CHARGES
}

export async function tenantFactRow(tx: TenantTx, cycleKey: string): Promise<TenantFactRow | undefined> {
  const { rows } = await sql<TenantFactRow>`${kept}
    with by_status as (
      select coalesce(sum(sims), 0)::integer as all_sims,
             coalesce(sum(sims) filter (where status = ${SimStatus.Unprovisioned}), 0)::integer as unprovisioned,
             coalesce(sum(sims) filter (where status = ${SimStatus.Active}), 0)::integer as active,
             coalesce(sum(sims) filter (where status = ${SimStatus.Suspended}), 0)::integer as suspended
        from sim_blocks where tenant_id = ${mine}
    ), totals as (
      select coalesce(sum(bytes), 0)::bigint as bytes, coalesce(sum(overage_bytes), 0)::bigint as overage_bytes,
             count(*) filter (where overage_bytes > 0 and pool_id <> 0)::integer as over_pools
        from pool_figures where tenant_id = ${mine} and cycle_key = ${cycleKey}
    )
    select n.name, s.all_sims as "simCount", s.active as "activeSimCount", s.suspended as "suspendedSimCount",
           s.unprovisioned as "unprovisionedSimCount",
           (select count(*) from pools where tenant_id = ${mine} and deleted_at is null)::integer as "poolCount",
           c.over_pools as "overPoolCount", c.bytes as "usageBytes", c.overage_bytes as "overageBytes"
      from tenants n, by_status s, totals c
     where n.id = ${tx.tenantId}`.execute(tx.q)
  return rows[0]
}
