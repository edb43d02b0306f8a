/**
 * Counts the staged records: stores them, and adds them to all sums of usage. Every function takes a statement or two,
 * for a chunk of any size.
 */

import { sql } from 'kysely'
import { SUBJECT_CODES } from '../../../domain/watchdog/subject.ts'
import { noteChanged } from '../../../store/changed.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { excessOf, isOfKind, remainingOf, rowTerms, summedAfter } from './pool-totals.ts'
import { restating } from './restatements.ts'
import { SIGHTING, SIM_IMEI } from './sightings.ts'
import type { PlacedRecord } from './stage.ts'

/**
 * Takes the tenant's merge lock until this transaction ends: one chunk of a tenant is counted at a time. Take it before
 * all others.
 */
export async function lockMerge(tx: TenantTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('simherd.merge'), hashtext(${tx.lockName}))`.execute(tx.q)
}

/**
 * Stores the staged records and sums them into `usage_sums`. `on conflict` would cost a third more, for conflicts that
 * the merge lock prevents.
 *
 * @throws Error that `isStored` if a record is stored already
 */
export async function storeRecords(tx: TenantTx, deliveryId: number | null): Promise<void> {
  await sql`
    with stored as (
      insert into usage_records (tenant_id, record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down,
                                 voice_seconds, sms_count, sessions, imei, country, mcc_mnc, rat, correction,
                                 received_at, delivery_id)
      select ${tx.tenantId}, record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down, voice_seconds, sms_count,
             sessions, imei, country, mcc_mnc, rat, correction, ${tx.now}::timestamptz, ${deliveryId}::bigint
        from usage_stage
    )
    insert into usage_sums
    select cycle_key, sim_id, pool_id, sum(bytes_up + bytes_down), sum(voice_seconds), sum(sms_count),
           sum(sessions), count(*), max(at)
      from usage_stage group by cycle_key, sim_id, pool_id`.execute(tx.q)
}

/**
 * Adds the sums to the ledger and to the pools' totals. If a cycle is closed, the next statement will have the
 * difference. Call with the cycles and the pools locked: no other transaction then changes these rows, so a row stays
 * in its place. The places are also given as an array: by the join alone, PostgreSQL would read a small ledger whole.
 *
 * The row of a SIM's first usage in a cycle and pool is inserted. Its tariff is the last one of the membership in the
 * cycle, not the one at the record's instant. Tickets set later tariffs.
 */
export async function addToLedger(tx: TenantTx): Promise<void> {
  const { rows } = await sql<{ isWhole: boolean }>`
    with given as materialized (
      select r.cycle_key, r.sim_id, r.pool_id, r.bytes, r.voice_seconds, r.sms_count, r.sessions,
             coalesce(l.bytes, 0) as bytes_before, coalesce(l.voice_seconds, 0) as voice_before,
             coalesce(l.sms_count, 0) as sms_before, coalesce(l.sessions, 0) as sessions_before,
             coalesce(l.contributing, false) as contributing, l.place,
             case when l.sim_id is null then (
               select m.tariff_id
                 from (select starts_at, ends_at from cycles where tenant_id = ${mine} and key = r.cycle_key limit 1) c
                cross join lateral (
                  select tariff_id from memberships
                   where sim_id = r.sim_id and pool_id = r.pool_id and from_at < c.ends_at
                     and coalesce(to_at, 'infinity') > greatest(from_at, c.starts_at)
                   order by from_at desc limit 1) m) else l.tariff_id end as tariff_id
        from usage_sums r
        left join lateral (
          select *, ctid as place from usage_ledger
           where tenant_id = ${mine} and cycle_key = r.cycle_key and sim_id = r.sim_id and pool_id = r.pool_id limit 1
        ) l on true
    ), known as (
      update usage_ledger l
         set bytes = g.bytes_before + g.bytes, voice_seconds = g.voice_before + g.voice_seconds,
             sms_count = g.sms_before + g.sms_count, sessions = g.sessions_before + g.sessions
        from given g where l.ctid = g.place and l.ctid = any(array(select place from given))
      returning 1
    ), first as (
      insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, bytes, voice_seconds, sms_count, sessions)
      select cycle_key, sim_id, pool_id, tariff_id, bytes, voice_seconds, sms_count, sessions
        from given where place is null order by cycle_key, sim_id, pool_id
    ), noted as (
      insert into usage_changes
      select cycle_key, sim_id, pool_id, tariff_id, contributing, bytes_before, bytes_before + bytes, voice_seconds,
             sms_count
        from given
    )
    select (select count(*) from known) = (select count(*) from given where place is not null) as "isWhole"`.execute(
    tx.q,
  )
  if (rows[0]?.isWhole !== true) throw new Error('a ledger row was changed by somebody who had not locked its pool')
  await addToPools(tx)
}

/**
 * Adds the changes to the totals of pools. Without `materialized`, PostgreSQL would add up again for every pool: it has
 * no statistics of temporary tables.
 */
async function addToPools(tx: TenantTx): Promise<void> {
  await restating(
    tx,
    sql`
      with terms as materialized (${rowTerms(sql`usage_changes`)}), added as materialized (
        select c.cycle_key, c.pool_id, sum(c.bytes - c.bytes_before)::bigint as bytes,
               sum(c.voice_seconds)::bigint as voice_seconds, sum(c.sms_count)::bigint as sms_count,
               sum(${excessOf(sql`c.bytes`)} - ${excessOf(sql`c.bytes_before`)})::bigint as excess,
               sum(${remainingOf(sql`c.bytes`)} - ${remainingOf(sql`c.bytes_before`)})::bigint as remaining
          from usage_changes c
          join terms t on t.cycle_key = c.cycle_key and ${isOfKind('c')}
         group by c.cycle_key, c.pool_id
      )
      insert into pool_cycles as p (cycle_key, pool_id, bytes, voice_seconds, sms_count, excess_bytes, remaining_bytes)
      select cycle_key, pool_id, bytes, voice_seconds, sms_count, excess, remaining from added order by cycle_key, pool_id
      on conflict (tenant_id, cycle_key, pool_id) do update
        set bytes = p.bytes + excluded.bytes, voice_seconds = p.voice_seconds + excluded.voice_seconds,
            sms_count = p.sms_count + excluded.sms_count, excess_bytes = p.excess_bytes + excluded.excess_bytes,
            remaining_bytes = p.remaining_bytes + excluded.remaining_bytes, usage_version = p.usage_version + 1,
            summed_version = ${summedAfter(sql`false`)}`,
  ).execute(tx.q)
}

/** Adds the staged records to the time buckets of pools and tenant, behind the facts over windows. */
export async function addToBuckets(tx: TenantTx): Promise<void> {
  await sql`
    insert into usage_buckets as b (subject_kind, subject_id, starts_at, bytes, voice_seconds, sms_count)
    select case grouping(u.pool_id) when 0 then ${SUBJECT_CODES.pool}::smallint else ${SUBJECT_CODES.tenant}::smallint end,
           coalesce(u.pool_id, 0), u.bucket_at, sum(u.bytes_up + u.bytes_down)::bigint, sum(u.voice_seconds)::bigint,
           sum(u.sms_count)::bigint
      from usage_stage u
     group by grouping sets ((u.pool_id, u.bucket_at), (u.bucket_at))
    having grouping(u.pool_id) = 1 or u.pool_id <> 0
     order by 1, 2, 3
    on conflict (tenant_id, subject_kind, subject_id, starts_at) do update
      set bytes = b.bytes + excluded.bytes, voice_seconds = b.voice_seconds + excluded.voice_seconds,
          sms_count = b.sms_count + excluded.sms_count`.execute(tx.q)
}

/** Most changes of device kept of a SIM in a chunk: the latest. The count includes all. */
const MOST_CHANGES = 20

/** The newest value of a column in the rows of a SIM. */
const newest = (column: string) => {
  const value = sql.ref(column)
  return sql`(array_agg(${value} order by at desc, n) filter (where ${value} is not null))[1]`
}

/**
 * Notes when SIMs were last seen, in which device and where. Each SIM is written once.
 *
 * Records that name a device are followed in the order of their time: a record with another device than the one before
 * it is a change of device. Only SIMs with a change are followed record by record. Of the country, the network and the
 * radio access technology, the newest record counts; a field that no record names keeps its value. SIMs seen in more
 * than one country changed it. Records older than the last sighting of a device, or of a place, are left out of it.
 *
 * @param isNamed whether a record names a device or a place
 */
export async function noteSightings(tx: TenantTx, isNamed: boolean): Promise<void> {
  const seen = sql`(select sim_id, max(last_at) as at from usage_sums group by sim_id) r`
  if (!isNamed) {
    await sql`
      insert into sim_sightings as g (sim_id, last_seen_at, imei, previous_imei)
      select sim_id, at, '', '' from ${seen} order by sim_id
      on conflict (tenant_id, sim_id) do update
        set last_seen_at = greatest(g.last_seen_at, excluded.last_seen_at)`.execute(tx.q)
    return
  }
  await sql`
    with latest as materialized (
      select d.sim_id, d.imei, d.at, d.several, s.imei as known, s.imei_seen_at as known_at, s.previous_imei
        from (select sim_id, ${newest('imei')} as imei, max(at) as at, min(imei) <> max(imei) as several
                from usage_stage where imei is not null group by sim_id) d
       cross join lateral (
         select ${SIM_IMEI} as imei, g.imei_seen_at, coalesce(g.previous_imei, '') as previous_imei
           from sims s ${SIGHTING}
          where s.tenant_id = ${mine} and s.id = d.sim_id limit 1) s
       where s.imei_seen_at is null or d.at > s.imei_seen_at
    ), named as (
      select u.sim_id, u.imei, u.at, lag(u.imei, 1, l.known) over w as before, row_number() over w as place
        from latest l
        join usage_stage u on u.sim_id = l.sim_id
       where (l.several or l.imei <> l.known) and u.imei is not null and (l.known_at is null or u.at > l.known_at)
      window w as (partition by u.sim_id order by u.at, u.n desc)
    ), changed as (
      select sim_id, imei, at, before, row_number() over (partition by sim_id order by place) as k
        from named where before not in ('', imei)
    ), counted as materialized (
      select sim_id, count(*)::integer as changes, (array_agg(before order by k desc))[1] as before
        from changed group by sim_id
    ), written as (
      insert into device_changes (sim_id, n, imei, at, recorded_at)
      select c.sim_id, coalesce(g.device_changes, 0) + c.k, c.imei, c.at, ${tx.now}::timestamptz
        from changed c
        join counted t on t.sim_id = c.sim_id and c.k > t.changes - ${MOST_CHANGES}
        left join lateral (
         select device_changes from sim_sightings where tenant_id = ${mine} and sim_id = c.sim_id limit 1) g on true
    ), places as materialized (
      select u.sim_id, max(u.at) as at, ${newest('country')} as country, ${newest('mcc_mnc')} as mcc_mnc,
             ${newest('rat')} as rat, min(least(country, known)) <> max(greatest(country, known)) as has_moved
        from (select u.sim_id, u.n, u.at, u.country, u.mcc_mnc, u.rat, g.country as known
                from usage_stage u
                left join lateral (
                  select country, place_seen_at from sim_sightings
                   where tenant_id = ${mine} and sim_id = u.sim_id limit 1) g on true
               where coalesce(u.country, u.mcc_mnc, u.rat) is not null
                 and (g.place_seen_at is null or u.at > g.place_seen_at)) u
       group by u.sim_id
    )
    insert into sim_sightings as g (sim_id, last_seen_at, imei, imei_seen_at, previous_imei, device_changes,
                                    device_changed_at, country, mcc_mnc, rat, place_seen_at, country_changed_at)
    select r.sim_id, r.at, coalesce(d.imei, ''), d.at, coalesce(c.before, d.previous_imei, ''), coalesce(c.changes, 0),
           case when c.sim_id is not null then ${tx.now}::timestamptz end, p.country, p.mcc_mnc, p.rat, p.at,
           case when p.has_moved then ${tx.now}::timestamptz end
      from ${seen}
      full join latest d on d.sim_id = r.sim_id
      full join counted c on c.sim_id = r.sim_id
      full join places p on p.sim_id = r.sim_id
     order by r.sim_id
    on conflict (tenant_id, sim_id) do update
      set last_seen_at = greatest(g.last_seen_at, excluded.last_seen_at),
          imei = case when excluded.imei_seen_at is null then g.imei else excluded.imei end,
          imei_seen_at = coalesce(excluded.imei_seen_at, g.imei_seen_at),
          previous_imei = case when excluded.imei_seen_at is null then g.previous_imei else excluded.previous_imei end,
          device_changes = g.device_changes + excluded.device_changes,
          device_changed_at = coalesce(excluded.device_changed_at, g.device_changed_at),
          country = coalesce(excluded.country, g.country), mcc_mnc = coalesce(excluded.mcc_mnc, g.mcc_mnc),
          rat = coalesce(excluded.rat, g.rat), place_seen_at = coalesce(excluded.place_seen_at, g.place_seen_at),
          country_changed_at = coalesce(excluded.country_changed_at, g.country_changed_at)`.execute(tx.q)
}

/** Notes that the SIMs and pools with usage in these cycles have changed. */
export async function noteUsed(tx: TenantTx, cycleKeys: readonly string[]): Promise<void> {
  for (const cycleKey of cycleKeys) {
    await noteChanged(tx, {
      sims: sql`select sim_id as id from usage_sums where cycle_key = ${cycleKey}`,
      pools: sql`select pool_id as id from usage_sums where cycle_key = ${cycleKey}`,
      cycleKey,
    })
  }
}

/**
 * Adds to the cycles' counts of received records, and to the tenant's usage in them.
 *
 * @param duplicates numbers of duplicates, by cycle
 */
export async function countRecords(tx: TenantTx, duplicates: ReadonlyMap<string, number>): Promise<void> {
  const known = [...duplicates].map(([key, count]) => ({ key, count }))
  const counted = sql`(
    select coalesce(r.key, k.key) as key, coalesce(r.records, 0) as records, coalesce(k.count, 0) as duplicates,
           coalesce(r.bytes, 0) as bytes, coalesce(r.voice_seconds, 0) as voice_seconds,
           coalesce(r.sms_count, 0) as sms_count
      from (select cycle_key as key, sum(records) as records, sum(bytes)::bigint as bytes,
                   sum(voice_seconds)::bigint as voice_seconds, sum(sms_count)::bigint as sms_count
              from usage_sums group by cycle_key) r
      full join jsonb_to_recordset(${JSON.stringify(known)}::jsonb) as k(key text, count bigint) on k.key = r.key)`
  // Locked in key order first. An update alone would lock the rows in any order.
  await sql`
    select from cycles where tenant_id = ${mine} and key in (select key from ${counted} x)
     order by key
       for no key update`.execute(tx.q)
  await sql`
    update cycles c
       set records_accepted = c.records_accepted + r.records, records_duplicate = c.records_duplicate + r.duplicates,
           bytes = c.bytes + r.bytes, voice_seconds = c.voice_seconds + r.voice_seconds,
           sms_count = c.sms_count + r.sms_count, version = c.version + 1
      from ${counted} r
     where c.tenant_id = ${mine} and c.key = r.key`.execute(tx.q)
}

/** The row of the ledger that a record is added to. */
interface LedgerRow
  extends Pick<PlacedRecord, 'cycleKey' | 'simId' | 'poolId' | 'voiceSeconds' | 'smsCount' | 'sessions'> {
  readonly bytes: number
}

/** Sums of the ledger rows of these records so far. Rows that do not exist are left out. */
export async function ledgerSums(tx: TenantTx, records: readonly PlacedRecord[]): Promise<LedgerRow[]> {
  const keys = records.map(({ cycleKey, simId, poolId }) => ({ cycleKey, simId, poolId }))
  const { rows } = await sql<LedgerRow>`
    select l.cycle_key as "cycleKey", l.sim_id as "simId", l.pool_id as "poolId", l.bytes,
           l.voice_seconds as "voiceSeconds", l.sms_count as "smsCount", l.sessions
      from jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as k("cycleKey" text, "simId" bigint, "poolId" integer)
     cross join lateral (
       select * from usage_ledger
        where tenant_id = ${mine} and cycle_key = k."cycleKey" and sim_id = k."simId" and pool_id = k."poolId" limit 1
     ) l`.execute(tx.q)
  return rows
}

const CHECK_VIOLATION = '23514'
const UNIQUE_VIOLATION = '23505'
const TOTALS: Readonly<Record<string, string>> = {
  usage_ledger_total: 'SIM',
  pool_cycles_total: 'pool',
  cycles_total: 'tenant',
  usage_buckets_total: 'time bucket',
}

/**
 * Names the total that a failed statement would have taken out of the range of exact sums: SIM, pool, tenant or time
 * bucket. Undefined if the statement failed for another reason.
 */
export function totalOutOfRange(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && error.code === CHECK_VIOLATION && 'constraint' in error)) {
    return undefined
  }
  return typeof error.constraint === 'string' ? TOTALS[error.constraint] : undefined
}

/** Whether a statement has failed because it would have stored a usage record twice. */
export const isStored = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === UNIQUE_VIOLATION &&
  'table' in error &&
  String(error.table).startsWith('usage_records')
