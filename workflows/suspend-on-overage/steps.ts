/** Suspends the SIM: retries as long as the suspension is desired, and waits if the guard holds it. */

import { condition, workflowInfo } from '@temporalio/workflow'
import type { SuspensionResult } from '../../activities/enforcement.ts'
import type { TicketInput } from '../../activities/tickets.ts'
import { isRefusal, type TicketEnd } from '../../domain/temporal/ticket-ends.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { failureOf, short, stepKey } from '../run/activities.ts'
import { endOrWithdrawn, type Waited } from '../run/tickets.ts'
import { discard, end, forgetGuard, refuse } from './messages.ts'
import {
  addSuspendTicket,
  beforeBoundary,
  beginSuspending,
  endOverage,
  failToSuspend,
  isWanted,
  logAction,
  PAUSES,
  type SuspendRun,
  setSuspended,
  stayActive,
  waitForGuard,
} from './run.ts'

type Refused = Extract<SuspensionResult, { do: 'refuse' }>

/** The request for the run's `n`th ticket of a kind, counted from 1. Its idempotency key follows from both. */
export function ticketOf(run: SuspendRun, kind: 'suspend' | 'activate', n: number): TicketInput {
  const { tenantId, simId, rule, cycleKey: cycle, until } = run.input
  const { workflowId } = workflowInfo()
  const cause = { by: 'watchdog', rule, cycle, until, workflowId } as const
  return { tenantId, simId, kind, key: stepKey(`${kind}/${n}`), cause }
}

/**
 * Waits for a ticket's end.
 *
 * @param withdraw once this is true, a Pending ticket is cancelled. So is a suspend ticket at the end of the cycle.
 */
export async function waitFor(
  run: SuspendRun,
  kind: 'suspend' | 'activate',
  ticketId: string,
  withdraw: () => boolean,
): Promise<Waited> {
  const ticket = { tenantId: run.input.tenantId, ticketId }
  // If the carrier is away, a ticket left behind would suspend the SIM in the next cycle with its fresh limit.
  const wait = kind === 'suspend' ? (what: () => boolean) => beforeBoundary(run, what) : undefined
  run.timeline.waits({ what: `ticket ${ticketId}`, until: null, why: `the carrier has to ${kind} the SIM` })
  const waited = await endOrWithdrawn(run.ends, ticket, withdraw, wait)
  run.timeline.waits(null)
  return waited
}

/** Suspends the SIM if it is still over, enforced and not exempt. Cancels a Pending ticket no longer desired. */
export async function suspend(run: SuspendRun): Promise<void> {
  const { input, mailbox } = run
  beginSuspending(run, `over its limit by rule ${input.rule ?? 'of a person'}`)
  const seen = mailbox.overs
  forgetGuard(mailbox)
  // Counts tickets, not requests: a request refused without a ticket leaves its key unused.
  const n = run.state.suspendTickets.length + 1
  const step = `suspend/${n}`
  let ticketId: string | null = null
  try {
    run.timeline.waits({
      what: 'the service',
      until: null,
      why: 'it looks at the SIM once more before it is suspended',
    })
    const ask = { ticket: ticketOf(run, 'suspend', n), cycleKey: input.cycleKey, rule: input.rule }
    const answer = await short.openSuspension({ ...ask, workflowId: workflowInfo().workflowId })
    run.timeline.waits(null)
    if (answer.do === 'refuse' && answer.why === 'usage feed is stale') return await delayed(run, step, seen)
    if (answer.do === 'refuse') return refused(run, step, answer, seen)
    if (answer.do === 'hold') return await held(run, step, answer.holdId)
    if (answer.do === 'wait') {
      ticketId = answer.ticketId
      addSuspendTicket(run, ticketId)
      const { ended, withdrawn } = await waitFor(run, 'suspend', ticketId, () => !isWanted(run))
      // `isWanted` does not show which side cancelled the ticket: the SIM may be over again since.
      if (ended.status === 'cancelled') return takenBack(run, step, ticketId, withdrawn)
      if (isRefusal(ended)) return await refusedByCarrier(run, step, ended, ticketId)
      if (ended.status === 'failed') return await failed(run, step, ended, ticketId)
    }
  } catch (error) {
    return await failed(run, step, failureOf(error), ticketId)
  }
  run.timeline.done(step, 'complete', ticketId)
  setSuspended(run, `suspended by rule ${input.rule ?? 'of a person'} until ${run.state.until}`)
  await logAction(run, 'suspended', run.state.reason, ticketId)
  // If the renewal passed while the carrier worked, it found no suspension to signal.
  if (run.state.until === 'renewal' && Date.now() >= run.boundaryAt) end(mailbox, 'boundary')
}

