/**
 * What becomes of an alert when its rule has been evaluated. Pure; instants are epoch milliseconds.
 *
 *   inactive ──met──▶ pending ──`for` is over──▶ firing ──clear──▶ resolved ──met──▶ pending …
 *                          └──met no longer──▶ inactive (or resolved)
 *
 * One state for each rule, subject and scope ({@link scopeOf}). A rule that could not be decided changes nothing.
 */

import type { LogLevel } from '../../domain/codes.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { RuleOutcome } from '../engine/evaluate.ts'
import type { Rule } from '../rule.ts'
import type { Resolve } from '../rule-file.ts'

export type AlertPhase = 'inactive' | 'pending' | 'firing' | 'resolved'

/** The state of an alert, kept as JSON. */
export interface AlertState {
  readonly phase: AlertPhase
  /** When the phase began. */
  readonly since: number
  /** How many times its conditions have come to be met; 0 before the first. */
  readonly episode: number
  /** Of a rule told once an occurrence: the one it is pending or firing for. */
  readonly occurrence: string | null
  /** What has been told already, newest last: `fired` or `resolved`, and the key's last part. */
  readonly told: readonly string[]
  /** Why the rule could not be decided the last time; null where it was. */
  readonly error: string | null
}

export interface Transition {
  readonly kind: 'fired' | 'resolved'
  /** Unique within the tenant together with the kind. */
  readonly key: string
  readonly level: LogLevel
  /** Since when the conditions were met (fired), or no longer (resolved). */
  readonly since: number
  /** How the end is told; `none` is never seen, such an end makes no transition. */
  readonly resolve: Resolve
}

export interface AlertDecision {
  readonly next: AlertState
  readonly transitions: readonly Transition[]
  /** When a `for` ends: the subject is to be evaluated again then. */
  readonly nextCheckAt?: number
  /** The alert is firing and its rule asks to suspend. Not where it could not be decided. */
  readonly wantsSuspend: boolean
}

export interface AlertQuestion {
  readonly outcome: RuleOutcome
  readonly subject: { readonly kind: SubjectKind; readonly id: number }
  readonly cycle: Cycle
  /** Of the same rule, subject and scope; null where there is none yet. */
  readonly previous: AlertState | null
  readonly now: number
}

/** What a subject's alert is kept by beside the rule: the cycle's key where the rule starts anew with each, else empty. */
export const scopeOf = (rule: Rule, cycleKey: string): string => (rule.cycleBound ? cycleKey : '')

const UNSEEN: AlertState = { phase: 'inactive', since: 0, episode: 0, occurrence: null, told: [], error: null }
/** Occurrences remembered here; beyond them the unique key in the database holds a second telling back. */
const REMEMBERED = 64

/** Decides on an alert. */
export function decideAlert(question: AlertQuestion): AlertDecision {
  const { outcome, now } = question
  const previous = question.previous ?? { ...UNSEEN, since: now }
  if (outcome.error !== undefined) {
    return { next: { ...previous, error: outcome.error }, transitions: [], wantsSuspend: false }
  }
  const { rule } = outcome
  const { next, transitions } = step({ ...previous, error: null }, question)
  return {
    next,
    transitions,
    wantsSuspend: next.phase === 'firing' && rule.event.params.actions.includes('suspend'),
    ...(next.phase === 'pending' ? { nextCheckAt: next.since + forMs(rule, question.cycle) } : {}),
  }
}

type Step = Pick<AlertDecision, 'next' | 'transitions'>
const quiet = (next: AlertState): Step => ({ next, transitions: [] })

function step(state: AlertState, question: AlertQuestion): Step {
  const { outcome, now } = question
  const { once } = outcome.rule.event.params
  const met = outcome.met && (once !== 'occurrence' || outcome.occurrence !== null)
  const another = once === 'occurrence' && outcome.occurrence !== state.occurrence
  switch (state.phase) {
    case 'inactive':
    case 'resolved':
      return met ? begin(state, question) : quiet(state)
    case 'pending':
      if (met && another) return begin(state, question)
      if (met) return fireWhenDue(state, question)
      return quiet({ ...state, phase: state.told.length > 0 ? 'resolved' : 'inactive', since: now })
    case 'firing':
      // A new occurrence takes the place of the one before, which has not ended but been overtaken.
      if (met && another) return begin(state, question)
      return ended(outcome, met) ? resolve(state, question) : quiet(state)
  }
}

/** An episode lasts until its clear conditions are met, where the rule has some, and never ends while its own are. */
const ended = ({ clear }: RuleOutcome, met: boolean): boolean => !met && clear !== false

const begin = (state: AlertState, question: AlertQuestion): Step =>
  fireWhenDue(
    {
      ...state,
      phase: 'pending',
      since: question.now,
      episode: state.episode + 1,
      occurrence: question.outcome.rule.event.params.once === 'occurrence' ? question.outcome.occurrence : null,
    },
    question,
  )

function fireWhenDue(pending: AlertState, question: AlertQuestion): Step {
  const { outcome, cycle, now } = question
  if (now - pending.since < forMs(outcome.rule, cycle)) return quiet(pending)
  const firing: AlertState = { ...pending, phase: 'firing', since: now }
  return transitionTo('fired', firing, question, pending.since)
}

function resolve(state: AlertState, question: AlertQuestion): Step {
  const resolved: AlertState = { ...state, phase: 'resolved', since: question.now }
  return question.outcome.rule.resolve === 'none'
    ? quiet(resolved)
    : transitionTo('resolved', resolved, question, question.now)
}

/** Tells of each key and kind once, however often the alert comes and goes. */
function transitionTo(kind: Transition['kind'], state: AlertState, question: AlertQuestion, since: number): Step {
  const { rule } = question.outcome
  const part = lastPart(rule, state)
  const mark = `${kind}${part}`
  if (state.told.includes(mark)) return quiet(state)
  const key = `${baseKey(question)}${part}`
  return {
    next: { ...state, told: [...state.told, mark].slice(-REMEMBERED) },
    transitions: [{ kind, key, level: rule.level, since, resolve: rule.resolve }],
  }
}

function baseKey({ outcome: { rule }, subject, cycle }: AlertQuestion): string {
  const scope = scopeOf(rule, cycle.key)
  return `${rule.name}/${subject.kind}/${subject.id}${scope === '' ? '' : `/${scope}`}`
}

function lastPart(rule: Rule, state: AlertState): string {
  switch (rule.event.params.once) {
    case 'cycle':
      return ''
    case 'episode':
      return `/episode-${state.episode}`
    case 'occurrence':
      return `/${state.occurrence ?? ''}`
  }
}

function forMs({ for: lasting }: Rule, cycle: Cycle): number {
  return 'ms' in lasting ? lasting.ms : Math.round(((cycle.endsAt - cycle.startsAt) * lasting.cyclePct) / 100)
}
