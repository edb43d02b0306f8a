/**
 * Records how the tickets of a month end ended, in the transaction that ends them. It does not matter whether anyone
 * waits for them.
 */
import { LogLevel } from '../../domain/codes.ts'
import { namedSims } from '../../store/estate/sims.ts'
import { type Begun, forgetChange, type MonthEndKind, saveEnded } from '../../store/month-end/changes.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { TicketRecord } from '../../store/tickets/tickets.ts'
import { insertLogEntries } from '../../store/watchdog/alerts.ts'

/**
 * Records the end of a ticket that a month end opened; does nothing for other tickets. A completed change is no longer
 * queued. A failed one stays queued, and is logged.
 *
 * @param failure null if the ticket is complete
 */
export async function noteMonthEnd(
  tx: TenantTx,
  ticket: Pick<TicketRecord, 'id' | 'simId' | 'cause' | 'effectiveAt'>,
  failure: { readonly code: string; readonly text: string } | null,
): Promise<void> {
  if (ticket.cause.by !== 'month-end') return
  const { id: ticketId, simId, effectiveAt } = ticket
  const begun = await saveEnded(tx, ticketId, failure)
  if (begun === undefined) return
  if (failure !== null) {
    const { code, text } = failure
    await noteFailures(tx, begun.cycleKey, begun.kind, [{ simId, ticketId, code, detail: text }])
  } else if (effectiveAt !== null && begun.kind !== 'return') {
    // Applying a change takes it off the queue. A change that found the SIM in place was not applied, so do it here.
    await forgetChange(tx, simId, effectiveAt)
  }
}

/** Logs failures, once per SIM and cycle. Skips entries without a code. */
export async function noteFailures(
  tx: TenantTx,
  cycleKey: string,
  kind: MonthEndKind,
  begun: readonly Begun[],
): Promise<void> {
  const failed = begun.filter(({ code }) => code !== null)
  if (failed.length === 0) return
  const sims = await namedSims(
    tx,
    failed.map(({ simId }) => simId),
  )
  await insertLogEntries(
    tx,
    failed.map(({ simId, ticketId, code, detail }) => {
      const { label = String(simId), poolId = null } = sims.get(simId) ?? {}
      const ticket = ticketId === null ? '' : ` Ticket ${ticketId}.`
      return {
        dedupeKey: `${kind === 'return' ? 'return' : 'change'}-failed/sim/${simId}/${cycleKey}`,
        rule: null,
        ruleVersion: null,
        simId,
        poolId,
        level: LogLevel.Critical,
        message: `${WHAT[kind === 'return' ? 'return' : 'change'](label, cycleKey)}: ${detail} (${code}).${ticket}`,
        cycleKey,
        explanation: { simId, ticketId, code, detail },
      }
    }),
  )
}

const WHAT = {
  change: (sim: string, cycle: string) =>
    `The change queued for SIM ${sim} at the end of cycle ${cycle} failed and stays queued`,
  return: (sim: string, cycle: string) => `SIM ${sim} was not brought back at the end of cycle ${cycle}`,
}
