/** Reads the values behind the facts of subjects. The number of statements does not grow with the batch. */
import { sql } from 'kysely'
import type { PoolType, SimStatus, SimType, TariffType, WatchdogMode } from '../../domain/codes.ts'
import type { PoolWatchdogSettings, WatchdogSettings } from '../../domain/watchdog/settings.ts'
import type { TenantTx } from '../tenancy.ts'

/** Starts of the windows over which usage is counted, each at the start of a bucket. */
export interface Windows {
  readonly short: Date
  readonly long: Date
  readonly day: Date
  readonly week: Date
}

export interface SimRow {
  readonly simId: number
  readonly iccid: string
  readonly tag: string
  readonly type: SimType
  readonly status: SimStatus
  readonly statusSince: Date
  readonly poolId: number | null
  readonly poolName: string | null
  readonly tariffType: TariffType | null
  readonly exempt: boolean
  readonly own: WatchdogSettings
  /** Null outside pools. */
  readonly pool: PoolWatchdogSettings | null
  readonly imei: string
  readonly previousImei: string
  readonly lastSeenAt: Date | null
  readonly poolUsageBytes: number | null
  readonly poolLimitBytes: number | null
  readonly shortBytes: number
  readonly longBytes: number
  readonly dayBytes: number
  readonly weekBytes: number
}

/** Sums the bytes of a batch's subjects over the windows. */
const windowSums = (tx: TenantTx, kind: number, ids: readonly number[], windows: Windows) => sql`
  select subject_id, sum(bytes) filter (where starts_at >= ${windows.short})::bigint as short_bytes,
         sum(bytes) filter (where starts_at >= ${windows.long})::bigint as long_bytes,
         sum(bytes) filter (where starts_at >= ${windows.day})::bigint as day_bytes,
         sum(bytes) filter (where starts_at >= ${windows.week})::bigint as week_bytes
    from usage_buckets
   where tenant_id = ${tx.tenantId} and subject_kind = ${kind} and subject_id = any(${[...ids]}::bigint[])
     and starts_at >= least(${windows.week}::timestamptz, ${windows.long}::timestamptz)
   group by subject_id`

/** Reads the provisioned SIMs of a batch. Unprovisioned ones are left out: there is nothing to watch. */
export async function simRows(
  tx: TenantTx,
  cycleKey: string,
  ids: readonly number[],
  windows: Windows,
): Promise<SimRow[]> {
  const { rows } = await sql<SimRow>`
    with windows as (${windowSums(tx, 1, ids, windows)})
    select s.id as "simId", s.iccid, s.tag, s.type, s.status, s.status_since as "statusSince", s.pool_id as "poolId",
           p.name as "poolName", coalesce(case when pt.type <> 0 then pt.type end,
                                          case when own.type = 0 then own.type end, pt.type, own.type) as "tariffType",
           s.is_watchdog_exempt as exempt,
           jsonb_build_object('watchdogMode', s.watchdog_mode, 'warningThresholdPct', s.warning_threshold_pct,
                              'enableBurnRateAlerts', s.enable_burn_rate_alerts) as own,
           case when p.id is not null then jsonb_build_object(
             'watchdogMode', p.watchdog_mode, 'warningThresholdPct', p.warning_threshold_pct,
             'enableBurnRateAlerts', p.enable_burn_rate_alerts, 'tariffType', pt.type) end as pool,
           g.imei, g.previous_imei as "previousImei", g.last_seen_at as "lastSeenAt",
           pc.bytes as "poolUsageBytes", pc.limit_bytes as "poolLimitBytes",
           coalesce(w.short_bytes, 0) as "shortBytes", coalesce(w.long_bytes, 0) as "longBytes",
           coalesce(w.day_bytes, 0) as "dayBytes", coalesce(w.week_bytes, 0) as "weekBytes"
      from sims s
      join sim_seen g on g.tenant_id = s.tenant_id and g.sim_id = s.id
      left join pools p on p.id = s.pool_id
      left join tariffs pt on pt.id = p.tariff_id
      left join tariffs own on own.id = s.tariff_id
      left join windows w on w.subject_id = s.id
      left join pool_figures pc
        on pc.tenant_id = s.tenant_id and pc.cycle_key = ${cycleKey} and pc.pool_id = s.pool_id
     where s.id = any(${[...ids]}::bigint[]) and s.status <> 0`.execute(tx.q)
  return rows
}

export interface PoolFactRow {
  readonly poolId: number
  readonly poolName: string
  readonly poolType: PoolType
  readonly tariffType: TariffType
  readonly mode: WatchdogMode
  readonly warningThresholdPct: number | null
  readonly enableBurnRateAlerts: boolean
  readonly activeSimCount: number
  readonly totalSimCount: number
  readonly usageBytes: number
  readonly limitBytes: number
  readonly remainingBytes: number
  readonly overageBytes: number
  readonly overSimCount: number
  readonly silentSimCount: number
  readonly topSimBytes: number
  readonly lastSeenAt: Date | null
  readonly shortBytes: number
  readonly longBytes: number
  readonly dayBytes: number
}

