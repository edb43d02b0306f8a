/**
 * Counts the effects of rules on a tenant, and their later fate: from the logs, the audit trail, silences and
 * suspensions.
 */
import { type RawBuilder, sql } from 'kysely'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface Firings {
  readonly rule: string
  readonly fired: number
  readonly firedInShadow: number
  /** In either log, at any time. */
  readonly lastFiredAt: Date
}

/**
 * How often rules fired since an instant, and when last. Reads both logs of the tenant whole. Rules that never did are
 * left out.
 */
export async function firingsByRule(tx: TenantTx, since: Date): Promise<Firings[]> {
  const { rows } = await sql<Firings>`
    with firing as (
      select rule, at, false as is_shadow from watchdog_log
       where tenant_id = ${mine} and rule is not null and dedupe_key like '%/fired'
      union all
      select rule, at, true from shadow_log
       where tenant_id = ${mine} and does = 'log' and dedupe_key like '%/fired'
    )
    select rule, count(*) filter (where at >= ${since} and not is_shadow)::integer as fired,
           count(*) filter (where at >= ${since} and is_shadow)::integer as "firedInShadow", max(at) as "lastFiredAt"
      from firing group by rule`.execute(tx.q)
  return rows
}

/** When the oldest entry of the log was written; null: it has none. */
export async function logBegan(tx: TenantTx): Promise<Date | null> {
  const { rows } = await sql<{ at: Date }>`
    select at from watchdog_log where tenant_id = ${mine} order by at, id limit 1`.execute(tx.q)
  return rows[0]?.at ?? null
}

export interface UndoneCounts {
  readonly withinHour: number
  readonly acknowledged: number
  readonly silences: number
  readonly resumed: number
}
const UNDONE = ['withinHour', 'acknowledged', 'silences', 'resumed'] as const

/** Counts undone effects of rules since an instant, by rule. Rules without any are left out. */
export async function undoneByRule(tx: TenantTx, since: Date): Promise<Map<string, UndoneCounts>> {
  const counts: Record<(typeof UNDONE)[number], RawBuilder<unknown>> = {
    // Grouped, not joined: under row-level security a join would look at all entries for each entry.
    withinHour: sql`
      select rule from (
        select rule, at, dedupe_key like '%/fired' as is_begin, regexp_replace(dedupe_key, '/(fired|resolved)$', '') as episode
          from watchdog_log
         where tenant_id = ${mine} and at >= ${since} and (dedupe_key like '%/fired' or dedupe_key like '%/resolved')
      ) told
       group by rule, episode
      having max(at) filter (where not is_begin) <= max(at) filter (where is_begin) + interval '1 hour'`,
    acknowledged: sql`
      select split_part(subject_id, '/', 1) from audit_log
       where tenant_id = ${mine} and subject = 'alert' and at >= ${since} and after ? 'acknowledged'`,
    silences: sql`
      select rule from silences where tenant_id = ${mine} and rule is not null and created_at >= ${since}`,
    resumed: sql`
      select rule from suspensions u
       where tenant_id = ${mine} and cause = 'watchdog' and closed_at >= ${since}
         and (closed_because in ('user', 'workflow')
              or exists (select from audit_log a
                          where a.tenant_id = u.tenant_id and a.subject = 'workflow' and a.subject_id = u.workflow_id
                            and a.after ->> 'update' = 'resume'))`,
  }
  const parts = UNDONE.map((what) => sql`select ${what} as what, rule from (${counts[what]}) c(rule)`)
  const { rows } = await sql<{ rule: string; what: (typeof UNDONE)[number]; count: number }>`
    select rule, what, count(*)::integer as count from (${sql.join(parts, sql` union all `)}) undone
     where rule is not null group by rule, what`.execute(tx.q)
  const byRule = new Map<string, UndoneCounts>()
  for (const { rule, what, count } of rows) byRule.set(rule, { ...(byRule.get(rule) ?? NOTHING_UNDONE), [what]: count })
  return byRule
}

export const NOTHING_UNDONE: UndoneCounts = { withinHour: 0, acknowledged: 0, silences: 0, resumed: 0 }
