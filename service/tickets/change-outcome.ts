/**
 * Records how the tickets of a month end ended, in the transaction that ends them. It does not matter whether anyone
 * waits for them.
 */
import { LogLevel } from '../../domain/codes.ts'
import type { MonthEndKind, OpenedChange } from '../../domain/month-end/month-end.ts'
import type { TicketEnd } from '../../domain/temporal/ticket-ends.ts'
import { insertLogEntries } from '../../store/log.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { namedSims } from '../sims/rows/sims.ts'
import { forgetChanges, saveEnded } from './rows/queued-changes.ts'
import type { TicketRecord } from './rows/tickets.ts'

interface ChangeEnd {
  readonly ticket: Pick<TicketRecord, 'id' | 'simId' | 'cause' | 'effectiveAt'>
  readonly end: TicketEnd
}

/**
 * Records the ends of tickets that a month end opened; leaves out other tickets. A completed change is no longer queued.
 * A failed one stays queued, and is logged.
 */
export async function noteMonthEnd(tx: TenantTx, ended: readonly ChangeEnd[]): Promise<void> {
  const own = new Map(ended.filter(({ ticket }) => ticket.cause.by === 'month-end').map((one) => [one.ticket.id, one]))
  const noted = await saveEnded(
    tx,
    [...own.values()].map(({ ticket: { id }, end }) => ({
      ticketId: id,
      ...(end.status === 'complete' ? { code: null, text: null } : { code: end.code, text: end.detail }),
    })),
  )
  const begun = noted.flatMap((one) => {
    const end = own.get(one.ticketId)
    return end === undefined ? [] : [{ ...one, ...end }]
  })
  // Applying a change takes it off the queue. A change that found the SIM in place was not applied, so do it here.
  await forgetChanges(
    tx,
    begun.flatMap(({ kind, end, ticket: { simId, effectiveAt } }) =>
      end.status === 'complete' && effectiveAt !== null && kind !== 'return' ? [{ simId, before: effectiveAt }] : [],
    ),
  )
  const failed = begun.filter(({ end }) => end.status !== 'complete')
  for (const [kind, ofKind] of Map.groupBy(failed, ({ kind }) => kind)) {
    for (const [cycleKey, all] of Map.groupBy(ofKind, ({ cycleKey }) => cycleKey)) {
      await noteFailures(
        tx,
        cycleKey,
        kind,
        all.map(({ ticket: { simId }, ticketId, end: { code, detail } }) => ({ simId, ticketId, code, detail })),
      )
    }
  }
}

/** Logs failures, once per SIM and cycle. Skips entries without a code. */
export async function noteFailures(
  tx: TenantTx,
  cycleKey: string,
  kind: MonthEndKind,
  begun: readonly OpenedChange[],
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
