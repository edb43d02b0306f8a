/**
 * The suspension of a SIM in one billing cycle, as a machine. Pure; instants are epoch milliseconds.
 *
 *   idle ──overLimit──▶ grace ──still over?──▶ suspending ──▶ suspended
 *    ▲                    │ cleared, standDown      │ ▲            │ cleared
 *    │                    │                    held─┘ └─released   │
 *    └────────────────────┴── ticket taken back ────┘              │
 *    └───────────────────────── activating ◀───────────────────────┘
 *
 * personActed and cancelled end it and leave the SIM unchanged; resume and renewed bring the SIM back and end it. At
 * the cycle's end, an overage without a suspension is dropped.
 *
 * The commands are carried out by the workflow suspend-on-overage, with activities and timers; by a replay, at once; and
 * by the timelines of `rules test`, on a model.
 */
import { counted } from '../quantity.ts'
import { isRefusal, type TicketEnd } from '../temporal/ticket-ends.ts'
import { backoffMs } from '../time/backoff.ts'
import { durationMs } from '../time/duration.ts'
import type { SimAction } from './enforcement.ts'
import {
  boundaryOf,
  end,
  goTo,
  iso,
  type SuspensionCommand,
  type SuspensionDraft,
  type SuspensionEnding,
  type SuspensionEvent,
  type SuspensionOrder,
  type SuspensionOutcome,
  type SuspensionReply,
  type SuspensionState,
} from './suspension-state.ts'
import { takeUpdate } from './suspension-updates.ts'

/** Outcomes requested by a person: enforcement then passes the SIM over for the cycle. */
const BY_PERSON: ReadonlySet<SuspensionOutcome> = new Set<SuspensionOutcome>(['resumed', 'personActed', 'cancelled'])
/** Codes of an activation for a SIM that was unassigned, or changed by another. */
const GONE: ReadonlySet<string> = new Set(['sim_state_conflict', 'sim_not_found'])
/** Pauses between attempts: a minute at first, an hour at most. */
const PAUSES = { firstMs: 60_000, longestMs: 3_600_000 }
/** After about two days of failed activations it ends as failed: a person has to look. */
const RETURN_ATTEMPTS = 48
/** How long before the end of a grace its warning comes: a tenth of the grace, at most an hour. */
const warningMs = (graceMs: number): number => Math.min(graceMs / 10, 3_600_000)

/** The watchdog has asked to suspend the SIM. @param takesOver an earlier run of the name may have suspended it */
export const beginSuspension = (order: SuspensionOrder, now: number, takesOver = false): SuspensionState => ({
  order,
  at: { on: takesOver ? 'takeOver' : 'rest' },
  phase: 'idle',
  reason: 'started',
  demand: 'over',
  overs: 0,
  ending: null,
  guard: null,
  until: order.until,
  recordedUntil: order.until,
  isSuspended: false,
  isLetGo: false,
  suspendTickets: [],
  activateTickets: [],
  graceEndsAt: null,
  gracePassed: false,
  counts: {},
  countFrom: takesOver ? now : 0,
  failures: 0,
  failure: null,
})

/**
 * Takes an event. Signals and updates are only noted: they give no commands.
 *
 * @returns the new state, and the commands to carry out in their order. The next event answers the last of them; if
 *   there is none, it is `goOn`
 */
export function step(
  before: SuspensionState,
  event: SuspensionEvent,
  now: number,
): { readonly state: SuspensionState; readonly commands: readonly SuspensionCommand[] } {
  const run: SuspensionDraft = { ...before, now, commands: [] }
  if (event.type === 'goOn') goOn(run)
  else if (event.type === 'signal') receive(run, event.signal)
  else if (event.type === 'update') takeUpdate(run, event.update)
  else takeReply(run, event)
  const { now: _, commands, ...state } = run
  return { state, commands }
}

/** Whether the ticket that is waited for is to be cancelled, if it is still Pending. */
export const withdrawsTicket = (state: SuspensionState, now: number): boolean =>
  state.isSuspended ? isKept(state) : !isWanted({ ...state, now })

/** Whether the suspension is still desired: the SIM is over, and neither the run nor the cycle has ended. */
const isWanted = (run: SuspensionState & Pick<SuspensionDraft, 'now'>): boolean =>
  run.demand === 'over' && run.ending === null && run.now < boundaryOf(run)

/** Whether the suspended SIM stays as it is, because a person has cancelled the run or acted. */
const isKept = ({ ending }: SuspensionState): boolean => ending === 'cancelled' || ending === 'personActed'

