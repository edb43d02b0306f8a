/** Brings a suspended SIM back, or keeps it suspended at a person's request. */

import { condition, workflowInfo } from '@temporalio/workflow'
import type { TicketInput } from '../../activities/tickets.ts'
import type { TicketEnd } from '../../domain/temporal/ticket-ends.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { failureOf, short } from '../run/activities.ts'
import { end } from './messages.ts'
import {
  addActivateTicket,
  beginReturn,
  failToReturn,
  letGo,
  logAction,
  noteRecorded,
  PAUSES,
  type SuspendRun,
  setActive,
} from './run.ts'
import { ticketOf, waitFor } from './steps.ts'

/** After about two days of failed activations the run gives up and ends as failed: a person has to look. */
const RETURN_ATTEMPTS = 48

/**
 * Activates the SIM. If tickets fail, retries for about two days.
 *
 * @returns `back`; `released` if this run is no longer responsible (the SIM was unassigned, or changed by someone);
 *   `kept` if a cancel, a person's action or a cancelled ticket keeps it suspended; `failed`
 */
export async function bringBack(run: SuspendRun): Promise<'back' | 'released' | 'kept' | 'failed'> {
  const { mailbox, input } = run
  const keep = () => mailbox.ending === 'cancelled' || mailbox.ending === 'personActed'
  for (let attempt = 1; attempt <= RETURN_ATTEMPTS; attempt += 1) {
    if (keep()) return 'kept'
    const renewed = mailbox.ending === 'renewed' || mailbox.ending === 'boundary'
    beginReturn(run, `comes back: ${mailbox.ending ?? 'it is under its limit again'}`)
    const n = run.state.activateTickets.length + 1
    const ask = ticketOf(run, 'activate', n)
    const ended = await activate(run, n, renewed ? { ...ask, effectiveAt: input.cycleEndsAt } : ask, keep)
    if (ended.status === 'complete') return 'back'
    if (ended.status === 'cancelled') return 'kept'
    if (GONE.has(ended.code)) {
      letGo(run)
      await logAction(run, 'released', ended.detail, null)
      return 'released'
    }
    await pauseAfter(run, attempt, ended, keep)
  }
  return 'failed'
}

/** Codes that mean this run is no longer responsible for the SIM. */
const GONE: ReadonlySet<string> = new Set(['sim_state_conflict', 'sim_not_found'])

async function activate(run: SuspendRun, n: number, ask: TicketInput, keep: () => boolean): Promise<TicketEnd> {
  let ticketId: string | null = null
  const ended = await ticketEnd(run, ask, keep, (id) => {
    ticketId = id
  })
  const { status, code, detail } = ended
  run.timeline.done(`activate/${n}`, status === 'complete' ? status : `${code}: ${detail}`, ticketId)
  if (status !== 'complete') return ended
  setActive(run, 'active again')
  await logAction(run, 'broughtBack', run.mailbox.ending ?? 'under its limit again', ticketId)
  return ended
}

async function ticketEnd(
  run: SuspendRun,
  ask: TicketInput,
  keep: () => boolean,
  opened: (ticketId: string) => void,
): Promise<TicketEnd> {
  try {
    run.timeline.waits({ what: 'the service', until: null, why: 'it has to open the ticket that brings the SIM back' })
    const { ticketId } = await short.openTicket(ask)
    run.timeline.waits(null)
    if (ticketId === null) return { status: 'complete', code: '', detail: '' }
    opened(ticketId)
    addActivateTicket(run, ticketId)
    return (await waitFor(run, 'activate', ticketId, keep)).ended
  } catch (error) {
    return { status: 'failed', ...failureOf(error) }
  } finally {
    run.timeline.waits(null)
  }
}

async function pauseAfter(run: SuspendRun, attempt: number, { code, detail }: TicketEnd, keep: () => boolean) {
  const why = `activation ${attempt} failed (${code}: ${detail}) and is tried again`
  failToReturn(run, { code, detail }, why)
  const pauseMs = backoffMs(attempt, PAUSES)
  const until = new Date(Date.now() + pauseMs).toISOString()
  run.timeline.waits({ what: 'the next attempt to bring it back', until, why })
  await condition(keep, pauseMs)
  run.timeline.waits(null)
}

/**
 * Makes the service record how long the suspension lasts: the month end brings back SIMs by this record. Does nothing
 * to a suspension no longer this run's: a person has acted, and a signal follows.
 */
export async function recordUntil(run: SuspendRun): Promise<void> {
  const { tenantId, simId } = run.input
  const { until } = run.state
  const { workflowId } = workflowInfo()
  const recorded = await short.setSuspensionUntil({ tenantId, simId, until, workflowId })
  noteRecorded(run, until)
  // The month end may have listed the returning SIMs before this: then it sends no `renewed`.
  if (recorded && until === 'renewal' && Date.now() >= run.boundaryAt) end(run.mailbox, 'boundary')
}
