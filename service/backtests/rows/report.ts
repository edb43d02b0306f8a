/** Counts the results of a replay beside those of the service, by the temporary tables and the tenant's log. */
import { type RawBuilder, sql } from 'kysely'
import type { BesideLog, Loud, RuleCounts } from '../../../domain/backtests/backtest.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** Counts by rule its effects, and its would-be effects in `shadow`. */
export async function countsByRule(tx: TenantTx): Promise<RuleCounts[]> {
  const count = (which: RawBuilder<unknown>) => sql`count(*) filter (where ${which})::integer`
  const { rows } = await sql<RuleCounts>`
    select rule, ${count(sql`does is null`)} as entries,
           ${count(sql`does is null and dedupe_key like '%/fired'`)} as fired,
           ${count(sql`does = 'log'`)} as "wouldLog",
           ${count(sql`does = 'mail'`)} as "wouldMail",
           ${count(sql`does = 'suspend' or does is null and dedupe_key like '%/wouldSuspend/%'`)} as "wouldSuspend",
           ${count(sql`does is null and dedupe_key like '%/suspended/%'`)} as suspended
      from (select rule, dedupe_key, null as does from pg_temp.watchdog_log where rule is not null
             union all select rule, dedupe_key, does from pg_temp.shadow_log) told
     group by rule order by entries desc, rule`.execute(tx.q)
  return rows
}

export async function mailsByRecipient(tx: TenantTx): Promise<{ recipient: string; mails: number }[]> {
  const { rows } = await sql<{ recipient: string; mails: number }>`
    select recipient, count(*)::integer as mails from pg_temp.deliveries where mail_id is not null group by recipient order by mails desc, recipient`.execute(
    tx.q,
  )
  return rows
}

export async function loudestSubjects(tx: TenantTx, limit: number): Promise<Loud[]> {
  const { rows } = await sql<Loud>`
    select case when l.sim_id is not null then 'sim' when l.pool_id is not null then 'pool' when t.id is not null then 'tag'
                else 'tenant' end as kind,
           coalesce(l.sim_id, l.pool_id, t.id) as id,
           coalesce(nullif(s.tag, ''), s.iccid, p.name, t.pattern, 'the tenant') as label,
           count(*)::integer as entries
      from pg_temp.watchdog_log l
      left join pg_temp.sims s on s.id = l.sim_id
      left join pg_temp.pools p on p.id = l.pool_id and l.sim_id is null
      left join pg_temp.tag_patterns t on split_part(l.dedupe_key, '/', 2) = 'tag' and t.id::text = split_part(l.dedupe_key, '/', 3)
     group by 1, 2, 3 order by entries desc, kind, id limit ${limit}`.execute(tx.q)
  return rows
}

/** How many alerts fired, and how many of them had ended within an hour. */
export async function shortAlerts(tx: TenantTx): Promise<{ fired: number; overWithinHour: number }> {
  const { rows } = await sql<{ fired: number; overWithinHour: number }>`
    select count(*)::integer as fired,
           count(*) filter (where e.at - f.at <= interval '1 hour')::integer as "overWithinHour"
      from pg_temp.watchdog_log f
      left join pg_temp.watchdog_log e
        on e.tenant_id = f.tenant_id and e.dedupe_key = regexp_replace(f.dedupe_key, '/fired$', '/resolved')
     where f.dedupe_key like '%/fired'`.execute(tx.q)
  return rows[0] ?? { fired: 0, overWithinHour: 0 }
}

/** Compares the entries with the tenant's log by their keys. @param limit examples of a kind */
export async function besideLog(
  tx: TenantTx,
  { from, until }: { readonly from: Date; readonly until: Date },
  limit: number,
): Promise<BesideLog> {
  const joined = sql`
    (select dedupe_key, at, message from pg_temp.watchdog_log where at <= ${until}) r
      full join (select dedupe_key, at, message from public.watchdog_log
                  where tenant_id = ${mine} and at >= ${from} and at <= ${until}) l using (dedupe_key)`
  const { rows: counts } = await sql<Omit<BesideLog, 'examples'>>`
    select count(*) filter (where r.at is not null and l.at is not null)::integer as both,
           count(*) filter (where l.at is null)::integer as "onlyReplay",
           count(*) filter (where r.at is null)::integer as "onlyLog" from ${joined}`.execute(tx.q)
  const { rows: examples } = await sql<{ where: 'replay' | 'log'; key: string; at: Date; message: string }>`
    select "where", key, at, message
      from (select case when l.at is null then 'replay' else 'log' end as "where", dedupe_key as key,
                   coalesce(r.at, l.at) as at, coalesce(r.message, l.message) as message,
                   row_number() over (partition by l.at is null order by coalesce(r.at, l.at), dedupe_key) as n
              from ${joined} where r.at is null or l.at is null) e
     where n <= ${limit} order by at, key`.execute(tx.q)
  return {
    ...(counts[0] ?? { both: 0, onlyReplay: 0, onlyLog: 0 }),
    examples: examples.map((one) => ({ ...one, at: one.at.toISOString() })),
  }
}
