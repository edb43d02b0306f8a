/**
 * Takes a SIM from Unprovisioned to Active. Undoes its own part if a step fails for good, or on a cancel.
 *
 *   provision ticket ──▶ activate ticket ──▶ read back ──▶ activated
 *          └──── failed or cancelled ────▶ unassign ticket ──▶ compensated / cancelled
 *
 * Both tickets are opened at once, one behind the other: the SIM's queue keeps their order. With a tag the second is
 * opened after the first has ended, as the tag is set between them.
 *
 * The service checks as it opens the first ticket. If it refuses, the SIM's state shows whether there is less to do,
 * nothing to do, or no way. Only what a ticket of this run has completed is undone. There is one run at a time per SIM;
 * the workflow id has the SIM's id.
 */

import { condition, workflowInfo } from '@temporalio/workflow'
import type { NextInput, NextResult, SimNow } from '../activities/provision.ts'
import type {
  ProvisionAndActivateInput,
  ProvisionAndActivateResult,
  ProvisionAndActivateState,
} from '../domain/temporal/provision-and-activate.ts'
import type { TicketEnd } from '../domain/temporal/ticket-ends.ts'
import { backoffMs } from '../domain/time/backoff.ts'
import { failureOf, short, stepKey } from './run/activities.ts'
import { type Cancel, endCancelled, heedingCancel } from './run/cancellation.ts'
import { endOfTicket, heedTicketEnds, type OpenTicket, type TicketEnds } from './run/tickets.ts'
import { answerState, openTimeline, showState, type TimelineWriter } from './run/timeline.ts'

/** Pauses while others have tickets open on the SIM, in milliseconds. Those tickets end within seconds. */
const PAUSES = { firstMs: 1000, longestMs: 60_000 }

type Failure = NonNullable<ProvisionAndActivateResult['failure']>
type Step = 'provision' | 'activate' | 'unassign'
interface Run {
  readonly input: ProvisionAndActivateInput
  readonly cancel: Cancel
  readonly timeline: TimelineWriter
  readonly ends: TicketEnds
  step: ProvisionAndActivateState['step']
  /** Ticket ids; null if not opened, or if the SIM was there already. */
  readonly tickets: Record<Step, string | null>
}

export async function provisionAndActivate(input: ProvisionAndActivateInput): Promise<ProvisionAndActivateResult> {
  const timeline = openTimeline()
  const ends = heedTicketEnds()
  const tickets = { provision: null, activate: null, unassign: null }
  const { outcome, failure, run } = await heedingCancel(async (cancel) => {
    const run: Run = { input, cancel, timeline, ends, step: 'checking', tickets }
    answerState((): ProvisionAndActivateState => ({ step: run.step, ...ticketsOf(run), ...timeline.read() }))
    return { ...(await live(run)), run }
  })
  const result = { outcome, failure, ...ticketsOf(run) }
  showState(outcome)
  run.step = 'done'
  if (outcome === 'cancelled') endCancelled(result, 'cancelled; what this run had done is undone')
  return result
}

const ticketsOf = ({ tickets: { provision, activate, unassign } }: Run) => ({
  provisionTicket: provision,
  activateTicket: activate,
  unassignTicket: unassign,
})

type Ending = Pick<ProvisionAndActivateResult, 'outcome' | 'failure'>
type Next = NextResult | { readonly do: 'cancelled' }

const CANCELLED: Ending = { outcome: 'cancelled', failure: null }

async function live(run: Run): Promise<Ending> {
  const { cancel } = run
  const first = await openNext('provision', run)
  if (first.do === 'cancelled') return CANCELLED
  if (first.do === 'refuse') return { outcome: 'failed', failure: { ticketId: null, ...first.refusal } }
  if (first.do !== 'wait') return { outcome: 'alreadyActive', failure: null }
  if (first.kind === 'activate') return await activate(first, run, false)

  run.step = 'provisioning'
  const failure = await follow('provision', run, endOfStep)
  if (failure !== null) return { outcome: cancel.requested ? 'cancelled' : 'failed', failure: told(failure, cancel) }
  const { activate: ticketId } = run.tickets
  if (ticketId !== null) return await activate({ do: 'wait', kind: 'activate', ticketId }, run, true)
  if (cancel.requested) return await undo(run, null)
  run.step = 'activating'
  return await activate(await openNext('activate', run), run, true)
}

/** @param provisioned whether this run's own ticket has provisioned the SIM */
async function activate(next: Next, run: Run, provisioned: boolean): Promise<Ending> {
  const { cancel, input } = run
  run.step = 'activating'
  if (next.do === 'cancelled') return await undo(run, null)
  if (next.do === 'refuse') return await undo(run, { ticketId: null, ...next.refusal })
  // The SIM was activated elsewhere since.
  if (next.do !== 'wait') return { outcome: 'activated', failure: null }

  let sim: SimNow | null = null
  const { tenantId, simId } = input
  const failure = await follow('activate', run, async (_, ticket, withdraw) => {
    const end = await endOfTicket(run.ends, ticket, withdraw)
    if (end.status === 'complete') sim = await short.readSim({ tenantId, simId })
    return end
  })
  // If the SIM was provisioned before this run, a cancel after its activation finds nothing to undo.
  const undone = failure !== null || cancel.requested
  if (undone && provisioned) return await undo(run, told(failure, cancel))
  if (failure !== null) return { outcome: cancel.requested ? 'cancelled' : 'failed', failure: told(failure, cancel) }
  return readBack(run, sim)
}

