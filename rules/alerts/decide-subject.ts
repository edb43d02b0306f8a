/**
 * Decides the alerts of a subject: of each the level, the permission, quiet and the guard's answer, then the alert. The
 * service, its look for changes, and tests of rules over time all decide by it. Pure; instants are epoch milliseconds.
 */
import { type LogLevel, SimStatus } from '../../domain/codes.ts'
import { isOrdered } from '../../domain/temporal/signals.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { RuleOutcome } from '../engine/evaluate-subject.ts'
import { statusesOf } from '../engine/match.ts'
import type { DeviceChange } from '../fact-rows.ts'
import type { Facts } from '../facts.ts'
import type { Moment } from '../facts-of.ts'
import type { Rule } from '../rule.ts'
import { type AlertState, isOpen, isSame, type StoredAlert, scopeOf } from './alert-state.ts'
import { type AlertDecision, decideAlert, levelOf } from './decide-alert.ts'
import type { GuardAnswer } from './guard.ts'
import { asWanted, type Permission, permitted } from './permission.ts'
import { type Inhibitor, inhibitorOf, inhibitorsAmong, type OpenSilence, type Quiet, quietOf } from './quiet.ts'
import { isWatched, modeOf, poolIdOf, type SubjectFacts, sharedPoolOf } from './subject.ts'

/** The parts of a stored alert that decisions depend on. */
export type KeptAlert = Pick<StoredAlert, 'rule' | 'kind' | 'id' | 'scope' | 'state' | 'lastSignal'>

/** The guard's answer about an alert of a rule and a subject. @param stored null if there is none yet */
export type GuardAnswers<A = StoredAlert> = (rule: string, subject: Subject, stored: A | null) => GuardAnswer

/** The circumstances of the decisions about all subjects of a tenant. */
export interface Circumstances {
  readonly moment: Moment
  /** The rules in force, by name. */
  readonly rules: ReadonlyMap<string, Rule>
  /** This build refuses the set in force. Requests by the rules of that set are not taken back. */
  readonly isRefused: boolean
  readonly silences: readonly OpenSilence[]
  /** Latest changes of device of SIMs found in several devices lately, oldest first, by SIM. */
  readonly deviceChanges: ReadonlyMap<number, readonly DeviceChange[]>
  /** How long a Critical alert may be without acknowledgement before it is escalated; null: for ever. */
  readonly escalateAfterMs: number | null
  /** The least level of alerts that the tenant gets mailed. */
  readonly mailsFrom: LogLevel
}

export interface Around<A = StoredAlert> extends Circumstances {
  /** Alerts that inhibit those of SIMs, by the pool that the SIMs share. */
  readonly inhibitors: ReadonlyMap<number, readonly Inhibitor[]>
  readonly guardOf: GuardAnswers<A>
}

export interface DecidedAlert<A = StoredAlert> {
  readonly outcome: RuleOutcome
  readonly scope: string
  /** The alert before; null if there was none. It may have another scope, if its rule had one. */
  readonly stored: A | null
  readonly permission: Permission
  /** Holds back its notices; null if nothing does. */
  readonly quiet: Quiet | null
  readonly decision: AlertDecision
  /** Facts of earlier occurrences, by the keys of their tellings. Other tellings have the subject's facts. */
  readonly earlier: ReadonlyMap<string, Facts>
}

/**
 * Decides the alerts of a subject, highest level first: an alert inhibits those of lower levels.
 *
 * @param outcomes of the rules attached to it. Those that are not met and have no alert may be left out
 * @param stored its alerts
 */
export function decideSubject<A extends KeptAlert>(
  subject: SubjectFacts,
  outcomes: readonly RuleOutcome[],
  stored: readonly A[],
  around: Around<A>,
): DecidedAlert<A>[] {
  const { moment, rules, silences, deviceChanges, mailsFrom, escalateAfterMs } = around
  const { at: now, cycle } = moment
  const { staleSince } = moment.feed
  const sharedPoolId = sharedPoolOf(subject)
  const inhibitors = sharedPoolId === null ? [] : [...(around.inhibitors.get(sharedPoolId) ?? [])]
  const leveled = outcomes.map((outcome) => {
    const scope = scopeOf(outcome.rule, cycle.key)
    const alert = alertOf(stored, outcome.rule.name, scope)
    const previous = alert?.state ?? null
    return { outcome, scope, alert, previous, level: levelOf({ outcome, cycle, staleSince, previous, now }) }
  })
  const byLevel = leveled.toSorted((a, b) => b.level - a.level)
  return byLevel.map(({ outcome, scope, alert, previous, level }) => {
    const { rule } = outcome
    const { kind, id } = subject
    const tag = 'tag' in subject.row ? subject.row.tag : null
    const permission = asWanted(permitted(rule.event.params.stage, modeOf(subject)), level, mailsFrom)
    const quiet =
      quietOf(silences, { rule: rule.name, level, subject, poolId: poolIdOf(subject), tag }) ??
      inhibitorOf(inhibitors, { rule, level, subject, sharedPoolId })
    const guard = around.guardOf(rule.name, subject, alert)
    const asked = { subject, cycle, permission, quiet, guard, escalateAfterMs, staleSince, now }
    const changes = kind === 'sim' ? (deviceChanges.get(id) ?? []) : []
    const decided = decideEach(occurrencesOf(outcome, subject.facts, previous, changes), previous, (one, state) =>
      decideAlert({ ...asked, outcome: one, previous: state }),
    )
    inhibitors.push(...inhibitorsAmong([{ rule: rule.name, kind, id, state: decided.decision.next }], rules))
    return { outcome, scope, stored: alert, permission, quiet, ...decided }
  })
}