function receive(run: SuspensionDraft, signal: Extract<SuspensionEvent, { type: 'signal' }>['signal']): void {
  if (signal === 'overLimit') {
    run.overs += 1
    run.isLetGo = false
    if (run.demand !== 'discarded') run.demand = 'over'
  } else if (signal === 'cleared') run.demand = 'cleared'
  else if (signal === 'standDown') run.demand = 'stoodDown'
  else if (signal === 'guardReleased') run.guard = 'released'
  else if (signal === 'guardDiscarded') run.guard = 'discarded'
  else end(run, signal)
}

/** Goes on after a wait, or a command without an answer. */
function goOn(run: SuspensionDraft): void {
  const { at } = run
  if (at.on === 'rest') return run.isSuspended ? staySuspended(run) : stayActive(run)
  if (at.on === 'takeOver') return ask(run, at, { do: 'look' })
  if (at.on === 'grace') return sitOutGrace(run, at)
  if (at.on === 'usage') return waitForUsage(run, at)
  if (at.on === 'guard') return waitForGuard(run, at)
  if (at.on === 'retry') return retry(run, at)
  if (at.on === 'suspended') return endIfLate(run)
  if (at.on === 'returnRetry') {
    if (run.now >= at.until || isKept(run)) return bringBack(run, at.attempt + 1)
    return wait(run, 'the next attempt to bring it back', { until: at.until })
  }
  if (at.on === 'return') {
    if (run.ending === null) return rest(run)
    return finish(run, run.ending === 'boundary' ? 'renewed' : run.ending)
  }
  if (at.on !== 'end') return
  goTo(run, 'ended', `ended: ${at.outcome}`)
  run.commands.push({ do: 'end', outcome: at.outcome })
}

function takeReply(run: SuspensionDraft, reply: SuspensionReply): void {
  const { at } = run
  if (at.on === 'takeOver') return takeOver(run, reply)
  if (at.on === 'request') return takeAnswer(run, at, reply)
  if (at.on === 'suspendTicket') return endSuspendTicket(run, at, reply)
  if (at.on === 'activation') return takeActivation(run, at, reply)
  if (at.on !== 'record' || reply.type !== 'recorded') return
  run.recordedUntil = at.until
  if (reply.isOwn) endIfLate(run, at.until)
  else rest(run)
}

type At<On extends SuspensionState['at']['on']> = Extract<SuspensionState['at'], { readonly on: On }>

/** While the SIM is active: waits for overLimit, waits out the grace, and suspends it. */
function stayActive(run: SuspensionDraft): void {
  const { order, demand } = run
  // Its next overage has a new grace.
  if (demand !== 'over') run.gracePassed = false
  // A suspension still desired when the cycle ends is not tried again.
  if (run.now >= boundaryOf(run)) end(run, 'boundary')
  if (run.ending !== null) return finish(run, isOfCycle(run.ending) ? 'released' : run.ending)
  if (demand !== 'over') return wait(run, 'its next overage')
  const graceMs = durationMs(order.grace)
  if (graceMs === 0 || run.gracePassed) return suspend(run)
  run.at = { on: 'grace', beganAt: run.now, warnedOf: null }
  run.graceEndsAt = run.now + graceMs
  goTo(run, 'grace', `over its limit; rule ${ruleOf(run)} gives it ${order.grace}`)
  log(run, 'graceStarted', `suspended at ${iso(run.graceEndsAt)} unless it comes back under its limit`)
}

/**
 * Waits out the grace period. It may be extended; the new end then has its own warning. A grace that would end after
 * the cycle lasts until the cycle ends; then the SIM is released.
 */
function sitOutGrace(run: SuspensionDraft, at: At<'grace'>): void {
  const { graceEndsAt: endsAt } = run
  if (endsAt === null || !isWanted(run)) {
    const why = whyReleased(run)
    note(run, 'grace', why)
    giveUp(run, why)
    // A demand that outlasts the cycle must not start another grace.
    refuse(run)
    return log(run, 'released', why)
  }
  if (run.now >= endsAt) {
    run.gracePassed = true
    note(run, 'grace', `passed at ${iso(endsAt)}`)
    return suspend(run)
  }
  const nextAt = at.warnedOf === endsAt ? endsAt : endsAt - warningMs(endsAt - at.beganAt)
  if (run.now < nextAt)
    return wait(run, 'the end of the grace period', { until: endsAt, at: Math.min(nextAt, boundaryOf(run)) })
  run.at = { ...at, warnedOf: endsAt }
  log(run, 'graceEnding', `suspended at ${iso(endsAt)}`)
}

