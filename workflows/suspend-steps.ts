/** The two changes suspend-on-overage makes to its SIM: suspend it, and bring it back. */
import { condition, workflowInfo } from '@temporalio/workflow'
import type { Refusal } from '../activities/enforcement.ts'
import type { TicketAsk, TicketEnd } from '../activities/tickets.ts'
import { failureOf, short, stepKey } from './calls.ts'
import { end } from './suspend-messages.ts'
import { backoffMs, phaseTo, type SuspendRun, tell } from './suspend-run.ts'
import { endOfTicket } from './tickets.ts'

/** After two days of failed activations the run gives up, and says so: someone has to look. */
const RETURN_ATTEMPTS = 48

function ticketOf(run: SuspendRun, kind: 'suspend' | 'activate', n: number): TicketAsk {
  const { tenantId, simId, rule, cycleKey: cycle, until } = run.input
  const { workflowId } = workflowInfo()
  const cause = { by: 'watchdog', rule, cycle, until, workflowId } as const
  return { tenantId, simId, kind, key: stepKey(`${kind}/${n}`), cause }
}

const waitFor = (run: SuspendRun, ticketId: string, withdraw: () => boolean): Promise<TicketEnd> =>
  endOfTicket({ tenantId: run.input.tenantId, ticketId, waits: run.input.waits }, withdraw)

/** Suspends the SIM if it is still over, enforced and not exempt; takes a Pending ticket back when it is not wanted. */
export async function suspend(run: SuspendRun): Promise<void> {
  const { input, mailbox } = run
  phaseTo(run, 'suspending', `over its limit by rule ${input.rule ?? 'of a person'}`)
  const seen = mailbox.overs
  // Counted apart from the tickets: an ask that was refused leaves its key unused.
  const n = run.state.suspendTickets.length + 1
  const unwanted = () => mailbox.demand !== 'over' || mailbox.ending !== null || Date.now() >= run.boundaryAt
  let ticketId: string | null = null
  try {
    const ask = { ticket: ticketOf(run, 'suspend', n), cycleKey: input.cycleKey, rule: input.rule }
    const answer = await short.openSuspension({ ...ask, workflowId: workflowInfo().workflowId })
    if (answer.do === 'refuse') return refused(run, answer.why, seen)
    if (answer.do === 'wait') {
      ticketId = answer.ticketId
      run.state.suspendTickets.push(ticketId)
      const ended = await waitFor(run, ticketId, unwanted)
      if (ended.status === 'cancelled') return takenBack(run, unwanted())
      if (ended.status === 'failed') return await failed(run, ended, ticketId)
    }
  } catch (error) {
    return await failed(run, failureOf(error), ticketId)
  }
  run.isSuspended = true
  run.failures = 0
  phaseTo(run, 'suspended', `suspended by rule ${input.rule ?? 'of a person'} until ${input.until}`)
  await tell(run, 'suspended', run.state.reason, ticketId)
  // A renewal that passed while the carrier worked found no suspension to signal.
  if (input.until === 'renewal' && Date.now() >= run.boundaryAt) end(mailbox, 'boundary')
}

function refused(run: SuspendRun, why: Refusal, seen: number): void {
  phaseTo(run, 'idle', `not suspended: ${why}`)
  if (why === 'suspended by a person') end(run.mailbox, 'personActed')
  // The service asks again while it fires; what came meanwhile counts as such a new ask.
  if (run.mailbox.overs === seen && run.mailbox.demand === 'over') run.mailbox.demand = 'refused'
}

function takenBack(run: SuspendRun, byThisRun: boolean): void {
  phaseTo(run, 'idle', byThisRun ? 'its suspend ticket was taken back' : 'a person cancelled its suspend ticket')
  if (!byThisRun) end(run.mailbox, 'personActed')
}

async function failed(run: SuspendRun, why: Pick<TicketEnd, 'code' | 'detail'>, ticketId: string | null) {
  const { mailbox } = run
  run.failures += 1
  run.failure = { step: 'suspend', code: why.code, detail: why.detail }
  phaseTo(run, 'idle', `suspending failed (${why.code}: ${why.detail})`)
  await tell(run, 'suspendFailed', `${why.code}: ${why.detail}`, ticketId)
  const left = Math.min(backoffMs(run.failures), run.boundaryAt - Date.now())
  if (left > 0) await condition(() => mailbox.demand !== 'over' || mailbox.ending !== null, left)
  if (Date.now() >= run.boundaryAt) end(mailbox, 'boundary')
}

/**
 * Activates the SIM, trying again for two days when tickets fail.
 *
 * @returns `back`; `released` where it is no longer this run's to bring back (unassigned, or changed by someone);
 *   `kept` where a cancel, a person or a person's cancelling of the ticket keeps it suspended; `failed`
 */
export async function bringBack(run: SuspendRun): Promise<'back' | 'released' | 'kept' | 'failed'> {
  const { mailbox, input } = run
  const keep = () => mailbox.ending === 'cancelled' || mailbox.ending === 'personActed'
  for (let attempt = 1; attempt <= RETURN_ATTEMPTS; attempt += 1) {
    if (keep()) return 'kept'
    const renewed = mailbox.ending === 'renewed' || mailbox.ending === 'boundary'
    phaseTo(run, 'activating', `comes back: ${mailbox.ending ?? 'it is under its limit again'}`)
    const ask = ticketOf(run, 'activate', run.state.activateTickets.length + 1)
    const ended = await activate(run, renewed ? { ...ask, effectiveAt: input.cycleEndsAt } : ask, keep)
    if (ended.status === 'complete') return 'back'
    if (ended.status === 'cancelled') return 'kept'
    if (GONE.has(ended.code)) {
      run.isSuspended = false
      await tell(run, 'released', ended.detail, null)
      return 'released'
    }
    run.failure = { step: 'activate', code: ended.code, detail: ended.detail }
    phaseTo(run, 'activating', `activation ${attempt} failed (${ended.code}: ${ended.detail}) and is tried again`)
    await condition(keep, backoffMs(attempt))
  }
  return 'failed'
}

/** The SIM has been taken out of this run's hands. */
const GONE: ReadonlySet<string> = new Set(['sim_state_conflict', 'sim_not_found'])

async function activate(run: SuspendRun, ask: TicketAsk, keep: () => boolean): Promise<TicketEnd> {
  let ticketId: string | null
  try {
    ticketId = (await short.openTicket(ask)).ticketId
    if (ticketId !== null) {
      run.state.activateTickets.push(ticketId)
      const ended = await waitFor(run, ticketId, keep)
      if (ended.status !== 'complete') return ended
    }
  } catch (error) {
    return { status: 'failed', ...failureOf(error) }
  }
  run.isSuspended = false
  run.failure = null
  phaseTo(run, 'idle', 'active again')
  await tell(run, 'broughtBack', run.mailbox.ending ?? 'under its limit again', ticketId)
  return { status: 'complete', code: '', detail: '' }
}
