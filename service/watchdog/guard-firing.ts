/**
 * The guard on firing: the number of subjects that a rule may begin to report or to act on in an hour. Beyond it,
 * notices and wishes wait in a hold until a person decides. Source: decision 0042.
 */
import type { GuardScope } from '../../domain/enforcement/guard.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { StoredAlert } from '../../rules/alerts/alert-state.ts'
import type { Decisions, Evaluation } from '../../rules/alerts/decide-all.ts'
import type { GuardAnswers } from '../../rules/alerts/decide-subject.ts'
import { holdOf } from '../../rules/alerts/guard.ts'
import { subjectKey } from '../../rules/alerts/subject.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { pass } from '../enforcement/guard.ts'
import { addHeld, holdStates } from '../enforcement/rows/guard.ts'
import { tellHold, tellMoreOfHold } from '../enforcement/tell-hold.ts'
import type { EvaluationBatch } from './read-batch.ts'

/** Reads the decisions of persons about held alerts. Lapsed ones ask again. */
export async function readAnswers(tx: TenantTx, alerts: readonly StoredAlert[]): Promise<GuardAnswers> {
  const states = await holdStates(tx, [...new Set(alerts.flatMap(({ state }) => holdOf(state) ?? []))])
  return (_rule, _subject, stored) => {
    const id = stored === null ? undefined : holdOf(stored.state)
    if (id === undefined) return 'pass'
    const state = states.get(id)
    if (state === 'held') return id
    return state === 'released' || state === 'discarded' ? state : 'pass'
  }
}

/**
 * Decides the alerts of a batch; again if the guard holds some of them. Counts those that pass. Call with the tenant's
 * alerts locked: the guard counts under that lock.
 *
 * In an ended cycle it holds and counts nothing: nothing is done there, all notices go into one mail, and a hold would
 * have lapsed already.
 */
export async function guardFiring(
  tx: TenantTx,
  batch: EvaluationBatch,
  answers: GuardAnswers,
  decide: (answers: GuardAnswers) => Decisions,
): Promise<Decisions> {
  const decided = decide(answers)
  if (batch.moment.isEnded) return decided
  const asking = decided.evaluations.filter(({ decision }) => decision.counts)
  const nameOf = (rule: string, subject: Subject) => `${rule}/${subjectKey(subject)}`
  const held = new Map<string, number>()
  for (const [rule, evaluations] of Map.groupBy(asking, ({ outcome }) => outcome.rule.name)) {
    for (const [{ about }, holdId] of await beyondLimit(tx, batch, rule, evaluations))
      held.set(nameOf(rule, about), holdId)
  }
  if (held.size === 0) return decided
  return decide((rule, subject, stored) => held.get(nameOf(rule, subject)) ?? answers(rule, subject, stored))
}

/** The alerts of a rule that the guard counts: those that it begins to mail or to act on. */
export const alertsOf = (rule: string, { key }: Pick<Cycle, 'key'>): GuardScope => ({
  what: 'alerts',
  rule,
  version: 0,
  poolId: null,
  cycleKey: key,
})

/** Lets a rule's alerts pass up to its limit. @returns the held ones, each with its hold */
async function beyondLimit(
  tx: TenantTx,
  { moment: { cycle }, rulesVersion: version }: EvaluationBatch,
  rule: string,
  asking: readonly Evaluation[],
): Promise<[Evaluation, number][]> {
  const scope = alertsOf(rule, cycle)
  const [first] = asking
  if (first === undefined) return []
  const { held, hold } = await pass(tx, scope, asking, { kind: first.about.kind, cycle })
  if (hold === null) return []
  const waiting = await addHeld(tx, hold.id, held.length)
  const news = { hold, waiting, cycle, version, file: first.outcome.rule.file }
  await (hold.isNew ? tellHold : tellMoreOfHold)(tx, scope, news)
  return held.map((one) => [one, hold.id])
}
