/** Decides the alerts of an evaluation, and writes the results: tellings, signals, and the alerts themselves. */
import type { Subject } from '../../domain/watchdog/subject.ts'
import { type AlertState, isFiring, type StoredAlert, scopesAt } from '../../rules/alerts/alert-state.ts'
import {
  type AlertSubject,
  type Decisions,
  decideAll,
  type EvaluatedSubject,
  type Evaluation,
  type Withdrawal,
} from '../../rules/alerts/decide-all.ts'
import { changesAlert } from '../../rules/alerts/decide-subject.ts'
import { isTold } from '../../rules/alerts/quiet.ts'
import { subjectKey } from '../../rules/alerts/subject.ts'
import { settled } from '../../rules/alerts/take-back.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { forgetAlerts, loadAlerts, markFiringSimsDue, saveAlerts } from '../alerts/rows/alerts.ts'
import { poolNames } from '../pools/rows/pools.ts'
import type { DecidedCounts, EvaluationOptions } from './evaluation-options.ts'
import { guardFiring, readAnswers } from './guard-firing.ts'
import type { EvaluationBatch } from './read-batch.ts'
import { type ReconcileResult, reconcile, type SentSignal } from './reconcile.ts'
import { tellAll } from './tell-all.ts'

/**
 * Writes the decisions of a batch in the caller's transaction. Call with the tenant's alerts locked since before the
 * facts were read.
 *
 * @returns `checks`: when to evaluate subjects again (epoch milliseconds), by their `subjectKey`
 */
export async function writeDecisions(
  tx: TenantTx,
  batch: EvaluationBatch,
  evaluated: readonly EvaluatedSubject[],
  options: EvaluationOptions,
): Promise<{ readonly checks: ReadonlyMap<string, number>; readonly counts: DecidedCounts }> {
  const stored = await loadAlerts(tx, [...evaluated, ...batch.gone], scopesAt(batch.moment))
  const deciding = { evaluated, gone: await namedOf(tx, batch.gone, stored), stored }
  const decisions = await guardFiring(tx, batch, await readAnswers(tx, stored), (guardOf) =>
    decideAll(batch, deciding, guardOf),
  )
  const takenBack = await tellAll(tx, batch, decisions, options)
  const { sent, again } = await reconcile(tx, batch, decisions, options)
  await saveAlerts(tx, changed(decisions, sent, takenBack, batch))
  await forgetAlerts(tx, handedOver(decisions))
  await markFiringSimsDue(tx, poolsNoLongerInhibiting(decisions))
  await noteUndecidable(tx, batch.rulesVersion, decisions.evaluations)
  return {
    checks: nextChecks(decisions, again),
    counts: { subjects: evaluated.length, ...decidedCounts(decisions, takenBack) },
  }
}

/** The removed pools with alerts, by their name for people. */
async function namedOf(tx: TenantTx, gone: readonly Subject[], stored: readonly StoredAlert[]) {
  const alerted = new Set(stored.map(subjectKey))
  const left = gone.filter((subject) => subject.kind === 'pool' && alerted.has(subjectKey(subject)))
  if (left.length === 0) return []
  const pools = await poolNames(
    tx,
    left.map(({ id }) => id),
  )
  return left.map(({ kind, id }): AlertSubject => {
    return { kind, id, label: pools.get(id) ?? String(id), card: null, poolId: id }
  })
}

function changed(
  { evaluations, withdrawals }: Decisions,
  sent: readonly SentSignal[],
  takenBack: ReadonlySet<string>,
  { moment, rulesVersion }: EvaluationBatch,
): StoredAlert[] {
  const at = new Date(moment.at)
  const signals = new Map(sent.map(({ desired, signal }) => [desired.decided, signal]))
  const signalled = (decided: Evaluation | Withdrawal) => {
    const signal = signals.get(decided)
    const { lastSignal = null, lastSignalAt = null } = decided.stored ?? {}
    return signal === undefined ? { lastSignal, lastSignalAt } : { lastSignal: signal, lastSignalAt: at }
  }
  const stateOf = ({ decision }: Evaluation | Withdrawal): AlertState => settled(decision, takenBack).next
  const isWritten = (decided: Evaluation | Withdrawal): boolean => signals.has(decided) || changesAlert(decided)
  return [
    ...evaluations.filter(isWritten).map((one) => ({
      rule: one.outcome.rule.name,
      kind: one.about.kind,
      id: one.about.id,
      scope: one.scope,
      state: stateOf(one),
      firing: isFiring(one.decision.next),
      ruleVersion: rulesVersion,
      evaluatedAt: at,
      explanation: one.outcome.explanation,
      ...signalled(one),
    })),
    ...withdrawals.filter(isWritten).map((one) => ({
      ...one.stored,
      state: stateOf(one),
      firing: false,
      evaluatedAt: at,
      ...signalled(one),
    })),
  ]
}

