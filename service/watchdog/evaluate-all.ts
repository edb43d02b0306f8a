/**
 * Evaluates subjects: reads all their facts, lets json-rules-engine decide, and writes the results, in one transaction
 * under the tenant's lock. So no evaluation overwrites a newer one.
 *
 * It writes alerts, log entries, events, notifications, and starts and signals of workflows. Every log entry and
 * notification has a key, and is written once for that key.
 */
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { EvaluatedSubject } from '../../rules/alerts/decide-all.ts'
import { subjectKey } from '../../rules/alerts/subject.ts'
import { evaluateSubject } from '../../rules/engine/evaluate-subject.ts'
import { isAway } from '../../store/away.ts'
import { noteAgain } from '../../store/changed.ts'
import { type DueMark, markEachDue, postponeSubject, settleDue } from '../../store/due.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { lockAlerts } from '../alerts/rows/alerts.ts'
import { keepUnclosed } from '../usage/rows/cycles.ts'
import type { DecidedCounts, EvaluationOptions } from './evaluation-options.ts'
import { readBatch, readSituation } from './read-facts.ts'
import { writeDecisions } from './write-decisions.ts'

/** Subjects in a transaction. Enough to make set-wise statements pay, few enough to be done quickly. */
const BATCH = 200

/** Retry time of a subject that failed in an ended cycle, until the cycle is closed. */
const RETRY_ENDED_MS = 600_000

/**
 * Evaluates subjects, a batch at a time. Those with a due mark lose it, or get their next instant.
 *
 * @param ended an ended cycle; no effect if it is closed. Default: the running one
 */
export async function evaluateAll(
  store: Store,
  options: EvaluationOptions,
  tenantId: string,
  subjects: readonly (Subject | DueMark)[],
  ended?: Cycle,
): Promise<void> {
  // Pools first: their tellings need not be repeated for their SIMs.
  const ordered = subjects.toSorted((a, b) => Number(b.kind === 'pool') - Number(a.kind === 'pool'))
  for (let first = 0; first < ordered.length; first += BATCH)
    await evaluateBatch(store, options, tenantId, ordered.slice(first, first + BATCH), ended)
}

/**
 * Evaluates a batch. If that fails, evaluates each half alone, down to the single subject that fails. That subject is
 * postponed, and the others are written.
 *
 * @throws if the database is away: then nothing is split or postponed
 */
async function evaluateBatch(
  store: Store,
  options: EvaluationOptions,
  tenantId: string,
  subjects: readonly (Subject | DueMark)[],
  ended: Cycle | undefined,
): Promise<void> {
  try {
    const counts = await inTenant(store, tenantId, (tx) => evaluate(store, tx, subjects, options, ended))
    if (counts !== null) options.onDecided?.(counts)
  } catch (error) {
    if (isAway(error)) throw error
    const [first, second] = subjects
    if (first !== undefined && second === undefined) {
      await inTenant(store, tenantId, (tx) => postpone(tx, first, ended))
      options.onFailed?.({ tenantId, kind: first.kind, id: first.id, error })
      return
    }
    const middle = Math.ceil(subjects.length / 2)
    await evaluateBatch(store, options, tenantId, subjects.slice(0, middle), ended)
    await evaluateBatch(store, options, tenantId, subjects.slice(middle), ended)
  }
}

const postpone = (tx: TenantTx, subject: Subject, ended: Cycle | undefined): Promise<void> =>
  ended === undefined
    ? postponeSubject(tx, subject)
    : noteAgain(tx, ended.key, [{ ...subject, at: tx.now.getTime() + RETRY_ENDED_MS }])

/** @returns null if the cycle was closed in the meantime */
async function evaluate(
  store: Store,
  tx: TenantTx,
  subjects: readonly (Subject | DueMark)[],
  options: EvaluationOptions,
  ended: Cycle | undefined,
): Promise<DecidedCounts | null> {
  await lockAlerts(tx)
  if (ended !== undefined && !(await keepUnclosed(tx, ended.key))) return null
  const rules = await options.rules(tx)
  // The facts are of an instant after the lock: those of an evaluation that held it before are older.
  const at = Math.max(tx.now.getTime(), store.clock())
  const batch = await readBatch(tx, subjects, rules, await readSituation(tx, at, ended))
  const evaluated: EvaluatedSubject[] = []
  for (const one of batch.subjects) evaluated.push({ ...one, outcomes: await evaluateSubject(one.rules, one.facts) })
  const { checks, counts } = await writeDecisions(tx, batch, evaluated, options)
  if (ended === undefined) await settle(tx, subjects, checks)
  else await noteAgain(tx, ended.key, checksOf(subjects, checks))
  return counts
}

/**
 * Marks subjects due when a `for` ends or enforcement checks again. A claimed mark without such an instant leaves the
 * list.
 */
async function settle(
  tx: TenantTx,
  subjects: readonly (Subject | DueMark)[],
  checks: ReadonlyMap<string, number>,
): Promise<void> {
  const marks = subjects.filter((subject) => 'seq' in subject)
  await settleDue(
    tx,
    marks.map((mark) => ({ ...mark, nextAt: checks.get(subjectKey(mark)) ?? null })),
  )
  await markEachDue(
    tx,
    checksOf(
      subjects.filter((subject) => !('seq' in subject)),
      checks,
    ),
  )
}

const checksOf = (subjects: readonly Subject[], checks: ReadonlyMap<string, number>) =>
  subjects.flatMap((subject) => {
    const at = checks.get(subjectKey(subject))
    return at === undefined ? [] : [{ kind: subject.kind, id: subject.id, at }]
  })
