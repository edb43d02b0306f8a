/** Decides alert transitions. Pure. */
import { WatchdogMode } from '../../domain/codes.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import { type AlertDecision, decideAlert, levelOf, withdrawAlert } from '../../rules/alerts/decide.ts'
import type { GuardAnswer } from '../../rules/alerts/guard.ts'
import { type Inhibitor, inhibitorOf, inhibitorsAmong } from '../../rules/alerts/inhibit.ts'
import type { Permission } from '../../rules/alerts/permission.ts'
import { type Quiet, quietOf } from '../../rules/alerts/quiet.ts'
import { type AlertState, isOpen, scopeOf } from '../../rules/alerts/state.ts'
import type { StoredAlert } from '../../rules/alerts/stored-alert.ts'
import type { RuleOutcome } from '../../rules/engine/evaluate.ts'
import type { Facts } from '../../rules/facts.ts'
import {
  type Batch,
  type EvaluatedSubject,
  isWatched,
  keyOf,
  mailableOf,
  modeOf,
  permissionOf,
  poolIdOf,
  type SubjectFacts,
  subjectLabel,
} from './evaluation.ts'
import { sharedPoolOf } from './inhibitors.ts'
import { type Occurrence, occurrencesOf } from './occurrences.ts'
import { isOrdered } from './wished-signal.ts'

/** The subject of an alert, with its label for people. */
export interface AlertSubject extends Subject {
  readonly label: string
  /** Null outside pools. */
  readonly poolId: number | null
}

interface Decided {
  readonly about: AlertSubject
  readonly scope: string
  /** The alert before; null if there was none. It may have another scope, if its rule had one. */
  readonly stored: StoredAlert<AlertState> | null
  readonly decision: AlertDecision
}

/** The result of one rule for one subject. */
export interface Evaluation extends Decided {
  readonly subject: EvaluatedSubject
  readonly outcome: RuleOutcome
  readonly permission: Permission
  /** Holds back its notices; null if nothing does. */
  readonly quiet: Quiet | null
  /** Facts of earlier occurrences, by the keys of their tellings. Other tellings have the subject's facts. */
  readonly earlier: ReadonlyMap<string, Facts>
}

/** An alert whose rule no longer covers its subject. */
export interface Withdrawal extends Decided {
  readonly stored: StoredAlert<AlertState>
  /** As a clause: "the SIM is exempt from the watchdog". */
  readonly why: string
}

export interface Decisions {
  readonly evaluations: readonly Evaluation[]
  readonly withdrawals: readonly Withdrawal[]
}

const aboutOf = (subject: SubjectFacts): AlertSubject => ({
  kind: subject.kind,
  id: subject.id,
  label: subjectLabel(subject),
  poolId: poolIdOf(subject),
})

/** The guard's answer about an alert of a rule and a subject. @param stored null if there is none yet */
export type GuardAnswers = (rule: string, subject: Subject, stored: StoredAlert<AlertState> | null) => GuardAnswer

export interface Deciding {
  readonly batch: Batch
  readonly evaluated: readonly EvaluatedSubject[]
  readonly gone: readonly AlertSubject[]
  /** The alerts of all of them. */
  readonly stored: readonly StoredAlert<AlertState>[]
}

/** Decides all alerts of the subjects, and of removed subjects. */
export function decideAll({ batch, evaluated, gone, stored }: Deciding, guard: GuardAnswers): Decisions {
  const bySubject = Map.groupBy(stored, keyOf)
  const alertsOf = (subject: Subject) => bySubject.get(keyOf(subject)) ?? []
  return {
    evaluations: evaluateInOrder(evaluated, alertsOf, guard, batch),
    // The close of an ended cycle ends its open alerts.
    withdrawals: batch.moment.isEnded ? [] : withdrawalsFrom(batch, evaluated, gone, alertsOf),
  }
}

