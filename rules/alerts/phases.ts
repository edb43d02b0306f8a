/** How an alert moves from phase to phase. Pure; tells nothing. */
import type { Cycle } from '../../domain/time/cycle.ts'
import type { RuleOutcome } from '../engine/evaluate.ts'
import type { For, Rule } from '../rule.ts'
import { fingerprintOf } from './edited.ts'
import { partOf } from './keys.ts'
import type { AlertState } from './state.ts'

export interface Observed {
  /** Of a rule that could be decided. */
  readonly outcome: RuleOutcome
  readonly cycle: Cycle
  readonly now: number
}

/** The state after an outcome. */
export function nextState(state: AlertState, observed: Observed): AlertState {
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
      return ended(outcome, met) ? recover({ ...state, phase: 'recovering', since: now }, observed) : state
    case 'recovering':
      if (met && another) return begin(state, observed)
      return ended(outcome, met) ? recover(state, observed) : { ...state, phase: 'firing', since: now }
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

function begin(state: AlertState, observed: Observed): AlertState {
  const { outcome, now } = observed
  const { withdrawn = false, acknowledged, mailedAt, ...rest } = state
  const pending: AlertState = {
    ...rest,
    ...(withdrawn && acknowledged !== undefined ? { acknowledged } : {}),
    ...(withdrawn && mailedAt !== undefined ? { mailedAt } : {}),
    phase: 'pending',
    since: now,
    began: now,
    // What was withdrawn and comes back goes on.
    episode: withdrawn ? Math.max(1, state.episode) : state.episode + 1,
    occurrence: outcome.rule.event.params.once === 'occurrence' ? outcome.occurrence : null,
  }
  return fireWhenDue({ ...pending, pendingFor: fingerprintOf(outcome.rule) }, observed)
}

/** A pending alert begins to wait anew if its rule was edited meanwhile. States of releases before that do not know. */
function ofRule(pending: AlertState, { outcome: { rule }, now }: Observed): AlertState {
  const pendingFor = fingerprintOf(rule)
  const isEdited = (pending.pendingFor ?? pendingFor) !== pendingFor
  return { ...pending, pendingFor, ...(isEdited ? { since: now, began: now } : {}) }
}

const withoutRule = ({ pendingFor: _, ...state }: AlertState): AlertState => state

function fireWhenDue(pending: AlertState, { outcome, cycle, now }: Observed): AlertState {
  if (now - pending.since < forMs(outcome.rule, cycle)) return pending
  const again = isReturn(outcome.rule, pending) ? { returns: (pending.returns ?? 0) + 1, hasEnded: false } : {}
  const firing: AlertState = { ...withoutRule(pending), ...again, phase: 'firing', since: now }
  return { ...firing, part: partOf(outcome.rule, firing) }
}

/** Resolves an alert that has recovered for as long as its rule keeps it firing. */
const recover = (recovering: AlertState, observed: Observed): AlertState =>
  observed.now - recovering.since < keepFiringMs(observed.outcome.rule, observed.cycle)
    ? recovering
    : end(recovering, observed)

/** The state after the conditions of a firing alert have ended. */
function end(state: AlertState, { outcome, now }: Observed): AlertState {
  const mark = `fired${state.part ?? partOf(outcome.rule, state)}`
  const wasTold = state.told.includes(mark) || (state.mailed ?? []).includes(mark)
  return { ...state, phase: 'resolved', since: now, hasEnded: wasTold }
}

/** Whether a rule that fires once a cycle fires again, after an episode that people know of. That is told as a return. */
const isReturn = ({ event, resolve }: Rule, { told, hasEnded = told.includes('resolved') }: AlertState): boolean =>
  event.params.once === 'cycle' && resolve !== 'none' && hasEnded

/** How long a rule's conditions must be met before it fires, in milliseconds. */
export const forMs = ({ for: lasting }: Rule, cycle: Cycle): number => msOf(lasting, cycle)

/** How long an alert goes on firing after its conditions have ended, in milliseconds. */
export const keepFiringMs = ({ keepFiring }: Rule, cycle: Cycle): number => msOf(keepFiring, cycle)

const msOf = (lasting: For, { startsAt, endsAt }: Cycle): number =>
  'ms' in lasting ? lasting.ms : Math.round(((endsAt - startsAt) * lasting.cyclePct) / 100)
