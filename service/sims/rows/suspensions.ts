/** Suspensions of SIMs: their origin and length. */

import { sql } from 'kysely'
import type { SuspendedUntil } from '../../../domain/temporal/suspend-on-overage.ts'
import { kept } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** A suspension: its origin and end. */
export interface Suspension {
  readonly cause: 'user' | 'watchdog'
  readonly rule: string | null
  readonly cycle: string | null
  readonly until: SuspendedUntil | null
  readonly workflowId: string | null
}

/** The open suspension of a SIM by a rule; null if there is none. */
export async function openSuspension(tx: TenantTx, simId: number, rule: string) {
  const { rows } = await sql<{ openedAt: Date; until: SuspendedUntil | null; workflowId: string | null }>`
    select opened_at as "openedAt", until, workflow_id as "workflowId" from suspensions
     where sim_id = ${simId} and closed_at is null and cause = 'watchdog' and rule = ${rule}`.execute(tx.q)
  const [row] = rows
  return row === undefined ? null : { ...row, openedAt: row.openedAt.toISOString() }
}

export const BY_PERSON: Suspension = { cause: 'user', rule: null, cycle: null, until: null, workflowId: null }

/**
 * Records suspensions of SIMs. Replaces open ones: a person's replaces the watchdog's.
 *
 * @returns the workflows of the replaced suspensions, by SIM id
 */
export async function writeSuspensions(
  tx: TenantTx,
  suspended: readonly (Suspension & { readonly simId: number })[],
): Promise<Map<number, string>> {
  if (suspended.length === 0) return new Map()
  const ids = suspended.map(({ simId }) => simId)
  const { rows } = await sql<{ simId: number; workflowId: string }>`
    with was as (
      select sim_id, workflow_id from suspensions where sim_id = any(${ids}::bigint[]) and closed_at is null
    ), is_now as (
      insert into suspensions (sim_id, cause, rule, cycle_key, until, workflow_id, opened_at)
      select "simId", cause, rule, cycle, until, "workflowId", ${tx.now}::timestamptz
        from jsonb_to_recordset(${JSON.stringify(suspended)}::jsonb) as r(
               "simId" bigint, cause text, rule text, cycle text, until text, "workflowId" text)
       order by "simId"
      on conflict (sim_id) where closed_at is null do update
        set cause = excluded.cause, rule = excluded.rule, cycle_key = excluded.cycle_key, until = excluded.until,
            workflow_id = excluded.workflow_id
    )
    select sim_id as "simId", workflow_id as "workflowId" from was where workflow_id is not null`.execute(tx.q)
  return new Map(rows.map(({ simId, workflowId }) => [simId, workflowId]))
}

/** How long the watchdog keeps a SIM suspended; null if it does not. */
export async function suspendedUntil(tx: TenantTx, simId: number): Promise<SuspendedUntil | null> {
  const { rows } = await sql<{ until: SuspendedUntil | null }>`
    select until from suspensions
     where tenant_id = ${mine} and sim_id = ${simId} and closed_at is null and cause = 'watchdog'`.execute(tx.q)
  return rows[0]?.until ?? null
}

/** Finds SIMs suspended until a renewal that is now due: they contribute to the cycle, and will be resumed. */
export async function dueBack(tx: TenantTx, simIds: readonly number[], cycleKey: string): Promise<Set<number>> {
  if (simIds.length === 0) return new Set()
  const { rows } = await sql<{ simId: number }>`
    select sim_id as "simId" from suspensions
     where sim_id = any(${[...simIds]}::bigint[]) and closed_at is null and cause = 'watchdog' and until = 'renewal'
       and cycle_key < ${cycleKey}`.execute(tx.q)
  return new Set(rows.map(({ simId }) => simId))
}

/**
 * Changes how long a suspension by the watchdog lasts.
 *
 * @returns its previous value; undefined if the SIM is not suspended by that workflow
 */
export async function writeSuspensionUntil(
  tx: TenantTx,
  simId: number,
  { workflowId, until }: { readonly workflowId: string; readonly until: SuspendedUntil },
): Promise<Suspension['until'] | undefined> {
  const { rows } = await sql<{ before: Suspension['until'] }>`
    with was as (
      select sim_id, until from suspensions
       where tenant_id = ${mine} and sim_id = ${simId} and closed_at is null and cause = 'watchdog'
         and workflow_id = ${workflowId}
         for update
    )
    update suspensions s set until = ${until}
      from was where s.sim_id = was.sim_id and s.closed_at is null
    returning was.until as before`.execute(tx.q)
  return rows[0]?.before
}

/**
 * Ends the suspensions of SIMs.
 *
 * @param ended `because`: the origin of the resume, or `unassign`
 * @returns the workflows of the suspensions, by SIM id
 */
export async function closeSuspensions(
  tx: TenantTx,
  ended: readonly { readonly simId: number; readonly because: string }[],
): Promise<Map<number, string>> {
  if (ended.length === 0) return new Map()
  const { rows } = await sql<{ simId: number; workflowId: string | null }>`${kept}
    update suspensions s set closed_at = ${tx.now}, closed_because = r.because
      from unnest(${ended.map(({ simId }) => simId)}::bigint[], ${ended.map(({ because }) => because)}::text[])
             as r(sim_id, because)
     where s.sim_id = r.sim_id and s.closed_at is null
    returning s.sim_id as "simId", s.workflow_id as "workflowId"`.execute(tx.q)
  return new Map(rows.flatMap(({ simId, workflowId }) => (workflowId === null ? [] : [[simId, workflowId]])))
}
