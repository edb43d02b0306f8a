/**
 * Decides an alert's next state after its rule was evaluated. Pure; instants are epoch milliseconds.
 *
 *   inactive ──met──▶ pending ──`for` is over──▶ firing ──clear──▶ resolved ──met──▶ pending …
 *                          └──met no longer──▶ inactive (or resolved)
 *
 * There is one state for each rule, subject and scope ({@link scopeOf}). A rule that could not be decided changes only
 * the state's `error`.
 */

import type { LogLevel } from '../../domain/codes.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { RuleOutcome } from '../engine/evaluate.ts'
import type { Rule } from '../rule.ts'
import type { Resolve } from '../rule-file.ts'

export type AlertPhase = 'inactive' | 'pending' | 'firing' | 'resolved'

/** The state of an alert, stored as JSON. */
export interface AlertState {
  readonly phase: AlertPhase
  /** When the phase began. */
  readonly since: number
  /** How many times its conditions have become met; 0 before the first time. */
  readonly episode: number
  /** The occurrence that it is pending or firing for. Only for rules with `once: occurrence`; otherwise null. */
  readonly occurrence: string | null
  /** Transitions already made, newest last: `fired` or `resolved`, followed by the last part of the key. */
  readonly told: readonly string[]
  /** Why the latest evaluation could not decide the rule; null if it did. */
  readonly error: string | null
}

export interface Transition {
  readonly kind: 'fired' | 'resolved'
  /** Unique within the tenant together with the kind. */
  readonly key: string
  readonly level: LogLevel
  /** When the conditions became met (fired), or the alert ended (resolved). */
  readonly since: number
  /** How the end is notified. A `resolved` transition never has `none`, because such an end makes no transition. */
  readonly resolve: Resolve
}

export interface AlertDecision {
  readonly next: AlertState
  readonly transitions: readonly Transition[]
  /** When a pending `for` ends, and the subject needs another evaluation. */
  readonly nextCheckAt?: number
  /** Whether the alert is firing and its rule suspends. False if the rule could not be decided. */
  readonly wantsSuspend: boolean
}

export interface AlertQuestion {
  readonly outcome: RuleOutcome
  readonly subject: Subject
  readonly cycle: Cycle
  /** State of the same rule, subject and scope; null if there is none yet. */
  readonly previous: AlertState | null
  readonly now: number
}

/** Scope of an alert: the cycle's key if the rule starts again with each cycle, otherwise empty. */
export const scopeOf = (rule: Rule, cycleKey: string): string => (rule.cycleBound ? cycleKey : '')

const UNSEEN: AlertState = { phase: 'inactive', since: 0, episode: 0, occurrence: null, told: [], error: null }
/** Most transitions that a state remembers. Beyond them, the unique key in the database prevents a second log entry. */
const REMEMBERED = 64

/** Decides an alert's next state and its transitions. */
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
      // A new occurrence replaces the previous one, which does not count as ended.
      if (met && another) return begin(state, question)
      return ended(outcome, met) ? resolve(state, question) : quiet(state)
  }
}

/**
 * An episode never ends while the rule's conditions are met. If the rule has clear conditions, they must be met too.
 */
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

/** Makes at most one transition a key and kind, however often the alert comes and goes. */
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
