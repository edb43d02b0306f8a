/**
 * Due marks: the watchdog's work list. A mark says that a subject is to be evaluated from an instant on.
 * An evaluation clears a mark only if its number is still the one it read, so that a change made meanwhile
 * is evaluated again.
 */
import { sql } from 'kysely'
import type { TenantTx } from './tenancy.ts'

/** What a rule is evaluated for. */
export const SubjectKind = { sim: 1, pool: 2, tenant: 3 } as const
export type SubjectKind = (typeof SubjectKind)[keyof typeof SubjectKind]

export interface Subject {
  readonly kind: SubjectKind
  /** SIM or pool id; 0 for the tenant. */
  readonly id: number
}

/** Marks subjects due at an instant (or keeps an earlier one), and rings for an evaluation where that is now. */
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
  if (at <= tx.now) tx.ring({ queue: 'evaluate' })
}

/** Marks every provisioned SIM, every pool and the tenant due: a new cycle, a new rule set. */
export async function markAllDue(tx: TenantTx, at: Date): Promise<void> {
  await sql`
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select kind, id, ${at}, nextval('due_seq')
      from (select 1 as kind, id from sims where status <> 0
            union all select 2, id from pools
            union all select 3, 0) s
     order by kind, id
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq`.execute(tx.q)
  if (at <= tx.now) tx.ring({ queue: 'evaluate' })
}

/** Marks a pool and every SIM in it due: a change of mode, threshold or capacity. */
export async function markPoolDue(tx: TenantTx, poolId: number): Promise<void> {
  const { rows } = await sql<{ id: number }>`select id from sims where pool_id = ${poolId}`.execute(tx.q)
  await markDue(tx, [
    { kind: SubjectKind.pool, id: poolId },
    ...rows.map(({ id }) => ({ kind: SubjectKind.sim, id })),
  ])
}