function whyReleased({ ending, demand }: SuspensionState): string {
  if (ending !== null) return `grace ended early: ${ending}`
  if (demand === 'cleared') return 'came back under its limit within the grace period'
  if (demand === 'stoodDown') return 'the watchdog stands down: mode weakened or SIM exempt'
  return 'the billing cycle ended within the grace period'
}

function suspend(run: SuspensionDraft): void {
  const { order, overs: seen } = run
  run.until = order.until
  run.recordedUntil = order.until
  // Earlier decisions of the guard were about an earlier hold.
  run.guard = null
  goTo(run, 'suspending', `over its limit by rule ${ruleOf(run)}`)
  // Counts tickets, not requests: a request refused without a ticket leaves its key unused.
  const n = run.suspendTickets.length + 1
  ask(run, { on: 'request', n, seen }, { do: 'suspend', n })
}

function takeAnswer(run: SuspensionDraft, { n, seen }: At<'request'>, reply: SuspensionReply): void {
  if (reply.type === 'failed') return failToSuspend(run, n, null, reply)
  if (reply.type !== 'answered') return
  const { answer } = reply
  if (answer.do === 'stay') return setSuspended(run, n, null)
  if (answer.do === 'hold') {
    run.at = { on: 'guard', n, holdId: answer.holdId }
    return goTo(run, 'held', `held by the guard: ${GUARD}`)
  }
  if (answer.do === 'wait') {
    const { ticketId } = answer
    run.suspendTickets = [...run.suspendTickets, ticketId]
    return ask(run, { on: 'suspendTicket', n, ticketId }, { do: 'awaitTicket', kind: 'suspend', ticketId })
  }
  const { why, ticketId } = answer
  if (why === 'usage feed is stale') {
    run.at = { on: 'usage', n, seen }
    return goTo(run, 'idle', `not suspended yet: ${STALE}`)
  }
  run.gracePassed = false
  // Count this ticket like any other: with the same key the next request would get this ticket again.
  if (ticketId !== undefined) run.suspendTickets = [...run.suspendTickets, ticketId]
  note(run, `suspend/${n}`, `not suspended: ${why}`, ticketId)
  giveUp(run, `not suspended: ${why}`)
  if (why === 'suspended by a person' || why === 'passed over') end(run, 'personActed')
  if (why === 'discarded by a person') run.demand = 'discarded'
  // The service signals again while the alert fires. A signal during the attempt counts as a new one.
  if (run.overs === seen) refuse(run)
}

const STALE = 'the usage feed is stale: nobody knows whether it is still over'
const GUARD = 'more suspensions at once than the enforcement guard lets through'

/**
 * While the usage feed is stale: waits until an evaluation of new usage asks again, or the suspension is no longer
 * desired. The grace has passed, and is not given again: people had at least as long.
 */
function waitForUsage(run: SuspensionDraft, { n, seen }: At<'usage'>): void {
  if (run.overs === seen && isWanted(run)) return wait(run, 'usage that is received, and evaluated', { why: STALE })
  note(run, `suspend/${n}`, `delayed: ${STALE}`)
  rest(run)
}

/** While the guard holds the suspension: waits for a decision, or until the suspension is no longer desired. */
function waitForGuard(run: SuspensionDraft, { n, holdId }: At<'guard'>): void {
  const outcome = isWanted(run) ? run.guard : 'not wanted any more'
  if (outcome === null) return wait(run, `the release of hold ${holdId}`, { why: GUARD })
  note(run, `suspend/${n}`, `held by the guard (hold ${holdId}): ${outcome}`)
  if (outcome === 'released') return rest(run)
  run.gracePassed = false
  if (outcome === 'discarded') run.demand = 'discarded'
  giveUp(run, `hold ${holdId} of the guard: ${outcome}`)
}

function endSuspendTicket(run: SuspensionDraft, { n, ticketId }: At<'suspendTicket'>, reply: SuspensionReply): void {
  if (reply.type === 'failed') return failToSuspend(run, n, ticketId, reply)
  if (reply.type !== 'ended') return
  const { ended, withdrawn } = reply
  if (ended.status === 'complete') return setSuspended(run, n, ticketId)
  if (ended.status === 'cancelled') {
    // The demand does not show which side cancelled the ticket: the SIM may be over again since.
    const why = withdrawn ? 'its suspend ticket was taken back' : 'a person cancelled its suspend ticket'
    note(run, `suspend/${n}`, why, ticketId)
    if (!withdrawn) end(run, 'personActed')
    return giveUp(run, why)
  }
  if (!isRefusal(ended)) return failToSuspend(run, n, ticketId, ended)
  // Logged once. A later overLimit finds whether it is of another episode.
  const why = noteFailure(run, n, ticketId, ended)
  giveUp(run, `the carrier refuses to suspend it (${why})`)
  refuse(run)
  log(run, 'suspendFailed', `${why}; not tried again before the rule fires anew, or a person asks`, ticketId)
}