/** The failure to report. A ticket cancelled by this run is no failure. */
const told = (failure: Failure | null, cancel: Cancel): Failure | null =>
  cancel.requested && failure?.code === 'ticket_cancelled' ? null : failure

/** Opens the next ticket. If others have tickets open on the SIM, waits until they have ended. */
async function openNext(from: 'provision' | 'activate', run: Run): Promise<Next> {
  const { timeline, cancel, input, tickets } = run
  for (let looks = 1; ; looks++) {
    if (cancel.requested) return { do: 'cancelled' }
    const answer = await ask(from, run)
    if (answer.do !== 'later') {
      if (from === 'provision') timeline.done('check', foundBy(answer))
      if (answer.do === 'wait') {
        tickets[answer.kind] = answer.ticketId
        tickets.activate = answer.activateTicketId ?? tickets.activate
      }
      if (answer.do === 'refuse' && from === 'activate') timeline.done(from, wordsOf(answer.refusal))
      return answer
    }
    const why = 'what the SIM will be is open until they have ended'
    const pauseMs = backoffMs(looks, PAUSES)
    const until = new Date(Date.now() + pauseMs).toISOString()
    timeline.waits(`open tickets of SIM ${input.simId}`, why, until)
    await condition(() => cancel.requested, pauseMs)
    timeline.goesOn()
  }
}

const wordsOf = ({ code, detail }: { readonly code: string; readonly detail: string }) => `${code}: ${detail}`

/** The result of the service's check, in words. */
function foundBy(answer: NextResult): string {
  if (answer.do === 'refuse') return wordsOf(answer.refusal)
  if (answer.do === 'stay') return 'Active'
  return answer.do === 'wait' && answer.kind === 'activate' ? 'not activated since it was provisioned' : 'Unprovisioned'
}

async function ask(from: 'provision' | 'activate', { input }: Run): Promise<NextResult> {
  const { tenantId, simId, batchId: _, ...target } = input
  const keys = { provision: stepKey('provision'), activate: stepKey('activate') }
  const ask: NextInput = { tenantId, simId, from, keys, ...target }
  try {
    return await (from === 'provision' ? short.openBothTickets(ask) : short.openNextTicket(ask))
  } catch (error) {
    return { do: 'refuse', refusal: { step: 'check', ...failureOf(error) } }
  }
}

type Wait = (run: Run, ticket: OpenTicket, withdraw: () => boolean) => Promise<TicketEnd>

const endOfStep: Wait = ({ ends }, ticket, withdraw) => endOfTicket(ends, ticket, withdraw)

/** Waits for the end of the step's ticket. @returns why it failed; null if it completed */
async function follow(kind: Step, run: Run, wait: Wait): Promise<Failure | null> {
  const { input, cancel, tickets, timeline } = run
  const ticketId = tickets[kind]
  if (ticketId === null) return null
  timeline.waits(`ticket ${ticketId}`, `the carrier has to ${kind} the SIM`)
  const { tenantId } = input
  const behind = kind === 'provision' ? tickets.activate : null
  const ticket = { tenantId, ticketId, ...(behind === null ? {} : { behind }) }
  // An undo, once begun, runs to its end.
  const withdraw = () => cancel.requested && kind !== 'unassign'
  const why = await wait(run, ticket, withdraw).then(
    ({ status, code, detail }) => (status === 'complete' ? null : { code, detail }),
    failureOf,
  )
  timeline.goesOn()
  timeline.done(kind, why === null ? 'complete' : wordsOf(why), ticketId)
  return why && { step: kind, ticketId, ...why }
}

/** Unassigns the SIM that this run has provisioned. A cancel during the undo changes nothing. */
async function undo(run: Run, failure: Failure | null): Promise<Ending> {
  const asked = run.cancel.requested
  run.step = 'compensating'
  showState('compensating')
  const second = (await openUndo(run)) ?? (await follow('unassign', run, endOfStep))
  if (second === null) return { outcome: asked ? 'cancelled' : 'compensated', failure }
  const first = failure === null ? 'cancelled' : `${failure.step} failed (${wordsOf(failure)})`
  return { outcome: 'failed', failure: { ...second, detail: `${second.detail}; undone because: ${first}` } }
}

/** Opens the ticket that unassigns. @returns why it cannot; null if the ticket is open or there is nothing to undo */
async function openUndo({ input, tickets, timeline }: Run): Promise<Failure | null> {
  const { tenantId, simId } = input
  const cause = { by: 'workflow', workflowId: workflowInfo().workflowId } as const
  try {
    const key = stepKey('unassign')
    const { ticketId } = await short.openTicket({ kind: 'unassign', tenantId, simId, key, cause })
    tickets.unassign = ticketId
    if (ticketId === null) timeline.done('unassign', 'the SIM is Unprovisioned already')
    return null
  } catch (error) {
    const why = failureOf(error)
    timeline.done('unassign', wordsOf(why))
    return { step: 'unassign', ticketId: null, ...why }
  }
}

function readBack({ timeline, input }: Run, sim: SimNow | null): Ending {
  const status = sim?.status ?? 'unknown'
  timeline.done('read back', status)
  if (status === 'Active') return { outcome: 'activated', failure: null }
  const detail = `SIM ${input.simId} was activated and is ${status} again: someone else changed it since`
  return { outcome: 'failed', failure: { step: 'check', ticketId: null, code: 'sim_state_conflict', detail } }
}
