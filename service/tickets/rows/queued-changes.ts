/** Writes and ends what tickets carry out of a month end: queued changes, and SIMs that come back. */
import { sql } from 'kysely'
import type { MonthEndKind } from '../../../domain/month-end/month-end.ts'
import type { TenantTx } from '../../../store/tenancy.ts'

/**
 * Records how tickets of a month end ended.
 *
 * @returns the open tickets among those that it had opened, with the month end's cycle and the step
 */
export async function saveEnded(
  tx: TenantTx,
  ended: readonly { readonly ticketId: string; readonly code: string | null; readonly text: string | null }[],
): Promise<{ readonly ticketId: string; readonly cycleKey: string; readonly kind: MonthEndKind }[]> {
  if (ended.length === 0) return []
  const { rows } = await sql<{ ticketId: string; cycleKey: string; kind: MonthEndKind }>`
    update month_end_changes m
       set outcome = case when r.code is null then 'complete' else 'failed' end, code = r.code, detail = r.text
      from jsonb_to_recordset(${JSON.stringify(ended)}::jsonb) as r("ticketId" uuid, code text, text text)
     where m.ticket_id = r."ticketId" and m.outcome = 'open'
    returning m.ticket_id as "ticketId", m.cycle_key as "cycleKey", m.kind`.execute(tx.q)
  return rows
}

/** Removes SIMs' queued changes, each if it was queued before an instant. */
export async function forgetChanges(
  tx: TenantTx,
  sims: readonly { readonly simId: number; readonly before: Date }[],
): Promise<void> {
  if (sims.length === 0) return
  await sql`
    update sims s
       set pending_pool_id = null, pending_tariff_id = null, pending_unassign = false, pending_since = null,
           version = s.version + 1, updated_at = ${tx.now}
      from unnest(${sims.map(({ simId }) => simId)}::bigint[], ${sims.map(({ before }) => before)}::timestamptz[])
             as r(sim_id, before)
     where s.id = r.sim_id and s.pending_since < r.before`.execute(tx.q)
}