/** Pools with an alert that has ended, or is no longer mailed: inhibited alerts of their SIMs may now be mailed. */
function poolsNoLongerInhibiting({ evaluations, withdrawals }: Decisions): number[] {
  const ended = [...evaluations, ...withdrawals].filter(
    ({ about, stored, decision }) =>
      about.kind === 'pool' && stored !== null && isTold(stored.state) && !isTold(decision.next),
  )
  return [...new Set(ended.map(({ about }) => about.id))]
}

const handedOver = ({ evaluations }: Decisions): StoredAlert[] =>
  evaluations.flatMap(({ scope, stored }) => (stored !== null && stored.scope !== scope ? [stored] : []))

function nextChecks({ evaluations }: Decisions, again: ReconcileResult['again']): Map<string, number> {
  const checks = new Map<string, number>()
  const note = (key: string, at: number | undefined) => {
    if (at !== undefined) checks.set(key, Math.min(at, checks.get(key) ?? Number.POSITIVE_INFINITY))
  }
  for (const { about, decision } of evaluations) note(subjectKey(about), decision.nextCheckAt)
  for (const { about, at } of again) note(subjectKey(about), at)
  return checks
}

/** Subjects fail together. After a short wait the count in the operator's mail is complete. */
const WAIT_MS = 60_000

/** The alerts whose rule could be decided before, and cannot be now. */
const newlyUndecidable = (evaluations: readonly Evaluation[]): Evaluation[] =>
  evaluations.filter(({ stored, decision: { next } }) => next.error !== null && (stored?.state.error ?? null) === null)

/** Notes for the operator that rules cannot be decided: hourly for a rule, with a count of subjects and one error. */
async function noteUndecidable(tx: TenantTx, version: number, evaluations: readonly Evaluation[]): Promise<void> {
  const hour = tx.now.toISOString().slice(0, 'yyyy-mm-ddThh'.length)
  const byRule = Map.groupBy(newlyUndecidable(evaluations), ({ outcome }) => outcome.rule.name)
  await insertOperatorNotices(
    tx,
    [...byRule].map(([rule, all]) => ({
      key: `rule-undecidable/${rule}/${hour}`,
      body: { kind: 'ruleUndecidable', rule, version, error: all[0]?.decision.next.error ?? '' },
      count: all.length,
      waitMs: WAIT_MS,
    })),
  )
}

/** Counts decisions. @param takenBack keys of the notices taken back */
function decidedCounts({ evaluations, withdrawals }: Decisions, takenBack: ReadonlySet<string>) {
  const decided = [
    ...evaluations.map(({ outcome, ...one }) => ({ ...one, rule: outcome.rule.name })),
    ...withdrawals.map((one) => ({ ...one, rule: one.stored.rule })),
  ].map(({ rule, stored, decision }) => ({ rule, previous: stored?.state ?? null, ...decision }))
  return {
    alerts: decided
      .filter(({ previous, next }) => isOtherPhase(previous, next))
      .map(({ rule, next: { phase } }) => ({ rule, phase })),
    notices: decided.flatMap(({ previous, next, notices, takeBack }) => {
      const tookBack = takeBack?.fired.filter(({ key }) => takenBack.has(key)) ?? []
      const withheld = tookBack.length > 0 ? tookBack.map(() => 'tookBack' as const) : newlyWithheld(previous, next)
      const due = settled({ next, notices, takeBack }, takenBack).notices
      return [
        ...due.map(({ kind }) => ({ kind, reason: 'due' as const })),
        ...withheld.map((reason) => ({ kind: 'fired' as const, reason })),
      ]
    }),
    errors: newlyUndecidable(evaluations).map(({ outcome }) => ({ rule: outcome.rule.name })),
  }
}

/** Another occurrence after one fires again. */
const isOtherPhase = (previous: AlertState | null, next: AlertState): boolean =>
  (previous?.phase ?? 'inactive') !== next.phase || (previous?.episode ?? 0) !== next.episode

const newlyWithheld = (previous: AlertState | null, { withheld = [] }: AlertState) =>
  withheld.filter((reason) => previous?.withheld?.includes(reason) !== true)
