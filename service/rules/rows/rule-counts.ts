/** Counts the effects of rules on a tenant, and their fate: by logs, the audit trail, silences and suspensions. */
import { sql } from 'kysely'
import type { RuleFigures } from '../../../domain/rules/rule-coverage.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface RuleActivity extends Pick<RuleFigures, 'fired' | 'firedInShadow' | 'undone'> {
  /** In either log, at any time; null: never. */
  readonly lastFiredAt: Date | null
}

export const NO_ACTIVITY: RuleActivity = {
  fired: 0,
  firedInShadow: 0,
  lastFiredAt: null,
  undone: { withinHour: 0, acknowledged: 0, silences: 0, resumed: 0 },
}

/**
 * How often rules fired since an instant, when last, and how often that was undone since the instant. Reads both logs
 * of the tenant whole. Rules without any are left out.
 */
export async function activityByRule(tx: TenantTx, since: Date): Promise<Map<string, RuleActivity>> {
  const { rows } = await sql<RuleActivity & { rule: string }>`
    with happened(what, rule, at) as (
      select 'fired', rule, at from watchdog_log
       where tenant_id = ${mine} and dedupe_key like '%/fired'
      union all
      select 'firedInShadow', rule, at from shadow_log
       where tenant_id = ${mine} and does = 'log' and dedupe_key like '%/fired'
      union all
      -- Grouped, not joined: under row-level security a join would look at all entries for each entry.
      select 'withinHour', rule, max(at) from (
        select rule, at, dedupe_key like '%/fired' as is_begin, regexp_replace(dedupe_key, '/(fired|resolved)$', '') as episode
          from watchdog_log
         where tenant_id = ${mine} and at >= ${since} and (dedupe_key like '%/fired' or dedupe_key like '%/resolved')
      ) logged
       group by rule, episode
      having max(at) filter (where not is_begin) <= max(at) filter (where is_begin) + interval '1 hour'
      union all
      select 'acknowledged', split_part(subject_id, '/', 1), at from audit_log
       where tenant_id = ${mine} and subject = 'alert' and at >= ${since} and after ? 'acknowledged'
      union all
      select 'silences', rule, created_at from silences where tenant_id = ${mine} and created_at >= ${since}
      union all
      select 'resumed', rule, closed_at from suspensions u
       where tenant_id = ${mine} and cause = 'watchdog' and closed_at >= ${since}
         and (closed_because in ('user', 'workflow')
              or exists (select from audit_log a
                          where a.tenant_id = u.tenant_id and a.subject = 'workflow' and a.subject_id = u.workflow_id
                            and a.after ->> 'update' = 'resume'))
    )
    select rule, count(*) filter (where what = 'fired' and at >= ${since})::integer as fired,
           count(*) filter (where what = 'firedInShadow' and at >= ${since})::integer as "firedInShadow",
           max(at) filter (where what in ('fired', 'firedInShadow')) as "lastFiredAt",
           json_build_object('withinHour', count(*) filter (where what = 'withinHour'),
                             'acknowledged', count(*) filter (where what = 'acknowledged'),
                             'silences', count(*) filter (where what = 'silences'),
                             'resumed', count(*) filter (where what = 'resumed')) as undone
      from happened where rule is not null group by rule`.execute(tx.q)
  return new Map(rows.map(({ rule, ...counts }) => [rule, counts]))
}

/** When the oldest entry of the log was written; null: it has none. */
export async function logBegan(tx: TenantTx): Promise<Date | null> {
  const { rows } = await sql<{ at: Date }>`
    select at from watchdog_log where tenant_id = ${mine} order by at, id limit 1`.execute(tx.q)
  return rows[0]?.at ?? null
}
