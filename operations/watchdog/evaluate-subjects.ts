/**
 * Evaluating a tenant's due subjects: claim a batch, read its facts in one go, decide outside any transaction,
 * and write alerts, log entries, events, notices and requests to workflows in one transaction.
 *
 * A subject that cannot be evaluated or written takes no other with it. Safe to run twice and at once: a claim is a
 * lease, a mark set meanwhile stays, an older evaluation never overwrites a newer one, and every entry and notice has
 * a key it is written once for.
 */
import { evaluateSubject } from '../../rules/engine/evaluate.ts'
import { isAway } from '../../store/away.ts'
import { claimDue, type DueMark, postponeSubject, settleDue } from '../../store/due.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { type EvaluatedSubject, type EvaluationOptions, keyOf } from './evaluation.ts'
import { type Batch, readBatch } from './read-batch.ts'
import { canDecide } from './rules-in-force.ts'
import { writeDecisions } from './write-decisions.ts'

/** Enough for set-wise statements, few enough that a batch is done within moments. */
const BATCH = 200
/** Far longer than a batch takes: after it, another worker evaluates what this one has left. */
const LEASE_MS = 60_000
/** A subject is looked at again after so much of the cycle without anything happening: silence and forecasts. */
const LOOKS_PER_CYCLE = 720
const LEAST_PAUSE_MS = 1000

/** Evaluates until no subject of the tenant is due. */
export async function evaluateSubjects(store: Store, options: EvaluationOptions, tenantId: string): Promise<void> {
  for (;;) {
    const marks = await inTenant(store, tenantId, async (tx) =>
      canDecide(await options.rules(tx)) ? claimDue(tx, BATCH, new Date(tx.now.getTime() + LEASE_MS)) : [],
    )
    if (marks.length === 0) return
    await evaluateMarks(store, options, tenantId, marks)
  }
}

/**
 * Evaluates a batch. Where it fails, its halves are evaluated by themselves, down to the subject that fails alone: that
 * one is postponed, the others are written.
 */
async function evaluateMarks(
  store: Store,
  options: EvaluationOptions,
  tenantId: string,
  marks: readonly DueMark[],
): Promise<void> {
  try {
    const batch = await inTenant(store, tenantId, (tx) => readBatch(tx, marks, options))
    const evaluated = await Promise.all(
      batch.subjects.map(async (one) => ({ ...one, outcomes: await evaluateSubject(one.rules, one.facts) })),
    )
    await inTenant(store, tenantId, (tx) => settle(tx, marks, batch, evaluated, options))
  } catch (error) {
    if (isAway(error)) throw error
    const [first, second] = marks
    if (first !== undefined && second === undefined) {
      await inTenant(store, tenantId, (tx) => postponeSubject(tx, first))
      options.onFailed?.({ tenantId, kind: first.kind, id: first.id, error })
      return
    }
    const middle = Math.ceil(marks.length / 2)
    await evaluateMarks(store, options, tenantId, marks.slice(0, middle))
    await evaluateMarks(store, options, tenantId, marks.slice(middle))
  }
}

async function settle(
  tx: TenantTx,
  marks: readonly DueMark[],
  batch: Batch,
  evaluated: readonly EvaluatedSubject[],
  options: EvaluationOptions,
): Promise<void> {
  const checks = await writeDecisions(tx, batch, evaluated, options)
  const nextAt = new Map<string, number>()
  for (const { subject } of evaluated) nextAt.set(keyOf(subject), nextLook(batch, checks.get(keyOf(subject))))
  await settleDue(
    tx,
    marks.map((mark) => ({ ...mark, nextAt: nextAt.get(keyOf(mark)) ?? null })),
  )
}

/** The next look: where a `for` ends or enforcement looks again, else after a small part of the cycle. */
function nextLook({ moment: { at, cycle } }: Batch, check: number | undefined): number {
  const pauseMs = Math.max(LEAST_PAUSE_MS, (cycle.endsAt - cycle.startsAt) / LOOKS_PER_CYCLE)
  return Math.max(at + LEAST_PAUSE_MS, Math.min(at + pauseMs, check ?? Number.POSITIVE_INFINITY))
}
