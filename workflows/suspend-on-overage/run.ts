/** The state of one run of suspend-on-overage, and how it is shown and logged. */
import { ActivityFailure, condition, log, workflowInfo } from '@temporalio/workflow'
import type { SimAction } from '../../domain/enforcement/enforcement.ts'
import type { SuspendedUntil } from '../../domain/enforcement/suspend.ts'
import type {
  SuspendOnOverageInput,
  SuspendOnOverageResult,
  SuspendOnOverageState,
} from '../../domain/temporal/suspend-on-overage.ts'
import { short } from '../run/activities.ts'
import { heedTicketEnds, type TicketEnds } from '../run/tickets.ts'
import { openTimeline, showState, type TimelineWriter } from '../run/timeline.ts'
import type { Demand, Mailbox } from './messages.ts'

type Counts = Partial<Record<SimAction, number>>
type Phase = SuspendOnOverageState['phase']
type Failure = NonNullable<SuspendOnOverageResult['failure']>

/** The state of a run. Only this file changes it: outside, {@link SuspendRun} is read only. */
interface OwnRun {
  readonly input: SuspendOnOverageInput
  readonly mailbox: Mailbox
  readonly ends: TicketEnds
  /** End of the cycle in epoch milliseconds. */
  readonly boundaryAt: number
  readonly state: {
    phase: Phase
    until: SuspendedUntil
    suspendTickets: readonly string[]
    activateTickets: readonly string[]
    reason: string
  }
  readonly timeline: TimelineWriter
  /** End of the grace period in epoch milliseconds; null if none runs. */
  graceEndsAt: number | null
  /** The grace of this overage has passed. Another attempt to suspend gets no grace. */
  gracePassed: boolean
  isSuspended: boolean
  /** How long the suspension lasts, as the service has recorded it. */
  recordedUntil: SuspendedUntil
  /** How often this run has taken each action. Makes its log entries unique. */
  readonly counts: Counts
  /** Where the counters begin. A later run under the same workflow id writes new log entries. */
  readonly countFrom: number
  /** Failed attempts in a row. They determine the pause before the next one. */
  failures: number
  failure: Failure | null
}
export type SuspendRun = Readonly<Omit<OwnRun, 'state' | 'counts'>> & {
  readonly state: Readonly<OwnRun['state']>
  readonly counts: Readonly<Counts>
}

/** The state passed on to a continued run. */
export interface Carried {
  readonly demand: Demand
  readonly gracePassed: boolean
  readonly isSuspended: boolean
  readonly recordedUntil: SuspendedUntil
  readonly state: SuspendOnOverageState
  readonly counts: Counts
  readonly countFrom: number
  readonly failures: number
}

export const beginRun = (input: SuspendOnOverageInput, mailbox: Mailbox, carried?: Carried): SuspendRun => ({
  input,
  mailbox,
  ends: heedTicketEnds(),
  boundaryAt: Date.parse(input.cycleEndsAt),
  state: {
    phase: carried?.state.phase ?? 'idle',
    until: carried?.state.until ?? input.until,
    suspendTickets: [...(carried?.state.suspendTickets ?? [])],
    activateTickets: [...(carried?.state.activateTickets ?? [])],
    reason: carried?.state.reason ?? 'started',
  },
  timeline: openTimeline(carried?.state),
  graceEndsAt: null,
  gracePassed: carried?.gracePassed ?? false,
  isSuspended: carried?.isSuspended ?? false,
  recordedUntil: carried?.recordedUntil ?? input.until,
  counts: { ...carried?.counts },
  countFrom: carried?.countFrom ?? (input.takeOver === true ? Date.now() : 0),
  failures: carried?.failures ?? 0,
  failure: null,
})

/** A copy of the run's state, for the query and for a continued run. */
export const stateOf = ({ state, graceEndsAt, timeline }: SuspendRun): SuspendOnOverageState => ({
  ...state,
  graceEndsAt: graceEndsAt === null ? null : new Date(graceEndsAt).toISOString(),
  suspendTickets: [...state.suspendTickets],
  activateTickets: [...state.activateTickets],
  ...timeline.read(),
})

/** The state for the next run when this one continues as new. */
export const carriedOf = (run: SuspendRun): Carried => {
  const { mailbox, gracePassed, isSuspended, recordedUntil, counts, countFrom, failures } = run
  const { demand } = mailbox
  return { demand, gracePassed, isSuspended, recordedUntil, state: stateOf(run), counts, countFrom, failures }
}

/** Phases that last. Temporal's lists show these; the query's response shows the short ones too. */
const LASTING: ReadonlySet<Phase> = new Set<Phase>(['idle', 'grace', 'held', 'suspended'])

/** Goes to a phase. Only `grace` keeps an end of the grace period. */
function phaseTo(run: OwnRun, phase: Phase, reason: string): void {
  const changed = run.state.phase !== phase
  run.state.phase = phase
  run.state.reason = reason
  if (phase !== 'grace') run.graceEndsAt = null
  if (changed && LASTING.has(phase)) showState(phase)
}