function setSuspended(run: SuspensionDraft, n: number, ticketId: string | null): void {
  note(run, `suspend/${n}`, 'complete', ticketId)
  run.at = { on: 'suspended' }
  run.isSuspended = true
  run.gracePassed = false
  run.failures = 0
  run.isLetGo = false
  goTo(run, 'suspended', `suspended by rule ${ruleOf(run)} until ${run.until}`)
  const { rule } = run.order
  log(run, 'suspended', `${rule === null ? 'as a person asked' : `by rule ${rule}`} ${untilText(run)}`, ticketId)
}

type Failure = Pick<TicketEnd, 'code' | 'detail'>

function noteFailure(run: SuspensionDraft, n: number, ticketId: string | null, { code, detail }: Failure): string {
  note(run, `suspend/${n}`, `${code}: ${detail}`, ticketId)
  run.failures += 1
  run.failure = { step: 'suspend', code, detail }
  return `${code}: ${detail}`
}

function failToSuspend(run: SuspensionDraft, n: number, ticketId: string | null, failure: Failure): void {
  const why = noteFailure(run, n, ticketId, failure)
  goTo(run, 'idle', `suspending failed (${why})`)
  run.at = { on: 'retry', why, until: null }
  log(run, 'suspendFailed', why, ticketId)
}

function retry(run: SuspensionDraft, at: At<'retry'>): void {
  const until = at.until ?? Math.min(run.now + backoffMs(run.failures, PAUSES), boundaryOf(run))
  if (run.now >= until || !isWanted(run)) return rest(run)
  run.at = { ...at, until }
  const why = `suspending failed ${counted(run.failures, 'time')}, the last with ${at.why}`
  wait(run, 'the next attempt to suspend it', { until, why })
}

/** While the SIM is suspended: waits for an event that brings it back. */
function staySuspended(run: SuspensionDraft): void {
  const { until, demand } = run
  if (until !== run.recordedUntil) return ask(run, { on: 'record', until }, { do: 'record', until })
  const isManual = until === 'manual'
  // The month end signals the return, after the SIM's own change. Only a suspension that stays ends by the clock.
  if (isManual && run.now >= boundaryOf(run)) end(run, 'boundary')
  if (isManual && isOfCycle(run.ending)) return finish(run, 'manual')
  if (run.ending !== null || (demand === 'cleared' && !isManual)) return bringBack(run, 1)
  if (demand === 'stoodDown' && !run.isLetGo) {
    run.isLetGo = true
    return log(run, 'staysSuspended', `${untilText(run)}, though the watchdog would no longer suspend it`)
  }
  if (!isManual) return wait(run, 'the renewal of the billing cycle', { at: null })
  const why = `${run.reason}; where nobody acts the workflow ends then, and the SIM stays`
  wait(run, 'a person: resume, keepSuspended, or a ticket', { why })
}

/** Activates the SIM. If tickets fail, retries for about two days. */
function bringBack(run: SuspensionDraft, attempt: number): void {
  if (isKept(run)) return keep(run)
  if (attempt > RETURN_ATTEMPTS) return finish(run, 'failed')
  goTo(run, 'activating', `comes back: ${run.ending ?? 'it is under its limit again'}`)
  const n = run.activateTickets.length + 1
  ask(run, { on: 'activation', n, attempt, ticketId: null }, { do: 'activate', n, isAtBoundary: isOfCycle(run.ending) })
}

function takeActivation(run: SuspensionDraft, at: At<'activation'>, reply: SuspensionReply): void {
  if (reply.type === 'failed') return endActivation(run, at, { status: 'failed', ...reply })
  if (reply.type === 'ended') return endActivation(run, at, reply.ended)
  if (reply.type !== 'opened') return
  const { ticketId } = reply
  run.activateTickets = [...run.activateTickets, ticketId]
  ask(run, { ...at, ticketId }, { do: 'awaitTicket', kind: 'activate', ticketId })
}