function withdrawalsFrom(
  batch: Batch,
  evaluated: readonly EvaluatedSubject[],
  gone: readonly AlertSubject[],
  alertsOf: (subject: Subject) => readonly StoredAlert<AlertState>[],
): Withdrawal[] {
  return [
    ...evaluated.flatMap((subject) =>
      leftOf(subject, subject.outcomes, alertsOf(subject), batch).map((alert) =>
        withdrawalOf(aboutOf(subject), alert, whyWithdrawn(subject, alert.rule, batch.rules), batch),
      ),
    ),
    ...gone.flatMap((about) =>
      alertsOf(about)
        .filter(isToWithdraw)
        .map((alert) => withdrawalOf(about, alert, whyGone(about), batch)),
    ),
  ]
}

/** Pools first: their alerts inhibit those of their SIMs. */
function evaluateInOrder(
  evaluated: readonly EvaluatedSubject[],
  alertsOf: (subject: Subject) => readonly StoredAlert<AlertState>[],
  guardOf: GuardAnswers,
  batch: Batch,
): Evaluation[] {
  const [pools, others] = [true, false].map((isPool) => evaluated.filter(({ kind }) => (kind === 'pool') === isPool))
  const evaluationsIn = (subjects: readonly EvaluatedSubject[] = [], inhibitors: readonly Inhibitor[]) =>
    subjects.flatMap((subject) => evaluationsOf(subject, alertsOf(subject), { inhibitors, guardOf }, batch))
  const ofPools = evaluationsIn(pools, [])
  const decided = new Set(pools?.map(keyOf))
  const inhibitors = [
    ...inhibitorsAmong(
      batch.poolAlerts.filter((alert) => !decided.has(keyOf(alert))),
      batch.rules,
    ),
    ...inhibitorsAmong(ofPools.map(toInhibiting), batch.rules),
  ]
  return [...ofPools, ...evaluationsIn(others, inhibitors)]
}

const toInhibiting = ({ outcome: { rule }, about: { kind, id }, decision: { next } }: Evaluation) => ({
  rule: rule.name,
  kind,
  id,
  state: next,
})

interface Around {
  /** Alerts of pools. */
  readonly inhibitors: readonly Inhibitor[]
  readonly guardOf: GuardAnswers
}

function evaluationsOf(
  subject: EvaluatedSubject,
  alerts: readonly StoredAlert<AlertState>[],
  { inhibitors, guardOf }: Around,
  { moment: { at, cycle, feed }, silences, rules, escalateAfterMs, deviceChanges, mailsFrom }: Batch,
): Evaluation[] {
  const sharedPoolId = sharedPoolOf(subject)
  const all = inhibitors.filter(({ id }) => id === sharedPoolId)
  const { staleSince } = feed
  const leveled = subject.outcomes.map((outcome) => {
    const scope = scopeOf(outcome.rule, cycle.key)
    const stored = alertOf(alerts, outcome.rule.name, scope)
    const previous = stored?.state ?? null
    return { outcome, scope, stored, previous, level: levelOf({ outcome, cycle, staleSince, previous, now: at }) }
  })
  // An alert inhibits those of lower levels.
  const byLevel = leveled.toSorted((a, b) => b.level - a.level)
  return byLevel.map(({ outcome, scope, stored, previous, level }) => {
    const permission = permissionOf(outcome.rule, level, subject, mailsFrom)
    const quiet =
      quietOf(silences, mailableOf(outcome.rule, level, subject)) ??
      inhibitorOf(all, { rule: outcome.rule, level, subject, sharedPoolId })
    const guard = guardOf(outcome.rule.name, subject, stored)
    const changes = subject.kind === 'sim' ? (deviceChanges.get(subject.id) ?? []) : []
    const occurrences = occurrencesOf(outcome, subject.facts, previous, changes)
    const asking = { subject, cycle, permission, quiet, guard, escalateAfterMs, staleSince, now: at }
    const { decision, earlier } = decideEach(occurrences, previous, (one, state) =>
      decideAlert({ ...asking, outcome: one, previous: state }),
    )
    const about = aboutOf(subject)
    const evaluation: Evaluation = { about, subject, outcome, scope, stored, decision, permission, quiet, earlier }
    all.push(...inhibitorsAmong([toInhibiting(evaluation)], rules))
    return evaluation
  })
}

