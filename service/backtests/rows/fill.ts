/** Fills the temporary tables of a replay with a tenant's state at an instant, and its changes since. */
import { sql } from 'kysely'
import { SimStatus, TicketStatus } from '../../../domain/codes.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { SUBJECT_CODES } from '../../../domain/watchdog/subject.ts'
import type { TenantTx } from '../../../store/tenancy.ts'

export interface ReplaySpan {
  /** The instant that the tables are of. */
  readonly from: Date
  readonly until: Date
  /** How far back usage is read that rates and the like need. */
  readonly usageFrom: Date
  /** Width of a time bucket of usage, in milliseconds. */
  readonly bucketMs: number
}

export async function countPast(tx: TenantTx, { from, until, usageFrom }: ReplaySpan): Promise<number> {
  const { rows } = await sql<{ records: number }>`
    select count(*)::bigint as records from public.usage_records
     where tenant_id = ${tx.tenantId} and at >= ${usageFrom} and received_at > ${from} and received_at <= ${until}`.execute(
    tx.q,
  )
  return rows[0]?.records ?? 0
}

/** Fills all tables. Takes one transaction of one moment. It may be read only: that restricts only the real tables. */
export async function fillTables(tx: TenantTx, span: ReplaySpan): Promise<void> {
  await fillEstate(tx, span)
  await fillUsage(tx, span)
  await fillPast(tx, span)
}

async function fillEstate(tx: TenantTx, { from }: ReplaySpan): Promise<void> {
  const { tenantId } = tx
  await sql`insert into pg_temp.tenants select * from public.tenants where id = ${tenantId}`.execute(tx.q)
  await sql`
    insert into pg_temp.memberships (tenant_id, sim_id, pool_id, tariff_id, from_at, to_at)
    select tenant_id, sim_id, pool_id, tariff_id, from_at, case when to_at <= ${from} then to_at end
      from public.memberships where tenant_id = ${tenantId} and from_at <= ${from} order by id`.execute(tx.q)
  await sql`
    insert into pg_temp.active_spans (tenant_id, sim_id, from_at, to_at)
    select tenant_id, sim_id, from_at, case when to_at <= ${from} then to_at end
      from public.active_spans where tenant_id = ${tenantId} and from_at <= ${from} order by id`.execute(tx.q)
  await sql`
    insert into pg_temp.suspensions (tenant_id, sim_id, cause, rule, cycle_key, until, workflow_id, opened_at)
    select tenant_id, sim_id, cause, rule, cycle_key, until, workflow_id, opened_at
      from public.suspensions
     where tenant_id = ${tenantId} and opened_at <= ${from} and (closed_at is null or closed_at > ${from})
     order by id`.execute(tx.q)
  await fillSims(tx)
  await sql`insert into pg_temp.pools overriding system value
    select * from public.pools where tenant_id = ${tenantId}`.execute(tx.q)
  await sql`
    update pg_temp.pools p
       set deleted_at = null, (active_sim_count, total_sim_count) = (
             select count(*) filter (where status = ${SimStatus.Active}), count(*) from pg_temp.sims s where s.pool_id = p.id)`.execute(
    tx.q,
  )
  await sql`
    insert into pg_temp.sim_blocks (tenant_id, block, status, sims)
    select tenant_id, id >> 12, status, count(*) from pg_temp.sims group by 1, 2, 3`.execute(tx.q)
  await sql`insert into pg_temp.addresses overriding system value
    select * from public.addresses where tenant_id = ${tenantId}`.execute(tx.q)
  await sql`
    insert into pg_temp.silences overriding system value
    select * from public.silences
     where tenant_id = ${tenantId} and created_at <= ${from} and coalesce(ended_at, 'infinity') > ${from}`.execute(tx.q)
  await sql`update pg_temp.silences set ended_at = null, ended_by = null`.execute(tx.q)
  // With the ids of the log's keys. Patterns of rules that are tried come after them.
  await sql`
    insert into pg_temp.tag_patterns overriding system value
    select * from public.tag_patterns where tenant_id = ${tenantId}`.execute(tx.q)
  await sql`
    select setval(pg_get_serial_sequence('pg_temp.tag_patterns', 'id'), max(id)) from pg_temp.tag_patterns
    having count(*) > 0`.execute(tx.q)
}