/** An outcome, and the facts that its message is filled with. */
interface Occurrence {
  readonly outcome: RuleOutcome
  readonly facts: Facts
}

/** The occurrences to decide in turn: the changes of device since the last decision, then the present one. */
function occurrencesOf(
  outcome: RuleOutcome,
  facts: Facts,
  previous: AlertState | null,
  changes: readonly DeviceChange[],
): readonly Occurrence[] {
  const present = { outcome, facts }
  const { once, occurrence } = outcome.rule.event.params
  if (once !== 'occurrence' || occurrence !== 'deviceChange' || !outcome.met) return [present]
  const seen = Number(previous?.occurrence ?? 0)
  const missed = changes.filter(({ n }) => n > seen && n < Number(outcome.occurrence))
  return [
    ...missed.map(({ n, imei }) => ({
      outcome: { ...outcome, occurrence: String(n) },
      facts: { ...facts, imei, deviceChange: n },
    })),
    present,
  ]
}

/** Decides occurrences one after another. The one decision has the tellings of all of them. */
function decideEach(
  occurrences: readonly Occurrence[],
  previous: AlertState | null,
  decide: (outcome: RuleOutcome, state: AlertState | null) => AlertDecision,
): Pick<DecidedAlert, 'decision' | 'earlier'> {
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

/** The alert of a rule about a subject: if the rule had another scope before, the open one of that scope goes on. */
function alertOf<A extends KeptAlert>(alerts: readonly A[], rule: string, scope: string): A | null {
  const all = alerts.filter((alert) => alert.rule === rule)
  const own = all.find((alert) => alert.scope === scope) ?? null
  return own !== null && isOpen(own.state) ? own : (all.find(({ state }) => isOpen(state)) ?? own)
}

/**
 * Outcomes of rules that a provisioned SIM has left by its status since an alert of theirs began: no longer met, so the
 * alert ends. A rule that was edited to leave it out is withdrawn instead, and so are rules from an Unprovisioned SIM.
 *
 * @param attached the rules attached to the subject
 * @param alerts its alerts
 */
export function outcomesLeft<A extends KeptAlert>(
  subject: SubjectFacts,
  attached: readonly { readonly rule: { readonly name: string } }[],
  alerts: readonly A[],
  { moment, rules }: Pick<Circumstances, 'moment' | 'rules'>,
): RuleOutcome[] {
  if (subject.kind !== 'sim' || subject.row.status === SimStatus.Unprovisioned) return []
  if (alerts.length === 0 || moment.isEnded || !isWatched(subject)) return []
  const { status, statusSince } = subject.row
  const names = new Set(attached.map(({ rule }) => rule.name))
  const open = alerts.filter(({ rule, state }) => !names.has(rule) && isOpen(state))
  const since = open.filter(({ state }) => state.began <= statusSince.getTime())
  return [...new Set(since.map(({ rule }) => rule))].flatMap((name): RuleOutcome[] => {
    const rule = rules.get(name)
    const statuses = rule === undefined ? [] : statusesOf(rule.match)
    if (rule === undefined || rule.event.params.stage === 'off' || statuses.includes(status)) return []
    const compared = {
      fact: 'status',
      value: status,
      operator: 'in',
      operand: statuses,
      operandFact: null,
      result: false,
    }
    const clear = rule.clear === null ? {} : { clear: true }
    return [{ rule, met: false, ...clear, occurrence: null, explanation: [compared] }]
  })
}

/** Whether a decision has to be kept: an alert begins, or its state or scope is another. */
export function changesAlert(decided: Pick<DecidedAlert<KeptAlert>, 'stored' | 'scope' | 'decision'>): boolean {
  const { stored, scope, decision } = decided
  const { next } = decision
  if (stored === null) return next.phase !== 'inactive' || next.error !== null
  return stored.scope !== scope || !isSame(stored.state, next)
}

/** Whether an alert has to be withdrawn once its rule no longer covers its subject. */
export const isToWithdraw = ({ state, lastSignal }: KeptAlert): boolean => isOpen(state) || isOrdered(lastSignal)

/**
 * The alerts to withdraw: of rules that no longer cover a subject. Rules missing only because this build refuses their
 * set still cover it. In an ended cycle there are none: its close ends its open alerts.
 *
 * @param attached the rules attached to the subject
 */
export function leftOf<A extends KeptAlert>(
  subject: SubjectFacts,
  attached: readonly { readonly rule: { readonly name: string } }[],
  alerts: readonly A[],
  { moment, isRefused, rules }: Pick<Circumstances, 'moment' | 'isRefused' | 'rules'>,
): A[] {
  if (alerts.length === 0 || moment.isEnded) return []
  const names = new Set(attached.map(({ rule }) => rule.name))
  const isOnlyMissing = (rule: string) => isRefused && isWatched(subject) && !rules.has(rule)
  return alerts.filter((alert) => !names.has(alert.rule) && isToWithdraw(alert) && !isOnlyMissing(alert.rule))
}
