/**
 * Due marks: the watchdog's work list. A mark says that a subject is to be evaluated from an instant on.
 * An evaluation clears a mark only if its number is still the one it read, so that a change made meanwhile
 * is evaluated again.
 */

import { sql } from 'kysely'
import { type SubjectCode } from '../domain/watchdog/subject.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/** What a rule is evaluated for, as columns have it. */
export interface Subject {
  readonly kind: SubjectCode
  /** SIM or pool id; 0 for the tenant. */
  readonly id: number
}

/** Marks subjects due at an instant (or keeps an earlier one), and enqueues an evaluation where that is now. */
export async function markDue(tx: TenantTx, subjects: readonly Subject[], at: Date = tx.now): Promise<void> {
  if (subjects.length === 0) return
  await sql`
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select kind, id, ${at}, nextval('due_seq')
      from (select distinct kind, id
              from jsonb_to_recordset(${JSON.stringify(subjects)}::jsonb) as s(kind smallint, id bigint)
             order by kind, id) s
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq`.execute(tx.q)
  if (at <= tx.now) tx.enqueue({ queue: 'evaluate' })
}

/** Marks a pool and every SIM in it due at once: its watchdog settings are theirs too. */
export async function markPoolDue(tx: TenantTx, poolId: number): Promise<void> {
  await sql`
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select kind, id, ${tx.now}, nextval('due_seq')
      from (select 1 as kind, id from sims where pool_id = ${poolId}
            union all select 2, ${poolId}::bigint) s
     order by kind, id
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq`.execute(tx.q)
  tx.enqueue({ queue: 'evaluate' })
}

/**
 * Marks every provisioned SIM, every pool and the tenant due: a new cycle, a new rule set. What has failed under the
 * rules before is tried at once.
 */
export async function markAllDue(tx: TenantTx, at: Date): Promise<void> {
  await sql`
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select kind, id, ${at}, nextval('due_seq')
      from (select 1 as kind, id from sims where status <> 0
            union all select 2, id from pools where deleted_at is null
            union all select 3, 0) s
     order by kind, id
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq, not_before = null`.execute(tx.q)
  if (at <= tx.now) tx.enqueue({ queue: 'evaluate' })
}

/** A mark as an evaluation has taken it. */
export interface DueMark extends Subject {
  readonly seq: number
}

/** Whether what is due is not held back, because it has failed. */
const isTried = (now: Date) => sql`(not_before is null or not_before <= ${now})`

/**
 * Takes a batch of subjects that are due: they are off the list until the lease ends, and come back where
 * the evaluation dies.
 */
export async function claimDue(tx: TenantTx, limit: number, leaseUntil: Date): Promise<DueMark[]> {
  const { rows } = await sql<DueMark>`
    with due as (
      select subject_kind, subject_id from due_subjects
       where tenant_id = ${tx.tenantId} and due_at <= ${tx.now} and ${isTried(tx.now)}
       order by due_at limit ${limit}
         for update skip locked
    )
    update due_subjects d set due_at = ${leaseUntil}
      from due
     where d.tenant_id = ${tx.tenantId} and d.subject_kind = due.subject_kind and d.subject_id = due.subject_id
    returning d.subject_kind as kind, d.subject_id as id, d.seq`.execute(tx.q)
  return rows
}

/**
 * Replaces marks by the next look at each subject, but only marks that have not been set anew meanwhile. Without
 * a next look a subject is taken off the list for good: it is gone, or has nothing to evaluate.
 *
 * All are locked in key order before any is changed, as those who set marks do.
 */
export async function settleDue(
  tx: TenantTx,
  settled: readonly (DueMark & { readonly nextAt: number | null })[],
): Promise<void> {
  await sql`
    with claimed as (
      select d.subject_kind, d.subject_id, s."nextAt"
        from jsonb_to_recordset(${JSON.stringify(settled)}::jsonb) as s(
               kind smallint, id bigint, seq bigint, "nextAt" double precision)
        join due_subjects d
          on d.tenant_id = ${tx.tenantId} and d.subject_kind = s.kind and d.subject_id = s.id and d.seq = s.seq
       order by d.subject_kind, d.subject_id
         for update of d
    ), gone as (
      delete from due_subjects d using claimed
       where claimed."nextAt" is null
         and d.tenant_id = ${tx.tenantId} and d.subject_kind = claimed.subject_kind and d.subject_id = claimed.subject_id
    )
    update due_subjects d set due_at = to_timestamp(claimed."nextAt" / 1000), failures = 0, not_before = null
      from claimed
     where claimed."nextAt" is not null
       and d.tenant_id = ${tx.tenantId} and d.subject_kind = claimed.subject_kind and d.subject_id = claimed.subject_id`.execute(
    tx.q,
  )
}

const RETRY_MIN_S = 60
const RETRY_MAX_S = 3600

/**
 * Holds a subject back that has failed: a minute, and twice as long each time it fails again, up to an hour. It stays
 * on the list, and what marks it due meanwhile does not shorten the pause.
 */
export async function postponeSubject(tx: TenantTx, { kind, id }: Subject): Promise<void> {
  await sql`
    update due_subjects
       set failures = failures + 1,
           not_before = ${tx.now}::timestamptz
                        + make_interval(secs => least(${RETRY_MAX_S}, ${RETRY_MIN_S} * 2 ^ least(failures, 20))::double precision),
           due_at = ${tx.now}
     where tenant_id = ${tx.tenantId} and subject_kind = ${kind} and subject_id = ${id}`.execute(tx.q)
}

/** Tenants with subjects that are due. */
export async function tenantsDue(tx: PlatformTx): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select distinct tenant_id as "tenantId" from due_subjects where due_at <= ${tx.now} and ${isTried(tx.now)}`.execute(
    tx.q,
  )
  return rows.map((row) => row.tenantId)
}
