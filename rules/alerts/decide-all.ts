/** Decides the alerts of a batch of subjects, and withdraws those whose rule no longer covers its subject. Pure. */
import { SimStatus, WatchdogMode } from '../../domain/codes.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { RuleOutcome } from '../engine/evaluate-subject.ts'
import type { StoredAlert } from './alert-state.ts'
import { type AlertDecision, withdrawAlert } from './decide-alert.ts'
import {
  type Circumstances,
  type DecidedAlert,
  decideSubject,
  type GuardAnswers,
  isToWithdraw,
  leftOf,
  outcomesLeft,
} from './decide-subject.ts'
import { inhibitorsByPool, type PossibleInhibitor } from './quiet.ts'
import { modeOf, NOUNS, poolIdOf, type SubjectFacts, subjectKey, subjectLabel } from './subject.ts'

/** The subject of an alert, with its label for people. */
export interface AlertSubject extends Subject {
  readonly label: string
  /** ICCID and tag of a SIM; null for others. */
  readonly card: { readonly iccid: string; readonly tag: string } | null
  /** Null outside pools. */
  readonly poolId: number | null
}

export type EvaluatedSubject = SubjectFacts & { readonly outcomes: readonly RuleOutcome[] }

export interface Evaluation extends DecidedAlert {
  readonly about: AlertSubject
  readonly subject: SubjectFacts
}

/** An alert whose rule no longer covers its subject. */
export interface Withdrawal {
  readonly about: AlertSubject
  readonly scope: string
  readonly stored: StoredAlert
  /** As a clause: "the SIM is exempt from the watchdog". */
  readonly why: string
  readonly decision: AlertDecision
}

export interface Decisions {
  readonly evaluations: readonly Evaluation[]
  readonly withdrawals: readonly Withdrawal[]
}

export interface Deciding {
  readonly evaluated: readonly EvaluatedSubject[]
  /** Removed subjects. */
  readonly gone: readonly AlertSubject[]
  /** The alerts of all of them. */
  readonly stored: readonly StoredAlert[]
}

interface OfBatch extends Circumstances {
  /** Alerts of the pools whose data SIMs of the batch share. */
  readonly poolAlerts: readonly StoredAlert[]
}

export function decideAll(batch: OfBatch, { gone, stored, ...given }: Deciding, guardOf: GuardAnswers): Decisions {
  const { moment, rules } = batch
  const bySubject = Map.groupBy(stored, subjectKey)
  const alertsOf = (subject: Subject) => bySubject.get(subjectKey(subject)) ?? []
  const evaluated = given.evaluated.map((subject) => ({
    ...subject,
    outcomes: [...subject.outcomes, ...outcomesLeft(subject, subject.outcomes, alertsOf(subject), batch)],
  }))
  const withdrawalOf = (about: AlertSubject, alert: StoredAlert, why: string): Withdrawal => {
    const name = { rule: alert.rule, subject: about, scope: alert.scope }
    const decision = withdrawAlert({ name, previous: alert.state, now: moment.at })
    return { about, scope: alert.scope, stored: alert, why, decision }
  }
  const left = evaluated.flatMap((subject) =>
    leftOf(subject, subject.outcomes, alertsOf(subject), batch).map((alert) =>
      withdrawalOf(aboutOf(subject), alert, whyWithdrawn(subject, alert, rules)),
    ),
  )
  const ofGone = gone.flatMap((about) =>
    alertsOf(about)
      .filter(isToWithdraw)
      .map((alert) => withdrawalOf(about, alert, `the ${NOUNS[about.kind]} was deleted`)),
  )
  return {
    evaluations: evaluateInOrder(batch, evaluated, alertsOf, guardOf),
    withdrawals: moment.isEnded ? [] : [...left, ...ofGone],
  }
}

/** Pools first: their alerts inhibit those of their SIMs. */
function evaluateInOrder(
  batch: OfBatch,
  evaluated: readonly EvaluatedSubject[],
  alertsOf: (subject: Subject) => readonly StoredAlert[],
  guardOf: GuardAnswers,
): Evaluation[] {
  const evaluationsOf = (subjects: readonly EvaluatedSubject[], ofPools: readonly PossibleInhibitor[]) => {
    const around = { ...batch, guardOf, inhibitors: inhibitorsByPool(ofPools, batch.rules) }
    return subjects.flatMap((subject) =>
      decideSubject(subject, subject.outcomes, alertsOf(subject), around).map(
        (one): Evaluation => ({ ...one, about: aboutOf(subject), subject }),
      ),
    )
  }
  const isPool = ({ kind }: Subject) => kind === 'pool'
  const ofPools = evaluationsOf(evaluated.filter(isPool), [])
  const decided = new Set(evaluated.filter(isPool).map(subjectKey))
  const others = evaluationsOf(
    evaluated.filter((subject) => !isPool(subject)),
    [...batch.poolAlerts.filter((alert) => !decided.has(subjectKey(alert))), ...ofPools.map(asInhibitor)],
  )
  return [...ofPools, ...others]
}

const asInhibitor = ({
  outcome: { rule },
  about: { kind, id },
  decision: { next },
}: Evaluation): PossibleInhibitor => ({ rule: rule.name, kind, id, state: next })

const aboutOf = (subject: SubjectFacts): AlertSubject => ({
  kind: subject.kind,
  id: subject.id,
  label: subjectLabel(subject),
  card: subject.kind === 'sim' ? { iccid: subject.row.iccid, tag: subject.row.tag } : null,
  poolId: poolIdOf(subject),
})

function whyWithdrawn(
  subject: SubjectFacts,
  { rule, state }: Pick<StoredAlert, 'rule' | 'state'>,
  rules: Circumstances['rules'],
): string {
  if (subject.kind === 'sim' && subject.row.status === SimStatus.Unprovisioned) {
    const { statusSince } = subject.row
    if (state.began <= statusSince.getTime()) return 'the SIM is no longer provisioned'
  }
  if (subject.kind === 'sim' && subject.row.exempt) return 'the SIM is exempt from the watchdog'
  if (modeOf(subject) === WatchdogMode.Disabled) return `the watchdog is disabled for the ${NOUNS[subject.kind]}`
  const known = rules.get(rule)
  if (known === undefined) return 'the rule was removed'
  if (known.event.params.stage === 'off') return 'the rule was switched off'
  return `the rule no longer covers the ${NOUNS[subject.kind]}`
}
