/** Moves alerts from phase to phase. Pure; sends no tellings. Instants are epoch milliseconds. */
import type { Cycle } from '../../domain/time/cycle.ts'
import type { RuleOutcome } from '../engine/evaluate-subject.ts'
import type { For, Rule } from '../rule.ts'
import type { AlertState } from './alert-state.ts'
import { partOf } from './keys.ts'

interface Observation {
  /** Of a rule that could be decided. */
  readonly outcome: RuleOutcome
  readonly cycle: Cycle
  readonly now: number
}

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

export const withdrawnState = (state: AlertState, now: number): AlertState => ({
  ...state,
  phase: 'resolved',
  since: now,
  withdrawn: true,
  error: null,
})

/** An episode never ends while the rule's conditions are met. Clear conditions, if it has them, must be met too. */
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

const fingerprints = new WeakMap<Rule, string>()

/**
 * A short name for the parts of a rule that decide when it fires: its conditions, its `for`, its subjects and its
 * frequency. Texts, level, stage and actions are left out, and so are the other rules of the set. Two rules share a
 * name by chance once in 10^9.
 */
function fingerprintOf(rule: Rule): string {
  const known = fingerprints.get(rule)
  if (known !== undefined) return known
  const { subject, match, conditions, for: lasting, event } = rule
  const { once, occurrence = null } = event.params
  const fingerprint = hashOf(JSON.stringify([subject, match, conditions, lasting, once, occurrence]))
  fingerprints.set(rule, fingerprint)
  return fingerprint
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5
  for (let n = 0; n < text.length; n += 1) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193)
  return (hash >>> 0).toString(36)
}

const withoutRule = ({ pendingFor: _, ...state }: AlertState): AlertState => state

function fireWhenDue(pending: AlertState, { outcome, cycle, now }: Observation): AlertState {
  const { event, resolve, for: lasting } = outcome.rule
  if (now - pending.since < lastingMs(lasting, cycle)) return pending
  // A rule that fires once a cycle fires again after a reported episode.
  const isAgain = event.params.once === 'cycle' && resolve !== 'none' && pending.hasEnded
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
function recover(recovering: AlertState, { outcome: { rule }, cycle, now }: Observation): AlertState {
  if (now - recovering.since < lastingMs(rule.keepFiring, cycle)) return recovering
  const { told, mailed, part } = recovering
  const mark = `fired${part}`
  return { ...recovering, phase: 'resolved', since: now, hasEnded: told.includes(mark) || mailed.includes(mark) }
}

/** How long a `for` or a `keepFiring` lasts in a cycle, in milliseconds. */
export const lastingMs = (lasting: For, { startsAt, endsAt }: Cycle): number =>
  'ms' in lasting ? lasting.ms : Math.round(((endsAt - startsAt) * lasting.cyclePct) / 100)

/** Whether alerts stand still: the rule's facts of usage are out of date. @param staleSince null: they are not */
export const standsStill = ({ readsUsage }: Rule, staleSince: number | null): staleSince is number =>
  readsUsage && staleSince !== null

/** The state while it stands still. @param from since when, if it does not yet */
export function standStill(state: AlertState, from: number): AlertState {
  if (state.phase !== 'pending' && state.phase !== 'recovering') return state
  return { ...state, stillSince: state.stillSince ?? Math.max(from, state.since) }
}

/** The state once it can be decided again. */
export const goOn = ({ stillSince, ...state }: AlertState, now: number): AlertState =>
  stillSince === undefined ? state : { ...state, since: state.since + Math.max(0, now - stillSince) }
