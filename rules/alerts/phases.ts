/** Moves alerts from phase to phase. Pure; sends no tellings. */
import type { Cycle } from '../../domain/time/cycle.ts'
import type { RuleOutcome } from '../engine/evaluate-subject.ts'
import type { For, Rule } from '../rule.ts'
import type { AlertState } from './alert-state.ts'
import { fingerprintOf } from './fingerprint-of.ts'
import { partOf } from './keys.ts'

export interface Observation {
  /** Of a rule that could be decided. */
  readonly outcome: RuleOutcome
  readonly cycle: Cycle
  readonly now: number
}

/** The state after an outcome. */
export function nextState(state: AlertState, observed: Observation): AlertState {
  const { outcome, now } = observed
  const { once } = outcome.rule.event.params
  const met = outcome.met && (once !== 'occurrence' || outcome.occurrence !== null)
  const another = once === 'occurrence' && outcome.occurrence !== state.occurrence
  switch (state.phase) {
    case 'inactive':
    case 'resolved':
      return met ? begin(state, observed) : state
    case 'pending':
      if (met && another) return begin(state, observed)
      if (met) return fireWhenDue(ofRule(state, observed), observed)
      return { ...withoutRule(state), phase: state.told.length > 0 ? 'resolved' : 'inactive', since: now }
    case 'firing':
      // A new occurrence replaces the previous one, which does not count as ended.
      if (met && another) return begin(state, observed)
      if (ended(outcome, met)) return recover({ ...state, phase: 'recovering', since: now }, observed)
      return met ? climb(state, observed) : state
    case 'recovering':
      if (met && another) return begin(state, observed)
      if (ended(outcome, met)) return recover(state, observed)
      return climb({ ...state, phase: 'firing', since: now }, observed)
  }
}

/** The state of an alert whose rule no longer covers its subject. */
export const withdrawnState = (state: AlertState, now: number): AlertState => ({
  ...state,
  phase: 'resolved',
  since: now,
  withdrawn: true,
  error: null,
})

/**
 * An episode never ends while the rule's conditions are met. If the rule has clear conditions, they must be met too.
 */
const ended = ({ clear }: RuleOutcome, met: boolean): boolean => !met && clear !== false

function begin(state: AlertState, observed: Observation): AlertState {
  const { outcome, now } = observed
  const { withdrawn = false, acknowledged, mailedAt, steppedAt: _, step, ...rest } = state
  // A rule that fires once a cycle keeps its step: only a return begins from the start, see `fireWhenDue`.
  const isRemembered = withdrawn || outcome.rule.event.params.once === 'cycle'
  const pending: AlertState = {
    ...rest,
    ...(isRemembered && step !== undefined ? { step } : {}),
    ...(withdrawn && acknowledged !== undefined ? { acknowledged } : {}),
    ...(withdrawn && mailedAt !== undefined ? { mailedAt } : {}),
    phase: 'pending',
    since: now,
    began: now,
    // A withdrawn episode continues.
    episode: withdrawn ? Math.max(1, state.episode) : state.episode + 1,
    occurrence: outcome.rule.event.params.once === 'occurrence' ? outcome.occurrence : null,
  }
  return fireWhenDue({ ...pending, pendingFor: fingerprintOf(outcome.rule) }, observed)
}

/** A pending alert waits from the start if its rule was edited since. */
function ofRule(pending: AlertState, { outcome: { rule }, now }: Observation): AlertState {
  const pendingFor = fingerprintOf(rule)
  const isEdited = pending.pendingFor !== pendingFor
  return { ...pending, pendingFor, ...(isEdited ? { since: now, began: now } : {}) }
}

const withoutRule = ({ pendingFor: _, ...state }: AlertState): AlertState => state

function fireWhenDue(pending: AlertState, { outcome, cycle, now }: Observation): AlertState {
  if (now - pending.since < forMs(outcome.rule, cycle)) return pending
  const isAgain = isReturn(outcome.rule, pending)
  const again = isAgain ? { returns: (pending.returns ?? 0) + 1, hasEnded: false } : {}
  const { step: before, ...waiting } = withoutRule(pending)
  const step = highest(isAgain ? undefined : before, outcome)
  const firing: AlertState = {
    ...waiting,
    ...again,
    ...(step === undefined ? {} : { step }),
    phase: 'firing',
    since: now,
  }
  return { ...firing, part: partOf(outcome.rule, firing) }
}

/** The highest step of an episode; undefined without a ladder. */
function highest(before: number | undefined, { rule, step }: RuleOutcome): number | undefined {
  if (rule.ladder === null) return undefined
  return step === undefined ? before : Math.max(step, before ?? step)
}

/**
 * The state of a firing alert after its conditions were met again. A higher step is reported under a separate key,
 * because an acknowledgement of a lower step does not include it.
 */
function climb(firing: AlertState, { outcome, now }: Observation): AlertState {
  const step = highest(firing.step, outcome)
  if (step === undefined || step === firing.step) return firing
  const { acknowledged, ...rest } = firing
  const stepped: AlertState = { ...rest, step }
  const part = partOf(outcome.rule, stepped)
  const isNew = part !== firing.part
  return {
    ...stepped,
    part,
    ...(isNew ? { steppedAt: now } : {}),
    ...(isNew || acknowledged === undefined ? {} : { acknowledged }),
  }
}

/** Resolves an alert after its recovery has lasted for the time given by its rule. */
const recover = (recovering: AlertState, observed: Observation): AlertState =>
  observed.now - recovering.since < keepFiringMs(observed.outcome.rule, observed.cycle)
    ? recovering
    : end(recovering, observed.now)

/** The state after the conditions of a firing alert have ended. */
function end(state: AlertState, now: number): AlertState {
  const mark = `fired${state.part}`
  return { ...state, phase: 'resolved', since: now, hasEnded: state.told.includes(mark) || state.mailed.includes(mark) }
}

/** Whether a rule that fires once a cycle fires again, after a reported episode. It is reported as a return. */
const isReturn = ({ event, resolve }: Rule, { hasEnded }: AlertState): boolean =>
  event.params.once === 'cycle' && resolve !== 'none' && hasEnded

/** How long a rule's conditions must be met before it fires, in milliseconds. */
export const forMs = ({ for: lasting }: Rule, cycle: Cycle): number => msOf(lasting, cycle)

/** How long an alert goes on firing after its conditions have ended, in milliseconds. */
export const keepFiringMs = ({ keepFiring }: Rule, cycle: Cycle): number => msOf(keepFiring, cycle)

const msOf = (lasting: For, { startsAt, endsAt }: Cycle): number =>
  'ms' in lasting ? lasting.ms : Math.round(((endsAt - startsAt) * lasting.cyclePct) / 100)
