/** Holds of alerts: what the guard on firing keeps from being told and acted on until a person decides. */
import { sql } from 'kysely'
import type { HoldState } from '../../domain/enforcement/guard.ts'
import { mine, type TenantTx } from '../tenancy.ts'

/** The states of holds, by id. */
export async function holdStates(tx: TenantTx, ids: readonly number[]): Promise<Map<number, HoldState>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: number; state: HoldState }>`
    select id, case when state = 'held' and cycle_ends_at <= ${tx.now} then 'lapsed' else state end as state
      from guard_holds where id = any(${[...ids]}::bigint[])`.execute(tx.q)
  return new Map(rows.map(({ id, state }) => [id, state]))
}

/** Adds subjects to a hold. @returns how many it has held since it opened */
export async function addHeld(tx: TenantTx, id: number, count: number): Promise<number> {
  const { rows } = await sql<{ subjects: number }>`
    update guard_holds set subjects = coalesce(subjects, 0) + ${count}
     where id = ${id} returning subjects`.execute(tx.q)
  return rows[0]?.subjects ?? count
}

/** Condition: alerts that still wait in a hold. Written as the index on them is. */
const waitingIn = (tx: TenantTx, id: number) => sql`
  tenant_id = ${mine} and state #>> '{guard,is}' = 'held' and state #>> '{guard,hold}' = ${String(id)}
  and state ->> 'phase' = 'firing'`

/** How many alerts still wait in a hold. */
export async function countWaiting(tx: TenantTx, id: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from alerts where ${waitingIn(tx, id)}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Marks the subjects due whose alerts wait in a hold. One statement, whatever their number. */
export async function markWaitingDue(tx: TenantTx, id: number): Promise<void> {
  await sql`
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select subject_kind, subject_id, ${tx.now}, nextval('due_seq')
      from (select distinct subject_kind, subject_id from alerts
             where ${waitingIn(tx, id)} order by subject_kind, subject_id) a
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq`.execute(tx.q)
  tx.enqueue({ queue: 'evaluate' })
}

/** Counts the pools that are not deleted. @param enough stops counting here */
export async function poolCount(tx: TenantTx, enough: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count
      from (select 1 from pools where tenant_id = ${mine} and deleted_at is null limit ${enough}) p`.execute(tx.q)
  return rows[0]?.count ?? 0
}