/** Fills SIMs, with states by their memberships and active spans. */
async function fillSims(tx: TenantTx): Promise<void> {
  await sql`insert into pg_temp.sims overriding system value
    select * from public.sims where tenant_id = ${tx.tenantId}`.execute(tx.q)
  await sql`
    update pg_temp.sims s
       set status = case when m.sim_id is null then ${SimStatus.Unprovisioned}::smallint
                         when a.sim_id is null then ${SimStatus.Suspended}::smallint else ${SimStatus.Active}::smallint end,
           status_since = coalesce(case when m.sim_id is null then left_at when a.sim_id is null then suspended_at
                                        else a.from_at end, m.from_at, s.created_at),
           pool_id = nullif(m.pool_id, 0), tariff_id = m.tariff_id,
           provisioned_at = case when m.sim_id is not null then least(s.provisioned_at, m.from_at) end,
           pending_pool_id = null, pending_tariff_id = null, pending_unassign = false, pending_since = null
      from pg_temp.sims o
      left join pg_temp.memberships m on m.sim_id = o.id and m.to_at is null
      left join pg_temp.active_spans a on a.sim_id = o.id and a.to_at is null
     cross join lateral (select max(to_at) as left_at from pg_temp.memberships where sim_id = o.id) l
     cross join lateral (select max(to_at) as suspended_at from pg_temp.active_spans where sim_id = o.id) u
     where s.id = o.id`.execute(tx.q)
}

async function fillUsage(tx: TenantTx, { from, usageFrom, bucketMs }: ReplaySpan): Promise<void> {
  const { tenantId } = tx
  await sql`
    insert into pg_temp.usage_records
    select * from public.usage_records
     where tenant_id = ${tenantId} and at >= ${usageFrom} and received_at <= ${from}`.execute(tx.q)
  const bucket = sql`to_timestamp(floor(extract(epoch from at) * 1000 / ${bucketMs}) * ${bucketMs} / 1000)`
  await sql`
    insert into pg_temp.usage_buckets (tenant_id, subject_kind, subject_id, starts_at, bytes, voice_seconds, sms_count)
    select ${tenantId}::text, case grouping(pool_id) when 0 then ${SUBJECT_CODES.pool}::smallint else ${SUBJECT_CODES.tenant}::smallint end,
           coalesce(pool_id, 0), bucket, sum(bytes), sum(voice), sum(sms)
      from (select pool_id, ${bucket} as bucket, bytes_up + bytes_down as bytes, voice_seconds as voice, sms_count as sms
              from pg_temp.usage_records) u
     group by grouping sets ((pool_id, bucket), (bucket))
    having grouping(pool_id) = 1 or pool_id <> 0`.execute(tx.q)
  await sql`
    insert into pg_temp.usage_feeds (tenant_id, received_at, newest_at)
    select ${tenantId}::text, received_at, newest_at
      from (select max(received_at) as received_at, max(at) as newest_at from pg_temp.usage_records
            having count(*) > 0
            union all
            select received_at, newest_at from public.usage_feeds where tenant_id = ${tenantId} and received_at <= ${from}) f
     limit 1`.execute(tx.q)
  await sql`
    insert into pg_temp.device_changes
    select * from public.device_changes where tenant_id = ${tenantId} and recorded_at <= ${from}`.execute(tx.q)
  const newest = (column: string) => {
    const value = sql.ref(column)
    return sql`(array_agg(${value} order by at desc) filter (where ${value} is not null))[1]`
  }
  // SIMs last seen before the usage read here are filled from the real tables, unless seen again since.
  await sql`
    insert into pg_temp.sim_sightings (tenant_id, sim_id, last_seen_at, imei, imei_seen_at, previous_imei, device_changes,
                                       device_changed_at, country, mcc_mnc, rat, place_seen_at, country_changed_at)
    select ${tenantId}::text, s.id, coalesce(u.last_at, g.last_seen_at, ${usageFrom}), coalesce(u.imei, d.imei, g.imei, ''),
           coalesce(u.imei_at, d.at, g.imei_seen_at), coalesce(g.previous_imei, ''), coalesce(d.n, 0), d.recorded_at,
           coalesce(u.country, g.country), coalesce(u.mcc_mnc, g.mcc_mnc), coalesce(u.rat, g.rat),
           coalesce(u.place_at, g.place_seen_at), coalesce(c.changed_at, g.country_changed_at)
      from pg_temp.sims s
      left join (select sim_id, max(at) as last_at, max(at) filter (where imei is not null) as imei_at,
                        ${newest('imei')} as imei, ${newest('country')} as country, ${newest('mcc_mnc')} as mcc_mnc,
                        ${newest('rat')} as rat,
                        max(at) filter (where coalesce(country, mcc_mnc, rat) is not null) as place_at
                   from pg_temp.usage_records group by sim_id) u on u.sim_id = s.id
      left join (select sim_id, max(received_at) as changed_at
                   from (select sim_id, received_at, country, lag(country) over (partition by sim_id order by at) as before
                           from pg_temp.usage_records where country is not null) r
                  where country <> before group by sim_id) c on c.sim_id = s.id
      left join lateral (select n, imei, at, recorded_at from pg_temp.device_changes
                          where tenant_id = ${tenantId} and sim_id = s.id order by n desc limit 1) d on true
      left join public.sim_sightings g
        on g.tenant_id = ${tenantId} and g.sim_id = s.id and g.last_seen_at <= ${from}
     where u.sim_id is not null or g.sim_id is not null
        or exists (select from public.usage_ledger l join public.cycles c on c.tenant_id = l.tenant_id and c.key = l.cycle_key
                    where l.tenant_id = ${tenantId} and l.sim_id = s.id and c.ends_at <= ${from} and l.bytes > 0)`.execute(
    tx.q,
  )
}

