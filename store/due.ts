/**
 * Due marks: the watchdog's work list. A mark has the instant from which on a subject needs an evaluation. An
 * evaluation clears a mark only if the mark's number is still the one read. So a change during the evaluation is
 * evaluated again.
 */

import { type RawBuilder, sql } from 'kysely'
import { fromCoded, SUBJECT_CODES, type Subject, type SubjectCode, toCoded } from '../domain/watchdog/subject.ts'
import { ahead, kept } from './kept.ts'
import { mine, type PlatformTx, type TenantTx } from './tenancy.ts'

/** Marks subjects due, keeping an earlier mark. Enqueues an evaluation if `at` is now or past. */
export async function markDue(tx: TenantTx, subjects: readonly Subject[], at: Date = tx.now): Promise<void> {
  if (subjects.length === 0) return
  await sql`${kept}${ahead}
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select kind, id, ${at}, nextval('due_seq')
      from (select distinct kind, id
              from jsonb_to_recordset(${JSON.stringify(subjects.map(toCoded))}::jsonb) as s(kind smallint, id bigint)
             order by kind, id) s
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq`.execute(tx.q)
  if (at <= tx.now) tx.enqueue({ queue: 'evaluate' })
}

/** Marks each subject due at its instant, epoch milliseconds, keeping an earlier mark. */
export async function markEachDue(
  tx: TenantTx,
  subjects: readonly (Subject & { readonly at: number })[],
): Promise<void> {
  if (subjects.length === 0) return
  await sql`${ahead}
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select kind, id, to_timestamp(at / 1000), nextval('due_seq')
      from jsonb_to_recordset(${JSON.stringify(subjects.map(toCoded))}::jsonb) as s(
             kind smallint, id bigint, at double precision)
     order by kind, id
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq`.execute(tx.q)
}

/** Subjects held back after a failure. */
export async function heldBack(tx: TenantTx): Promise<Subject[]> {
  const { rows } = await sql<{ kind: SubjectCode; id: number }>`${kept}
    select subject_kind as kind, subject_id as id from due_subjects
     where tenant_id = ${mine} and not_before > ${tx.now}`.execute(tx.q)
  return rows.map(fromCoded)
}

export interface DueMark extends Subject {
  /** Number of the mark; it changes whenever the subject is marked again. */
  readonly seq: number
}

/** Condition: the subject is not held back after a failure. */
const isTried = (now: Date) => sql`(not_before is null or not_before <= ${now})`

/** Claims due subjects, at most `limit`. They are off the list until the lease ends, and return if the worker dies. */
export async function claimDue(tx: TenantTx, limit: number, leaseUntil: Date): Promise<DueMark[]> {
  const { rows } = await sql<Omit<DueMark, 'kind'> & { readonly kind: SubjectCode }>`${kept}
    with due as (
      select ctid as place from due_subjects
       where tenant_id = ${mine} and due_at <= ${tx.now} and ${isTried(tx.now)}
       order by due_at limit ${limit}
         for update skip locked
    )
    update due_subjects set due_at = ${leaseUntil} where ctid = any(array(select place from due))
    returning subject_kind as kind, subject_id as id, seq`.execute(tx.q)
  return rows.map(fromCoded)
}

/**
 * Sets the next evaluation of subjects, unless they were marked again since the claim. A subject without a next
 * evaluation leaves the list: it is gone, or has nothing to evaluate. Also resets the count of failures.
 *
 * All rows are locked in key order before any is changed, the order of setting marks.
 *
 * @param settled `nextAt`: next evaluation in epoch milliseconds; null for none
 */
export async function settleDue(
  tx: TenantTx,
  settled: readonly (DueMark & { readonly nextAt: number | null })[],
): Promise<void> {
  if (settled.length === 0) return
  await sql`${kept}${ahead}
    with claimed as materialized (
      select s.kind, s.id, s.seq, s."nextAt", d.ctid as place
        from (select * from jsonb_to_recordset(${JSON.stringify(settled.map(toCoded))}::jsonb) as g(
                kind smallint, id bigint, seq bigint, "nextAt" double precision) order by kind, id) s
       cross join lateral (
         select ctid, seq from due_subjects
          where tenant_id = ${mine} and subject_kind = s.kind and subject_id = s.id limit 1 for update) d
       where d.seq = s.seq
    ), gone as (
      -- A row that was changed at this moment is not found there, and so evaluated once more.
      delete from due_subjects where ctid = any(array(select place from claimed where "nextAt" is null))
    )
    insert into due_subjects (subject_kind, subject_id, due_at, seq)
    select kind, id, to_timestamp("nextAt" / 1000), seq from claimed where "nextAt" is not null order by kind, id
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = excluded.due_at, failures = 0, not_before = null`.execute(tx.q)
}

const RETRY_MIN_S = 60
const RETRY_MAX_S = 3600

/**
 * Delays a subject whose evaluation failed: by a minute, doubled with each further failure, up to an hour. The subject
 * stays on the list. Marking it due does not shorten the delay; `lookAtAll` ends it.
 */
export async function postponeSubject(tx: TenantTx, { kind, id }: Subject): Promise<void> {
  const delayed = (failures: RawBuilder<unknown>) => sql`
    ${tx.now}::timestamptz
    + make_interval(secs => least(${RETRY_MAX_S}, ${RETRY_MIN_S} * 2 ^ least(${failures}, 20))::double precision)`
  await sql`
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq, failures, not_before)
    values (${SUBJECT_CODES[kind]}, ${id}, ${tx.now}, nextval('due_seq'), 1, ${delayed(sql`0`)})
    on conflict (tenant_id, subject_kind, subject_id) do update
      set failures = d.failures + 1, not_before = ${delayed(sql`d.failures`)}, due_at = excluded.due_at`.execute(tx.q)
}

export async function tenantsDue(tx: PlatformTx): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select distinct tenant_id as "tenantId" from due_subjects where due_at <= ${tx.now} and ${isTried(tx.now)}`.execute(
    tx.q,
  )
  return rows.map((row) => row.tenantId)
}
