/**
 * Counts the subjects of a tenant by the properties that rules match, and by their settings. Takes one statement for
 * each kind: rows of an estate stay in PostgreSQL, and only the classes are read.
 */
import { type RawBuilder, sql } from 'kysely'
import { SimStatus, type TariffType, type WatchdogMode } from '../../../domain/codes.ts'
import type { PoolWatchdogSettings, WatchdogSettings } from '../../../domain/watchdog/settings.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { settingsColumns } from '../../pools/rows/pools.ts'

interface Counted {
  readonly count: number
  /** The pool of one subject of the class. The subjects of a class fit the same patterns. Null outside pools. */
  readonly poolName: string | null
  /** Ids of the first of the class. */
  readonly ids: readonly number[]
}
export interface SimClass extends Counted, WatchdogSettings {
  readonly isProvisioned: boolean
  readonly exempt: boolean
  /** Type of the own tariff. */
  readonly ownType: TariffType | null
  /** Null outside pools. */
  readonly pool: PoolWatchdogSettings | null
  /** Of one of the class. */
  readonly tag: string
}
export interface PoolClass extends Counted {
  readonly poolName: string
  readonly mode: WatchdogMode
  readonly tariffType: TariffType
  readonly warningThresholdPct: number | null
  readonly enableBurnRateAlerts: boolean
}

/** Patterns of rules; `*` stands for any characters. */
export interface Patterns {
  readonly pool: readonly string[]
  readonly tag: readonly string[]
}

/** The pattern in the syntax of LIKE. */
const likeOf = (pattern: string): string => pattern.replaceAll(/[\\%_]/g, '\\$&').replaceAll('*', '%')

/** Which of the patterns a text fits, as one value. */
const fitting = (text: RawBuilder<unknown>, patterns: readonly string[]): RawBuilder<unknown> =>
  sql`array[${sql.join(patterns.map((pattern) => sql`${text} like ${likeOf(pattern)}`))}]::boolean[]`

/** @param most ids of a class */
export async function simClasses(tx: TenantTx, patterns: Patterns, most: number): Promise<SimClass[]> {
  const settings = sql`
    "isProvisioned", exempt, "watchdogMode", "warningThresholdPct", "enableBurnRateAlerts", "ownType", pool`
  const key = sql`${settings}, fits_pool, fits_tag`
  const { rows } = await sql<SimClass>`
    with pool as (
      select p.id, p.name, to_jsonb(settings) as settings, ${fitting(sql`p.name`, patterns.pool)} as fits
        from pools p
        left join tariffs t on t.id = p.tariff_id
       cross join lateral (select ${settingsColumns('p')}, t.type as "tariffType") settings
       where p.tenant_id = ${mine}
    ), sim as (
      select s.id, s.tag, p.name, s.status <> ${SimStatus.Unprovisioned} as "isProvisioned",
             s.is_watchdog_exempt as exempt, ${settingsColumns('s')}, o.type as "ownType",
             p.settings as pool, p.fits as fits_pool, ${fitting(sql`s.tag`, patterns.tag)} as fits_tag
        from sims s
        left join pool p on p.id = s.pool_id
        left join tariffs o on o.id = s.tariff_id
       where s.tenant_id = ${mine}
    ), numbered as (
      select *, row_number() over (partition by ${key} order by id) as n from sim
    )
    select ${settings}, min(tag) as tag, min(name) as "poolName", count(*)::integer as count,
           json_agg(id order by id) filter (where n <= ${most}) as ids
      from numbered group by ${key}`.execute(tx.q)
  return rows
}

/** The classes of pools, without deleted ones. @param most ids of a class */
export async function poolClasses(tx: TenantTx, patterns: Patterns, most: number): Promise<PoolClass[]> {
  const key = sql`mode, "tariffType", "warningThresholdPct", "enableBurnRateAlerts"`
  const { rows } = await sql<PoolClass>`
    with pool as (
      select p.id, p.name, p.watchdog_mode as mode, t.type as "tariffType",
             p.warning_threshold_pct as "warningThresholdPct",
             coalesce(p.enable_burn_rate_alerts, false) as "enableBurnRateAlerts",
             ${fitting(sql`p.name`, patterns.pool)} as fits
        from pools p join tariffs t on t.id = p.tariff_id
       where p.tenant_id = ${mine} and p.deleted_at is null
    ), numbered as (
      select *, row_number() over (partition by ${key}, fits order by id) as n from pool
    )
    select ${key}, min(name) as "poolName", count(*)::integer as count,
           json_agg(id order by id) filter (where n <= ${most}) as ids
      from numbered group by ${key}, fits`.execute(tx.q)
  return rows
}