/** Fills the later changes. Suspensions and returns by the watchdog are left out: the replayed rules make their own. */
async function fillPast(tx: TenantTx, { from, until, usageFrom }: ReplaySpan): Promise<void> {
  const { tenantId } = tx
  const within = (column: string) => sql`${sql.ref(column)} > ${from} and ${sql.ref(column)} <= ${until}`
  await sql`
    insert into past_usage_records
    select * from public.usage_records
     where tenant_id = ${tenantId} and at >= ${usageFrom} and ${within('received_at')}`.execute(tx.q)
  await sql`
    insert into past_tickets
    select * from public.tickets
     where tenant_id = ${tenantId} and ${within('finished_at')} and cause ->> 'by' <> 'watchdog'
       and status in (${TicketStatus.Complete}, ${TicketStatus.Failed})`.execute(tx.q)
  await sql`
    insert into past_audit_log
    select * from public.audit_log
     where tenant_id = ${tenantId} and subject in ('sim', 'pool', 'tenant') and at > ${from}
       and before is not null and after is not null`.execute(tx.q)
  await sql`
    insert into past_pools select * from public.pools
     where tenant_id = ${tenantId} and (${within('created_at')} or deleted_at <= ${until})`.execute(tx.q)
  await sql`
    insert into past_silences select * from public.silences
     where tenant_id = ${tenantId} and (${within('created_at')} or ${within('ended_at')})`.execute(tx.q)
  await sql`
    insert into past_cycles select * from public.cycles
     where tenant_id = ${tenantId} and ${within('closed_at')}`.execute(tx.q)
}

export interface ReplayedRules {
  /** As entries of the log name it. */
  readonly version: number
  readonly files: readonly RuleSource[]
}

/** Puts rules in force in the temporary tables. */
export async function fillRules(tx: TenantTx, { version, files }: ReplayedRules, at: Date): Promise<void> {
  await sql`
    insert into pg_temp.rule_sets (version, hash, rules, author, created_at) overriding system value
    values (${version}, '', ${JSON.stringify(files)}::jsonb, 'backtest', ${at})`.execute(tx.q)
  await sql`
    insert into pg_temp.rule_activations (version, at, author) values (${version}, ${at}, 'backtest')`.execute(tx.q)
}