function endActivation(run: SuspensionDraft, { n, attempt, ticketId }: At<'activation'>, ended: TicketEnd): void {
  const { status, code, detail } = ended
  note(run, `activate/${n}`, status === 'complete' ? status : `${code}: ${detail}`, ticketId)
  if (status === 'complete') {
    run.at = { on: 'return' }
    run.isSuspended = false
    run.failure = null
    goTo(run, 'idle', 'active again')
    return log(run, 'broughtBack', run.ending ?? 'under its limit again', ticketId)
  }
  if (status === 'cancelled') return keep(run)
  if (GONE.has(code)) {
    run.isSuspended = false
    log(run, 'released', detail)
    return finish(run, 'released')
  }
  run.failure = { step: 'activate', code, detail }
  goTo(run, 'activating', `activation ${attempt} failed (${code}: ${detail}) and is tried again`)
  run.at = { on: 'returnRetry', attempt, until: run.now + backoffMs(attempt, PAUSES) }
}

/** The SIM stays suspended: a person has cancelled the run or the ticket, or has acted. */
const keep = (run: SuspensionDraft): void => finish(run, run.ending === 'cancelled' ? 'cancelled' : 'personActed')

const finish = (run: SuspensionDraft, outcome: SuspensionOutcome): void => {
  run.at = { on: 'end', outcome }
  if (BY_PERSON.has(outcome)) run.commands.push({ do: 'passOver' })
}

/** Finds the suspension of an earlier run: becomes responsible for it again, ends, or goes on, armed if the SIM is over. */
function takeOver(run: SuspensionDraft, reply: SuspensionReply): void {
  if (reply.type === 'failed') {
    note(run, 'take over', `${reply.code}: ${reply.detail}`)
    end(run, 'boundary')
  }
  if (reply.type === 'found') {
    const { suspendedBy, until, overLimit } = reply.found
    const isPast = run.now >= boundaryOf(run)
    if (suspendedBy === 'this') {
      run.isSuspended = true
      run.until = until
      run.recordedUntil = until
      goTo(run, 'suspended', `suspended by an earlier run until ${until}`)
      if (!overLimit && !isPast && run.demand === 'over') run.demand = 'cleared'
    } else if (suspendedBy === 'a person') end(run, 'personActed')
    else if (isPast) end(run, 'boundary')
    else if (!overLimit) refuse(run)
    note(run, 'take over', `suspended by ${suspendedBy}; ${overLimit ? 'over' : 'within'} its limit`)
  }
  if (run.isSuspended) endIfLate(run)
  else rest(run)
}

const untilText = (run: SuspensionDraft): string =>
  run.until === 'manual' ? 'until somebody activates it' : `until the renewal at ${iso(boundaryOf(run))}`

const ruleOf = ({ order }: SuspensionState): string => order.rule ?? 'of a person'

/** Whether the cycle's end has ended the suspension. */
const isOfCycle = (ending: SuspensionEnding | null): ending is 'renewed' | 'boundary' =>
  ending === 'renewed' || ending === 'boundary'

/** The month end may have listed the returning SIMs before this one was recorded: then it sends no `renewed`. */
function endIfLate(run: SuspensionDraft, until = run.until): void {
  if (until === 'renewal' && run.now >= boundaryOf(run)) end(run, 'boundary')
  rest(run)
}

/** The overage stays without a suspension until overLimit comes again. Without effect if the SIM is no longer over. */
function refuse(run: SuspensionDraft): void {
  if (run.demand === 'over') run.demand = 'refused'
}

function giveUp(run: SuspensionDraft, why: string): void {
  rest(run)
  goTo(run, 'idle', why)
}

function rest(run: SuspensionDraft): void {
  run.at = { on: 'rest' }
}

/** Gives a command whose answer is awaited. */
function ask(run: SuspensionDraft, at: SuspensionState['at'], command: SuspensionCommand): void {
  run.at = at
  run.commands.push(command)
}

function note(run: SuspensionDraft, name: string, outcome: string, ticketId: string | null = null): void {
  run.commands.push({ do: 'note', step: name, outcome, ticketId })
}

function log(run: SuspensionDraft, action: SimAction, detail: string, ticketId: string | null = null): void {
  const before = run.counts[action] ?? 0
  run.counts = { ...run.counts, [action]: before + 1 }
  run.commands.push({ do: 'log', action, counter: run.countFrom + before, detail, ticketId })
}

/** Waits until the cycle ends, if not told otherwise. */
function wait(
  run: SuspensionDraft,
  what: string,
  { until = boundaryOf(run), at = until, why = run.reason }: Partial<Extract<SuspensionCommand, { do: 'wait' }>> = {},
): void {
  run.commands.push({ do: 'wait', at, what, until, why })
}