function refused(run: SuspendRun, step: string, { why, ticketId }: Refused, seen: number): void {
  endOverage(run)
  // Count this ticket like any other: with the same key the next request would get this ticket again.
  if (ticketId !== undefined) addSuspendTicket(run, ticketId)
  run.timeline.done(step, `not suspended: ${why}`, ticketId)
  stayActive(run, `not suspended: ${why}`)
  if (why === 'suspended by a person' || why === 'passed over') end(run.mailbox, 'personActed')
  if (why === 'discarded by a person') discard(run.mailbox)
  // The service signals again while the alert fires. A signal during the attempt counts as a new one.
  if (run.mailbox.overs === seen) refuse(run.mailbox)
}

/**
 * While the usage feed is stale: waits until an evaluation of new usage asks again, or the suspension is no longer
 * desired. The grace has passed, and is not given again: people had at least as long.
 */
async function delayed(run: SuspendRun, step: string, seen: number): Promise<void> {
  const why = 'the usage feed is stale: nobody knows whether it is still over'
  stayActive(run, `not suspended yet: ${why}`)
  run.timeline.waits({ what: 'usage that is received, and evaluated', until: run.input.cycleEndsAt, why })
  await beforeBoundary(run, () => run.mailbox.overs !== seen || !isWanted(run))
  run.timeline.waits(null)
  run.timeline.done(step, `delayed: ${why}`)
}

/** While the guard holds the suspension: waits for a decision, or until the suspension is no longer desired. */
async function held(run: SuspendRun, step: string, holdId: number): Promise<void> {
  const { mailbox, input } = run
  const why = 'more suspensions at once than the enforcement guard lets through'
  waitForGuard(run, `held by the guard: ${why}`)
  run.timeline.waits({ what: `the release of hold ${holdId}`, until: input.cycleEndsAt, why })
  await beforeBoundary(run, () => mailbox.guard !== null || !isWanted(run))
  run.timeline.waits(null)
  const outcome = isWanted(run) ? (mailbox.guard ?? 'dropped') : 'not wanted any more'
  run.timeline.done(step, `held by the guard (hold ${holdId}): ${outcome}`)
  if (outcome === 'released') return
  endOverage(run)
  if (outcome === 'discarded') discard(mailbox)
  stayActive(run, `hold ${holdId} of the guard: ${outcome}`)
}

function takenBack(run: SuspendRun, step: string, ticketId: string, byThisRun: boolean): void {
  const why = byThisRun ? 'its suspend ticket was taken back' : 'a person cancelled its suspend ticket'
  run.timeline.done(step, why, ticketId)
  stayActive(run, why)
  if (!byThisRun) end(run.mailbox, 'personActed')
}

/** Logs once that the carrier has refused for good. A later overLimit finds whether it is of another episode. */
async function refusedByCarrier(run: SuspendRun, step: string, end: TicketEnd, ticketId: string): Promise<void> {
  const { code, detail } = end
  run.timeline.done(step, `${code}: ${detail}`, ticketId)
  failToSuspend(run, { code, detail }, `the carrier refuses to suspend it (${code}: ${detail})`)
  refuse(run.mailbox)
  const again = 'not tried again before the rule fires anew, or a person asks'
  await logAction(run, 'suspendFailed', `${code}: ${detail}; ${again}`, ticketId)
}

async function failed(
  run: SuspendRun,
  step: string,
  { code, detail }: Pick<TicketEnd, 'code' | 'detail'>,
  ticketId: string | null,
): Promise<void> {
  run.timeline.done(step, `${code}: ${detail}`, ticketId)
  failToSuspend(run, { code, detail }, `suspending failed (${code}: ${detail})`)
  await logAction(run, 'suspendFailed', `${code}: ${detail}`, ticketId)
  const at = Math.min(Date.now() + backoffMs(run.failures, PAUSES), run.boundaryAt)
  const why = `suspending failed ${run.failures} time(s), the last with ${code}: ${detail}`
  run.timeline.waits({ what: 'the next attempt to suspend it', until: new Date(at).toISOString(), why })
  if (at > Date.now()) await condition(() => !isWanted(run), at - Date.now())
  run.timeline.waits(null)
  if (Date.now() >= run.boundaryAt) end(run.mailbox, 'boundary')
}
