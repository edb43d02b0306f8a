/**
 * Records how the tickets of a month end ended, in the transaction that ends them. It does not matter whether anyone
 * waits for them.
 */
import { LogLevel } from '../../domain/codes.ts'
import type { MonthEndKind, OpenedChange } from '../../domain/month-end/month-end.ts'
import type { TicketEnd } from '../../domain/temporal/ticket-ends.ts'
import { insertLogEntries } from '../../store/log.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { forgetChanges } from '../sims/rows/sim-changes.ts'
import { namedSims } from '../sims/rows/sims.ts'
import { saveEnded } from './rows/batches.ts'
import type { TicketRecord } from './rows/tickets.ts'

/** A ticket, and its end. */
export interface TicketOutcome {
  readonly ticket: TicketRecord
  readonly end: TicketEnd
}

/**
 * Records the ends of tickets that a month end opened; leaves out other tickets. A completed change is no longer queued.
 * A failed one stays queued, and is logged.
 */
export async function noteMonthEnd(tx: TenantTx, ended: readonly TicketOutcome[]): Promise<void> {
  const own = new Map(ended.filter(({ ticket }) => ticket.cause.by === 'month-end').map((one) => [one.ticket.id, one]))
  const outcomes = [...own].map(([ticketId, { end }]) => ({
    ticketId,
    ...(end.status === 'complete' ? { code: null, text: null } : { code: end.code, text: end.detail }),
  }))
  const begun = (await saveEnded(tx, outcomes)).flatMap((one) => {
    const outcome = own.get(one.ticketId)
    return outcome === undefined ? [] : [{ ...one, ...outcome }]
  })
  // Applying a change takes it off the queue. A change that found the SIM in place was not applied, so do it here.
  const applied = begun.flatMap(({ kind, end, ticket: { simId, effectiveAt } }) =>
    end.status === 'complete' && effectiveAt !== null && kind !== 'return' ? [{ simId, before: effectiveAt }] : [],
  )
  await forgetChanges(tx, applied)
  const failed = begun.flatMap(({ cycleKey, kind, ticketId, ticket: { simId }, end: { status, code, detail } }) =>
    status === 'complete' ? [] : [{ cycleKey, kind, simId, ticketId, code, detail }],
  )
  await noteFailures(tx, failed)
}

/** Logs failures, once per SIM and cycle. Skips entries without a code. */
export async function noteFailures(
  tx: TenantTx,
  begun: readonly (OpenedChange & { readonly cycleKey: string; readonly kind: MonthEndKind })[],
): Promise<void> {
  const failed = begun.filter(({ code }) => code !== null)
  if (failed.length === 0) return
  const simIds = failed.map(({ simId }) => simId)
  const sims = await namedSims(tx, simIds)
  const entries = failed.map(({ cycleKey, kind, simId, ticketId, code, detail }) => {
    const { label = String(simId), poolId = null } = sims.get(simId) ?? {}
    const what =
      kind === 'return'
        ? `SIM ${label} was not brought back at the end of cycle ${cycleKey}`
        : `The change queued for SIM ${label} at the end of cycle ${cycleKey} failed and stays queued`
    const ticket = ticketId === null ? '' : ` Ticket ${ticketId}.`
    return {
      dedupeKey: `${kind === 'return' ? 'return' : 'change'}-failed/sim/${simId}/${cycleKey}`,
      rule: null,
      ruleVersion: null,
      simId,
      poolId,
      level: LogLevel.Critical,
      message: `${what}: ${detail} (${code}).${ticket}`,
      cycleKey,
      explanation: { simId, ticketId, code, detail },
    }
  })
  await insertLogEntries(tx, entries)
}