// Events of a run, each with the reason shown to people.

/** The SIM is within its limit, or is left alone: its next overage has a new grace. */
export function endOverage(run: OwnRun): void {
  run.gracePassed = false
}

export function beginGrace(run: OwnRun, endsAt: number, reason: string): void {
  run.graceEndsAt = endsAt
  phaseTo(run, 'grace', reason)
}
/** Its grace has passed, and it is still over. */
export function passGrace(run: OwnRun): void {
  run.gracePassed = true
}

export function beginSuspending(run: OwnRun, reason: string): void {
  run.state.until = run.input.until
  run.recordedUntil = run.input.until
  phaseTo(run, 'suspending', reason)
}
export function addSuspendTicket(run: OwnRun, ticketId: string): void {
  run.state.suspendTickets = [...run.state.suspendTickets, ticketId]
}
export function waitForGuard(run: OwnRun, reason: string): void {
  phaseTo(run, 'held', reason)
}
export function setSuspended(run: OwnRun, reason: string): void {
  run.isSuspended = true
  run.gracePassed = false
  run.failures = 0
  phaseTo(run, 'suspended', reason)
}
/** The run finds that an earlier one has suspended the SIM. */
export function takeOverSuspension(run: OwnRun, until: SuspendedUntil, reason: string): void {
  run.isSuspended = true
  run.state.until = until
  run.recordedUntil = until
  phaseTo(run, 'suspended', reason)
}
/** It is not suspended: refused, discarded, released or taken back. */
export function stayActive(run: OwnRun, reason: string): void {
  phaseTo(run, 'idle', reason)
}
export function failToSuspend(run: OwnRun, failure: Omit<Failure, 'step'>, reason: string): void {
  run.failures += 1
  run.failure = { step: 'suspend', ...failure }
  phaseTo(run, 'idle', reason)
}

/** Sets the length of the suspension, as decided by a person. */
export function keepUntil(run: OwnRun, until: SuspendedUntil, reason: string): void {
  run.state.until = until
  phaseTo(run, run.state.phase, reason)
}
/** The service has stored its length. */
export function noteRecorded(run: OwnRun, until: SuspendedUntil): void {
  run.recordedUntil = until
}

export function beginReturn(run: OwnRun, reason: string): void {
  phaseTo(run, 'activating', reason)
}
export function addActivateTicket(run: OwnRun, ticketId: string): void {
  run.state.activateTickets = [...run.state.activateTickets, ticketId]
}
export function setActive(run: OwnRun, reason: string): void {
  run.isSuspended = false
  run.failure = null
  phaseTo(run, 'idle', reason)
}
/** The suspension is no longer this run's. */
export function letGo(run: OwnRun): void {
  run.isSuspended = false
}
export function failToReturn(run: OwnRun, failure: Omit<Failure, 'step'>, reason: string): void {
  run.failure = { step: 'activate', ...failure }
  phaseTo(run, 'activating', reason)
}
/** A person brings the SIM back. @param phase the phase after the present one */
export function resumeRun(run: OwnRun, phase: Phase, reason: string): void {
  phaseTo(run, phase, reason)
}
export function endRun(run: OwnRun, reason: string): void {
  phaseTo(run, 'ended', reason)
}

/** Whether the suspension is still desired: the SIM is over, and neither the run nor the cycle has ended. */
export const isWanted = ({ mailbox, boundaryAt }: SuspendRun): boolean =>
  mailbox.demand === 'over' && mailbox.ending === null && Date.now() < boundaryAt

/** Waits for a condition, but no longer than the cycle. @returns whether the condition is met */
export async function beforeBoundary(run: SuspendRun, what: () => boolean): Promise<boolean> {
  const left = run.boundaryAt - Date.now()
  return left > 0 ? await condition(what, left) : what()
}

/**
 * Makes the service log an action and notify people of it, once per counter.
 *
 * If the service refuses the entry, enforcement goes on all the same, and the refusal is in the worker's log.
 */
export async function logAction(
  run: OwnRun,
  action: SimAction,
  detail: string,
  ticketId: string | null,
): Promise<void> {
  const { tenantId, simId, cycleKey, rule } = run.input
  const before = run.counts[action] ?? 0
  run.counts[action] = before + 1
  const counter = run.countFrom + before
  const { workflowId } = workflowInfo()
  const entry = { simId, cycle: cycleKey, rule, action, counter, detail, workflowId }
  try {
    await short.logAction({ tenantId, entry: { ...entry, ...(ticketId === null ? {} : { ticketId }) } })
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error
    log.error('the service refuses a log entry', { action, simId, reason: error.cause?.message })
  }
}

/** Pauses between attempts of the run, in milliseconds: a minute at first, an hour at most. */
export const PAUSES = { firstMs: 60_000, longestMs: 3_600_000 }