/**
 * Reads the pools of a batch, without deleted ones.
 *
 * @param silentBefore a SIM is silent if it has been Active, and has not been seen, since before this instant
 */
export async function poolFactRows(
  tx: TenantTx,
  cycleKey: string,
  ids: readonly number[],
  windows: Windows,
  silentBefore: Date,
): Promise<PoolFactRow[]> {
  const { rows } = await sql<PoolFactRow>`
    with windows as (${windowSums(tx, 2, ids, windows)}),
    used as (
      select pool_id, count(*) filter (where bytes > limit_bytes)::integer as over_sims, max(bytes) as top_bytes
        from ledger_figures
       where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = any(${[...ids]}::integer[])
       group by pool_id
    ),
    seen as (
      select s.pool_id, max(g.last_seen_at) as last_seen_at,
             count(*) filter (where s.status = 1 and s.status_since < ${silentBefore}
                                and (g.last_seen_at is null or g.last_seen_at < ${silentBefore}))::integer as silent_sims
        from sims s join sim_seen g on g.tenant_id = s.tenant_id and g.sim_id = s.id
       where s.pool_id = any(${[...ids]}::integer[]) group by s.pool_id
    )
    select p.id as "poolId", p.name as "poolName", p.type as "poolType", t.type as "tariffType",
           p.watchdog_mode as mode, p.warning_threshold_pct as "warningThresholdPct",
           coalesce(p.enable_burn_rate_alerts, false) as "enableBurnRateAlerts",
           p.active_sim_count as "activeSimCount", p.total_sim_count as "totalSimCount",
           coalesce(pc.bytes, 0) as "usageBytes", coalesce(pc.limit_bytes, 0) as "limitBytes",
           coalesce(pc.remaining_bytes, 0) as "remainingBytes", coalesce(pc.overage_bytes, 0) as "overageBytes",
           coalesce(u.over_sims, 0) as "overSimCount", coalesce(seen.silent_sims, 0) as "silentSimCount",
           coalesce(u.top_bytes, 0) as "topSimBytes", seen.last_seen_at as "lastSeenAt",
           coalesce(w.short_bytes, 0) as "shortBytes", coalesce(w.long_bytes, 0) as "longBytes",
           coalesce(w.day_bytes, 0) as "dayBytes"
      from pools p
      join tariffs t on t.id = p.tariff_id
      left join pool_figures pc on pc.tenant_id = p.tenant_id and pc.cycle_key = ${cycleKey} and pc.pool_id = p.id
      left join used u on u.pool_id = p.id
      left join windows w on w.subject_id = p.id
      left join seen on seen.pool_id = p.id
     where p.id = any(${[...ids]}::integer[]) and p.deleted_at is null`.execute(tx.q)
  return rows
}

export interface TenantFactRow {
  readonly name: string
  readonly simCount: number
  readonly activeSimCount: number
  readonly suspendedSimCount: number
  readonly unprovisionedSimCount: number
  readonly poolCount: number
  readonly overPoolCount: number
  readonly usageBytes: number
  readonly overageBytes: number
  /** Start of the newest bucket with usage. */
  readonly newestUsageAt: Date | null
}

/** Reads the values behind the tenant's facts. */
export async function tenantFactRow(tx: TenantTx, cycleKey: string): Promise<TenantFactRow | undefined> {
  const { rows } = await sql<TenantFactRow>`
    with by_status as (
      select count(*)::integer as all_sims, count(*) filter (where status = 0)::integer as unprovisioned,
             count(*) filter (where status = 1)::integer as active,
             count(*) filter (where status = 2)::integer as suspended
        from sims where tenant_id = ${tx.tenantId}
    ), totals as (
      select coalesce(sum(bytes), 0)::bigint as bytes, coalesce(sum(overage_bytes), 0)::bigint as overage_bytes,
             count(*) filter (where overage_bytes > 0 and pool_id <> 0)::integer as over_pools
        from pool_figures where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey}
    )
    select n.name, s.all_sims as "simCount", s.active as "activeSimCount", s.suspended as "suspendedSimCount",
           s.unprovisioned as "unprovisionedSimCount",
           (select count(*) from pools where tenant_id = ${tx.tenantId} and deleted_at is null)::integer as "poolCount",
           c.over_pools as "overPoolCount", c.bytes as "usageBytes", c.overage_bytes as "overageBytes",
           (select max(starts_at) from usage_buckets
             where tenant_id = ${tx.tenantId} and subject_kind = 3 and subject_id = 0) as "newestUsageAt"
      from tenants n, by_status s, totals c
     where n.id = ${tx.tenantId}`.execute(tx.q)
  return rows[0]
}
