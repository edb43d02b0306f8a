/**
 * Evaluates subjects: reads the facts that are needed, lets json-rules-engine decide, and writes the results, in one transaction
 * under the tenant's lock. So no evaluation overwrites a newer one.
 *
 * It writes alerts, log entries, events, notifications, and starts and signals of workflows. Every log entry and
 * notification has a key, and is written once for that key.
 */
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { EvaluatedSubject } from '../../rules/alerts/decide-all.ts'
import { subjectKey } from '../../rules/alerts/subject.ts'
import { evaluateSubject } from '../../rules/engine/evaluate-subject.ts'
import { neededToTell } from '../../rules/facts-needed.ts'
import { isAway } from '../../store/away.ts'
import { noteAgain } from '../../store/changed.ts'
import { type DueMark, markEachDue, postponeSubject, settleDue } from '../../store/due.ts'
import { inTenant, type TenantTx } from '../../store/tenancy.ts'
import { lockAlerts } from '../alerts/rows/alerts.ts'
import type { RulesInForce } from '../rules/rules-in-force.ts'
import { keepUnclosed } from '../usage/rows/cycles.ts'
import type { DecidedCounts, EvaluationScope } from './evaluation-options.ts'
import { readBatch, readSituation } from './read-batch.ts'
import { writeDecisions } from './write-decisions.ts'

/** Subjects in a transaction. Enough to make set-wise statements pay, few enough to be done quickly. */
const BATCH = 200

/** Retry time of a subject that failed in an ended cycle, until the cycle is closed. */
const RETRY_ENDED_MS = 600_000

/**
 * Whether there are rules to decide by. If the active set is refused and no earlier one is accepted, subjects stay due.
 * So enforcement does not stand down merely because rules are missing.
 */
export const canDecide = ({ version, refused }: RulesInForce): boolean => refused === null || version > 0

/** Evaluates subjects, a batch at a time. Those with a due mark lose it, or get their next instant. */
export async function evaluateAll(scope: EvaluationScope, subjects: readonly (Subject | DueMark)[]): Promise<void> {
  // Pools first: their tellings need not be repeated for their SIMs.
  const ordered = subjects.toSorted((a, b) => Number(b.kind === 'pool') - Number(a.kind === 'pool'))
  for (let first = 0; first < ordered.length; first += BATCH)
    await evaluateBatch(scope, ordered.slice(first, first + BATCH))
}

/**
 * Evaluates a batch. If that fails, evaluates each half alone, down to the single subject that fails. That subject is
 * postponed, and the others are written.
 *
 * @throws if the database is away: then nothing is split or postponed
 */
async function evaluateBatch(scope: EvaluationScope, subjects: readonly (Subject | DueMark)[]): Promise<void> {
  const { store, options, tenantId } = scope
  try {
    const counts = await inTenant(store, tenantId, (tx) => evaluate(tx, scope, subjects))
    if (counts !== null) options.onDecided?.(counts)
  } catch (error) {
    if (isAway(error)) throw error
    const [first, second] = subjects
    if (first !== undefined && second === undefined) {
      await inTenant(store, tenantId, (tx) => postpone(tx, scope, first))
      options.onFailed?.({ tenantId, kind: first.kind, id: first.id, error })
      return
    }
    const middle = Math.ceil(subjects.length / 2)
    await evaluateBatch(scope, subjects.slice(0, middle))
    await evaluateBatch(scope, subjects.slice(middle))
  }
}

const postpone = (tx: TenantTx, { ended }: EvaluationScope, subject: Subject): Promise<void> =>
  ended === undefined
    ? postponeSubject(tx, subject)
    : noteAgain(tx, ended.key, [{ ...subject, at: tx.now.getTime() + RETRY_ENDED_MS }])

/** @returns null if the cycle was closed in the meantime; nothing of a closed cycle is evaluated */
async function evaluate(
  tx: TenantTx,
  { store, options, ended }: EvaluationScope,
  subjects: readonly (Subject | DueMark)[],
): Promise<DecidedCounts | null> {
  await lockAlerts(tx)
  if (ended !== undefined && !(await keepUnclosed(tx, ended.key))) return null
  const rules = await options.rules(tx)
  // The facts are of an instant after the lock: those of an evaluation that held it before are older.
  const at = Math.max(tx.now.getTime(), store.clock())
  const needed = neededToTell(rules.rules, tx.tenantId)
  const batch = await readBatch(tx, subjects, rules, await readSituation(tx, at, ended), needed)
  const evaluated: EvaluatedSubject[] = []
  for (const one of batch.subjects) evaluated.push({ ...one, outcomes: await evaluateSubject(one.rules, one.facts) })
  const { checks, counts } = await writeDecisions(tx, batch, evaluated, options)
  if (ended === undefined) {
    const marks = subjects.filter((subject) => 'seq' in subject)
    await settleMarks(tx, marks, checks)
    const others = subjects.filter((subject) => !('seq' in subject))
    await markEachDue(tx, checksOf(others, checks))
  } else await noteAgain(tx, ended.key, checksOf(subjects, checks))
  return counts
}

/** Gives claimed marks their next instants. Those without, because no `for` or the like ends, leave the list. */
export const settleMarks = (
  tx: TenantTx,
  marks: readonly DueMark[],
  checks: ReadonlyMap<string, number>,
): Promise<void> =>
  settleDue(
    tx,
    marks.map((mark) => ({ ...mark, nextAt: checks.get(subjectKey(mark)) ?? null })),
  )

const checksOf = (subjects: readonly Subject[], checks: ReadonlyMap<string, number>) =>
  subjects.flatMap((subject) => {
    const at = checks.get(subjectKey(subject))
    return at === undefined ? [] : [{ kind: subject.kind, id: subject.id, at }]
  })
