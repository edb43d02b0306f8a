/**
 * Suspends a SIM that is over its limit, and is responsible for its return until the billing cycle is renewed. It
 * carries out the commands of domain/enforcement/suspension.ts, with activities and timers.
 *
 * There is one run per SIM and billing cycle; both are in the workflow id. Cancelling never changes the SIM.
 */
import { condition, continueAsNew, defineSignal, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow'
import type { TicketInput } from '../activities/tickets.ts'
import type { ActionRequest } from '../domain/enforcement/enforcement.ts'
import { beginSuspension, step, withdrawsTicket } from '../domain/enforcement/suspension.ts'
import {
  ACTIVE,
  GO_ON,
  iso,
  type SuspensionCommand,
  type SuspensionEvent,
  type SuspensionFound,
  type SuspensionOutcome,
  type SuspensionState,
  type SuspensionUpdate,
} from '../domain/enforcement/suspension-state.ts'
import { whyNotUpdate } from '../domain/enforcement/suspension-updates.ts'
import { SUSPEND_SIGNALS } from '../domain/temporal/signals.ts'
import type {
  SuspendOnOverageInput,
  SuspendOnOverageResult,
  SuspendOnOverageState,
  SuspendUpdateResult,
} from '../domain/temporal/suspend-on-overage.ts'
import type { Timeline } from '../domain/temporal/timeline.ts'
import { backoffMs } from '../domain/time/backoff.ts'
import { failureOf, logAction, short, stepKey } from './run/activities.ts'
import { endCancelled, heedingCancel } from './run/cancellation.ts'
import { endOrWithdrawn, heedTicketEnds, type TicketEnds } from './run/tickets.ts'
import { answerState, openTimeline, showState, type TimelineWriter } from './run/timeline.ts'

/** The state passed on to a continued run. */
interface CarriedState {
  readonly state: SuspensionState
  readonly timeline: Timeline
}

/** A run; only {@link take} changes its state. */
interface Run {
  readonly input: SuspendOnOverageInput
  state: SuspensionState
  readonly ends: TicketEnds
  readonly timeline: TimelineWriter
}

/** @param carried state of the run that this one continues; absent in the first run */
export async function suspendOnOverage(
  input: SuspendOnOverageInput,
  carried?: CarriedState,
): Promise<SuspendOnOverageResult> {
  const run: Run = {
    input,
    state: carried?.state ?? beginSuspension(input, Date.now(), input.takeOver === true),
    ends: heedTicketEnds(),
    timeline: openTimeline(carried?.timeline),
  }
  // A handler only notes the signal; the body decides. So a signal may come at any moment, even before its workflow.
  for (const signal of SUSPEND_SIGNALS)
    setHandler(defineSignal(signal), () => void take(run, { type: 'signal', signal }))
  answerState(() => stateOf(run))
  const living = heedingCancel(
    () => untilItsEnd(run),
    () => void take(run, { type: 'signal', signal: 'cancelled' }),
  )
  // Only now, when the first phase has begun: it decides about updates sent before the run.
  takeUpdates(run)
  const outcome = await living
  showState(outcome)
  const { counts, failure } = run.state
  const { suspended = 0, broughtBack = 0 } = counts
  const result: SuspendOnOverageResult = { outcome, suspended, broughtBack, failure }
  if (outcome === 'cancelled') endCancelled(result, 'cancelled; the SIM stays as it is')
  return result
}

/** A copy of the run's state, for the query. */
function stateOf({ state, timeline }: Run): SuspendOnOverageState {
  const { phase, until, suspendTickets, activateTickets, reason } = state
  const graceEndsAt = state.graceEndsAt === null ? null : iso(state.graceEndsAt)
  return { phase, until, suspendTickets, activateTickets, reason, graceEndsAt, ...timeline.read() }
}

/** Phases that last. Temporal's lists show these; the query's response shows the short ones too. */
const LASTING: ReadonlySet<SuspensionState['phase']> = new Set(['idle', 'grace', 'held', 'suspended'])

/** Takes an event. @returns the commands that follow */
function take(run: Run, event: SuspensionEvent): readonly SuspensionCommand[] {
  const { state, commands } = step(run.state, event, Date.now())
  const isNew = state.phase !== run.state.phase
  run.state = state
  if (isNew && LASTING.has(state.phase)) showState(state.phase)
  return commands
}

/** Handles updates from now on, and earlier ones at once. A handler only notes the update, so it returns at once. */
function takeUpdates(run: Run): void {
  for (const name of ['resume', 'keepSuspended', 'extendGrace'] as const) {
    const validator = (ask: SuspensionUpdate['ask']) => {
      const why = whyNotUpdate(run.state, { name, ask })
      if (why !== null) throw new Error(why)
    }
    const handle = (ask: SuspensionUpdate['ask']): SuspendUpdateResult => {
      take(run, { type: 'update', update: { name, ask } })
      const { phase, graceEndsAt, until, reason } = stateOf(run)
      run.timeline.done(name, reason)
      return { phase, graceEndsAt, until, reason }
    }
    setHandler(defineUpdate<SuspendUpdateResult, [SuspensionUpdate['ask']]>(name), handle, { validator })
  }
}

/** Whether the run may continue as new now, and should. */
const isLong = ({ state }: Run): boolean =>
  state.at.on === 'rest' && state.ending === null && workflowInfo().continueAsNewSuggested

async function untilItsEnd(run: Run): Promise<SuspensionOutcome> {
  for (let event = GO_ON; ; ) {
    const { input, state, timeline } = run
    if (isLong(run)) await continueAsNew<typeof suspendOnOverage>(input, { state, timeline: timeline.read() })
    const commands = take(run, event)
    event = GO_ON
    for (const command of commands) {
      if (command.do === 'end') return command.outcome
      event = await carryOut(run, command)
    }
  }
}

/** Commands whose failure is an answer. Others are retried until they succeed; a refusal of these fails the run. */
const ANSWERED: ReadonlySet<SuspensionCommand['do']> = new Set(['look', 'suspend', 'activate', 'awaitTicket'])

async function carryOut(run: Run, command: SuspensionCommand): Promise<SuspensionEvent> {
  try {
    return await answerTo(run, command)
  } catch (error) {
    if (!ANSWERED.has(command.do)) throw error
    return { type: 'failed', ...failureOf(error) }
  } finally {
    run.timeline.goesOn()
  }
}

async function answerTo(run: Run, command: SuspensionCommand): Promise<SuspensionEvent> {
  const { tenantId, simId, cycleKey, rule, cycleEndsAt } = run.input
  const { workflowId } = workflowInfo()
  switch (command.do) {
    case 'note':
      run.timeline.done(command.step, command.outcome, command.ticketId)
      return GO_ON
    case 'log':
      await logAction(tenantId, entryOf(run, command))
      return GO_ON
    case 'wait':
      run.timeline.waits(command.what, command.why, iso(command.until))
      await waitOn(run, command)
      return GO_ON
    case 'passOver':
      await short.passOver({ tenantId, simId, cycleKey })
      return GO_ON
    case 'record': {
      const { until } = command
      return { type: 'recorded', isOwn: await short.setSuspensionUntil({ tenantId, simId, until, workflowId }) }
    }
    case 'look':
      run.timeline.waits('the open tickets of the SIM', 'the last run may have opened one')
      return { type: 'found', found: await untilFound(run) }
    case 'suspend': {
      run.timeline.waits('the service', 'it looks at the SIM once more before it is suspended')
      const ticket = ticketOf(run, 'suspend', command.n)
      return { type: 'answered', answer: await short.openSuspension({ ticket, cycleKey, rule, workflowId }) }
    }
    case 'activate': {
      run.timeline.waits('the service', 'it has to open the ticket that brings the SIM back')
      const ticket = ticketOf(run, 'activate', command.n)
      const { ticketId } = await short.openTicket(
        command.isAtBoundary ? { ...ticket, effectiveAt: cycleEndsAt } : ticket,
      )
      return ticketId === null ? ACTIVE : { type: 'opened', ticketId }
    }
    case 'awaitTicket': {
      const { kind, ticketId } = command
      run.timeline.waits(`ticket ${ticketId}`, `the carrier has to ${kind} the SIM`)
      const withdraws = () => withdrawsTicket(run.state, Date.now())
      // If the carrier is away, a ticket left behind would suspend the SIM in the next cycle with its fresh limit.
      const left = kind === 'suspend' ? Math.max(0, Date.parse(cycleEndsAt) - Date.now()) : null
      return { type: 'ended', ...(await endOrWithdrawn(run.ends, { tenantId, ticketId }, withdraws, left)) }
    }
    case 'end':
      return GO_ON
  }
}

function entryOf({ input }: Run, command: Extract<SuspensionCommand, { do: 'log' }>): ActionRequest {
  const { simId, cycleKey: cycle, rule } = input
  const { action, counter, detail, ticketId } = command
  const entry = { simId, cycle, rule, action, counter, detail, workflowId: workflowInfo().workflowId }
  return ticketId === null ? entry : { ...entry, ticketId }
}

function ticketOf({ input }: Run, kind: 'suspend' | 'activate', n: number): TicketInput {
  const { tenantId, simId, rule, cycleKey: cycle, until } = input
  const cause = { by: 'watchdog', rule, cycle, until, workflowId: workflowInfo().workflowId } as const
  return { tenantId, simId, kind, key: stepKey(`${kind}/${n}`), cause }
}

/** Waits until an instant, or until `goOn` gives another command, or the run should continue as new. */
async function waitOn(run: Run, { at, what }: Extract<SuspensionCommand, { do: 'wait' }>): Promise<void> {
  const isWoken = () => {
    const next = step(run.state, GO_ON, Date.now()).commands.at(-1)
    return next?.do !== 'wait' || next.at !== at || next.what !== what || isLong(run)
  }
  await (at === null ? condition(isWoken) : condition(isWoken, at - Date.now()))
}

/** Pauses while tickets of the SIM are open, in milliseconds. The ends of this workflow's own are signalled. */
const PAUSES = { firstMs: 1000, longestMs: 60_000 }

async function untilFound({ input, ends }: Run): Promise<SuspensionFound> {
  const { tenantId, simId, cycleKey, rule } = input
  const { workflowId } = workflowInfo()
  for (let looks = 1; ; looks++) {
    const seen = ends.count()
    const found = await short.lookAtSuspension({ tenantId, simId, cycleKey, rule, workflowId })
    if (found !== null) return found
    await condition(() => ends.count() > seen, backoffMs(looks, PAUSES))
  }
}