/** Decides occurrences one after another. The one decision has the tellings of all of them. */
function decideEach(
  occurrences: readonly Occurrence[],
  previous: AlertState | null,
  decide: (outcome: RuleOutcome, state: AlertState | null) => AlertDecision,
): Pick<Evaluation, 'decision' | 'earlier'> {
  const earlier = new Map<string, Facts>()
  const [first, ...rest] = occurrences
  if (first === undefined) throw new Error('a rule without an outcome was decided')
  let decision = decide(first.outcome, previous)
  let { facts } = first
  for (const next of rest) {
    for (const { key } of [...decision.entries, ...decision.notices, ...decision.shadow])
      if (!earlier.has(key)) earlier.set(key, facts)
    const { entries, notices, shadow, counts } = decision
    const then = decide(next.outcome, decision.next)
    decision = {
      ...then,
      entries: [...entries, ...then.entries],
      notices: [...notices, ...then.notices],
      shadow: [...shadow, ...then.shadow],
      counts: counts || then.counts,
    }
    facts = next.facts
  }
  return { decision, earlier }
}

/**
 * The alert of a rule about a subject. If the rule had another scope before, the open alert of that scope continues.
 */
export function alertOf(
  alerts: readonly StoredAlert<AlertState>[],
  rule: string,
  scope: string,
): StoredAlert<AlertState> | null {
  const all = alerts.filter((alert) => alert.rule === rule)
  const own = all.find((alert) => alert.scope === scope) ?? null
  return own !== null && isOpen(own.state) ? own : (all.find(({ state }) => isOpen(state)) ?? own)
}

/** Whether an alert has to be withdrawn once its rule no longer covers its subject. */
export const isToWithdraw = ({ state, lastSignal }: StoredAlert<AlertState>): boolean =>
  isOpen(state) || isOrdered(lastSignal)

/**
 * The alerts of rules that no longer cover a subject. Rules missing only because this build refuses their set still
 * cover it.
 */
export function leftOf(
  subject: SubjectFacts,
  attached: readonly { readonly rule: { readonly name: string } }[],
  alerts: readonly StoredAlert<AlertState>[],
  { isRefused, rules }: Pick<Batch, 'isRefused' | 'rules'>,
): StoredAlert<AlertState>[] {
  if (alerts.length === 0) return []
  const names = new Set(attached.map(({ rule }) => rule.name))
  const isOnlyMissing = (rule: string) => isRefused && isWatched(subject) && !rules.has(rule)
  return alerts.filter((alert) => !names.has(alert.rule) && isToWithdraw(alert) && !isOnlyMissing(alert.rule))
}

function withdrawalOf(
  about: AlertSubject,
  stored: StoredAlert<AlertState>,
  why: string,
  { moment: { at } }: Batch,
): Withdrawal {
  const { rule, scope, state } = stored
  const decision = withdrawAlert({ name: { rule, subject: about, scope }, previous: state, now: at })
  return { about, scope, stored, why, decision }
}

/** Kinds of subjects in a sentence. */
export const NOUNS = { sim: 'SIM', pool: 'pool', tenant: 'tenant' } as const

function whyWithdrawn(subject: SubjectFacts, rule: string, rules: Batch['rules']): string {
  if (subject.kind === 'sim' && subject.row.exempt) return 'the SIM is exempt from the watchdog'
  if (modeOf(subject) === WatchdogMode.Disabled) return `the watchdog is disabled for the ${NOUNS[subject.kind]}`
  const known = rules.get(rule)
  if (known === undefined) return 'the rule was removed'
  if (known.event.params.stage === 'off') return 'the rule was switched off'
  return `the rule no longer covers the ${NOUNS[subject.kind]}`
}

const whyGone = ({ kind }: Subject): string =>
  kind === 'sim' ? 'the SIM is no longer provisioned' : `the ${NOUNS[kind]} was deleted`
