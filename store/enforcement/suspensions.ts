/** Who suspended a SIM, and for how long. */

import { sql } from 'kysely'
import type { SuspendedUntil } from '../../domain/suspend.ts'
import type { TenantTx } from '../tenancy.ts'

/** Who suspended a SIM, and until when. */
export interface Suspension {
  readonly cause: 'user' | 'watchdog'
  readonly rule: string | null
  readonly cycle: string | null
  readonly until: SuspendedUntil | null
  readonly workflowId: string | null
}

/**
 * Records who suspended a SIM. Replaces its open suspension if there is one: a person's replaces the watchdog's.
 *
 * @returns the workflow of the suspension that was replaced; null if there was none
 */
export async function writeSuspension(tx: TenantTx, simId: number, suspension: Suspension): Promise<string | null> {
  const { rows } = await sql<Pick<Suspension, 'workflowId'>>`
    with was as (select workflow_id from suspensions where sim_id = ${simId} and closed_at is null), is_now as (
      insert into suspensions (sim_id, cause, rule, cycle_key, until, workflow_id, opened_at)
      values (${simId}, ${suspension.cause}, ${suspension.rule}, ${suspension.cycle}, ${suspension.until},
              ${suspension.workflowId}, ${tx.now})
      on conflict (sim_id) where closed_at is null do update
        set cause = excluded.cause, rule = excluded.rule, cycle_key = excluded.cycle_key, until = excluded.until,
            workflow_id = excluded.workflow_id
    )
    select workflow_id as "workflowId" from was`.execute(tx.q)
  return rows[0]?.workflowId ?? null
}

/** Whether a SIM is suspended until a renewal that has come: it contributes to the cycle, and will be resumed. */
export async function isDueBack(tx: TenantTx, simId: number, cycleKey: string): Promise<boolean> {
  const { rows } = await sql`
    select from suspensions
     where sim_id = ${simId} and closed_at is null and cause = 'watchdog' and until = 'renewal'
       and cycle_key < ${cycleKey}`.execute(tx.q)
  return rows.length > 0
}

/**
 * Changes how long a suspension by the watchdog lasts.
 *
 * @returns its previous value; undefined if the SIM is not suspended by that workflow
 */
export async function setSuspensionUntil(
  tx: TenantTx,
  simId: number,
  { workflowId, until }: { readonly workflowId: string; readonly until: SuspendedUntil },
): Promise<Suspension['until'] | undefined> {
  const { rows } = await sql<{ before: Suspension['until'] }>`
    with was as (
      select sim_id, until from suspensions
       where tenant_id = ${tx.tenantId} and sim_id = ${simId} and closed_at is null and cause = 'watchdog'
         and workflow_id = ${workflowId}
         for update
    )
    update suspensions s set until = ${until}
      from was where s.sim_id = was.sim_id and s.closed_at is null
    returning was.until as before`.execute(tx.q)
  return rows[0]?.before
}

/**
 * Ends a SIM's suspension.
 *
 * @param because who resumed the SIM, or `unassign`
 * @returns the workflow that suspended it; null if none did
 */
export async function closeSuspension(tx: TenantTx, simId: number, because: string): Promise<string | null> {
  const { rows } = await sql<Pick<Suspension, 'workflowId'>>`
    update suspensions set closed_at = ${tx.now}, closed_because = ${because}
     where sim_id = ${simId} and closed_at is null
    returning workflow_id as "workflowId"`.execute(tx.q)
  return rows[0]?.workflowId ?? null
}
