/** Reads a tenant's past in order of its instants: rows that a replay repeats. A span is `(after, through]`. */
import { type RawBuilder, sql } from 'kysely'
import type { TicketStatus } from '../../../domain/codes.ts'
import type { ReadRecord } from '../../../domain/usage/usage-record.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { columns, type TicketRecord } from '../../tickets/rows/tickets.ts'

export interface Between {
  readonly after: Date
  readonly through: Date
}

const between = (column: RawBuilder<unknown>, { after, through }: Between) =>
  sql`${column} > ${after} and ${column} <= ${through}`

/** When something happened next, after an instant; null if nothing did. */
export async function nextPastAt(tx: TenantTx, after: Date): Promise<Date | null> {
  const first = (column: string, table: string) =>
    sql`select min(${sql.ref(column)}) as at from ${sql.table(table)} where ${sql.ref(column)} > ${after}`
  const all = [
    first('received_at', 'past_usage_records'),
    first('finished_at', 'past_tickets'),
    first('at', 'past_audit_log'),
    first('created_at', 'past_pools'),
    first('deleted_at', 'past_pools'),
    first('created_at', 'past_silences'),
    first('ended_at', 'past_silences'),
    first('closed_at', 'past_cycles'),
  ]
  const { rows } = await sql<{ at: Date | null }>`
    select min(at) as at from (${sql.join(all, sql` union all `)}) u`.execute(tx.q)
  return rows[0]?.at ?? null
}

/** A usage record, and when it was received. */
export interface PastRecord extends ReadRecord {
  readonly receivedAt: Date
}

/** Reads usage records of a span, in order. @param last the last one read before; @param limit so many at most */
export async function pastUsage(
  tx: TenantTx,
  through: Date,
  last: Pick<PastRecord, 'receivedAt' | 'recordId' | 'at'>,
  limit: number,
): Promise<PastRecord[]> {
  const { rows } = await sql<Omit<PastRecord, 'at' | 'iccid'> & { at: Date }>`
    select received_at as "receivedAt", record_id as "recordId", at, sim_id as "simId", bytes_up as "bytesUp",
           bytes_down as "bytesDown", voice_seconds as "voiceSeconds", sms_count as "smsCount", sessions, imei, country,
           mcc_mnc as "mccMnc", rat, correction
      from past_usage_records
     where (received_at, record_id, at) > (${last.receivedAt}, ${last.recordId}, ${new Date(last.at)})
       and received_at <= ${through}
     order by received_at, record_id, at limit ${limit}`.execute(tx.q)
  return rows.map((row) => ({ ...row, iccid: null, at: row.at.getTime() }))
}

export async function pastTickets(tx: TenantTx, span: Between): Promise<(TicketRecord & { status: TicketStatus })[]> {
  const { rows } = await sql<TicketRecord>`
    select ${columns} from past_tickets where ${between(sql`finished_at`, span)} order by finished_at, seq`.execute(
    tx.q,
  )
  return rows
}

export async function insertPastTicket(tx: TenantTx, id: string): Promise<void> {
  await sql`insert into tickets overriding system value select * from past_tickets where id = ${id}::uuid`.execute(tx.q)
}

export interface PastSetting {
  readonly at: Date
  readonly subject: 'sim' | 'pool' | 'tenant'
  readonly id: string
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
}

export async function pastSettings(tx: TenantTx, span: Between): Promise<PastSetting[]> {
  const { rows } = await sql<PastSetting>`
    select at, subject, subject_id as id, before, after from past_audit_log
     where ${between(sql`at`, span)} order by id`.execute(tx.q)
  return rows
}

/** Takes pools that did not exist at an instant: they count as deleted until they do. */
export async function hidePools(tx: TenantTx, at: Date): Promise<void> {
  await sql`
    update pools p set deleted_at = p.created_at
     where p.created_at > ${at} or exists (select from past_pools a where a.id = p.id and a.deleted_at <= ${at})`.execute(
    tx.q,
  )
}

/** Adds new pools, and removes deleted ones. @returns their ids */
export async function movePools(tx: TenantTx, span: Between): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    update pools p
       set deleted_at = case when ${between(sql`a.deleted_at`, span)} then a.deleted_at end
      from past_pools a
     where a.id = p.id and (${between(sql`a.created_at`, span)} or ${between(sql`a.deleted_at`, span)})
    returning p.id`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/** Begins silences as persons did. @returns ids of those that persons ended */
export async function moveSilences(tx: TenantTx, span: Between): Promise<number[]> {
  await sql`
    insert into silences (id, rule, sim_id, pool_id, tag, level, reason, times, time_zone, created_at, created_by, ends_at)
    overriding system value
    select id, rule, sim_id, pool_id, tag, level, reason, times, time_zone, created_at, created_by, ends_at
      from past_silences where ${between(sql`created_at`, span)}`.execute(tx.q)
  const { rows } = await sql<{ id: number }>`
    select id from past_silences where ${between(sql`ended_at`, span)} order by id`.execute(tx.q)
  return rows.map(({ id }) => id)
}

export async function pastCloses(tx: TenantTx, span: Between): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select key from past_cycles where ${between(sql`closed_at`, span)} order by starts_at`.execute(tx.q)
  return rows.map(({ key }) => key)
}
