/**
 * Counts the subjects of a tenant by the properties that rules match, and by their settings, in one statement: rows of
 * an estate stay in PostgreSQL, and only the classes are read.
 */
import { type RawBuilder, sql } from 'kysely'
import type { SimStatus, TariffType } from '../../../domain/codes.ts'
import type { PoolWatchdogSettings, WatchdogSettings } from '../../../domain/watchdog/settings.ts'
import type { SubjectKind } from '../../../domain/watchdog/subject.ts'
import { likeOf } from '../../../store/like.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { settingsColumns } from '../../pools/rows/pools.ts'

/** Subjects with the same properties, and with names and tags that fit the same patterns. Settings are their own. */
export interface CountedClass extends WatchdogSettings {
  readonly kind: SubjectKind
  readonly count: number
  /** The first by id; 0 for the tenant. */
  readonly ids: readonly number[]
  /** Of a SIM; null for others. */
  readonly status: SimStatus | null
  readonly exempt: boolean
  /** Type of the own tariff; null: none. */
  readonly ownType: TariffType | null
  /** Of a SIM's pool; null outside pools. */
  readonly pool: PoolWatchdogSettings | null
  /** Name of the pool, and tag, of one of them; null: none. */
  readonly poolName: string | null
  readonly tag: string | null
}

/** Patterns of rules; `*` stands for any characters. */
export interface Patterns {
  readonly pool: readonly string[]
  readonly tag: readonly string[]
  /** Those that rules add up SIMs by. */
  readonly together: readonly string[]
}

/** Which of the patterns a text fits, as one value. */
const fitting = (text: RawBuilder<unknown>, patterns: readonly string[]): RawBuilder<unknown> =>
  sql`array[${sql.join(patterns.map((pattern) => sql`${text} like ${likeOf(pattern)}`))}]::boolean[]`

/** The classes of SIMs and pools, without deleted pools, that of the tenant, and one of each tag. @param most ids of a class */
export async function subjectClasses(tx: TenantTx, patterns: Patterns, most: number): Promise<CountedClass[]> {
  const key = sql`
    kind, status, exempt, "watchdogMode", "warningThresholdPct", "enableBurnRateAlerts", "ownType", pool`
  const { rows } = await sql<CountedClass>`
    with pool as (
      select p.id, p.name, p.deleted_at, settings.*, to_jsonb(settings) as settings,
             ${fitting(sql`p.name`, patterns.pool)} as fits_pool
        from pools p
        left join tariffs t on t.id = p.tariff_id
       cross join lateral (select ${settingsColumns('p')}, t.type as "tariffType") settings
       where p.tenant_id = ${mine}
    ), subject as (
      select 'sim' as kind, s.id, s.status, s.is_watchdog_exempt as exempt, ${settingsColumns('s')},
             o.type as "ownType", p.settings as pool, p.name, s.tag, p.fits_pool,
             ${fitting(sql`s.tag`, patterns.tag)} as fits_tag
        from sims s
        left join pool p on p.id = s.pool_id
        left join tariffs o on o.id = s.tariff_id
       where s.tenant_id = ${mine}
      union all
      select 'pool', id, null, false, "watchdogMode", "warningThresholdPct", "enableBurnRateAlerts", "tariffType", null,
             name, null, fits_pool, null
        from pool where deleted_at is null
      union all
      select 'tenant', 0, null, false, null, null, null, null, null, null, null, null, null
      union all
      select 'tag', id, null, false, null, null, null, null, null, null, pattern, null,
             array[${sql.join(patterns.together.map((pattern) => sql`pattern = ${pattern}`))}]::boolean[]
        from tag_patterns where tenant_id = ${mine} and pattern = any(${[...patterns.together]}::text[])
    ), numbered as (
      select *, row_number() over (partition by ${key}, fits_pool, fits_tag order by id) as n from subject
    )
    select ${key}, min(name) as "poolName", min(tag) as tag, count(*)::integer as count,
           json_agg(id order by id) filter (where n <= ${most}) as ids
      from numbered group by ${key}, fits_pool, fits_tag`.execute(tx.q)
  return rows
}
