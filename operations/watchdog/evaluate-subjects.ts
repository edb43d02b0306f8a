/**
 * Evaluates a tenant's due subjects:
 *
 *   claim a batch → read its facts in one transaction, and decide outside any → write everything in one transaction
 *
 * What is written: alerts, log entries, events, notifications, and starts and signals of workflows.
 *
 * A subject that cannot be evaluated or written does not stop the others. Safe to run twice and concurrently. A claim
 * is a lease, and a mark set meanwhile stays. An older evaluation never overwrites a newer one. Every log entry and
 * notification has a key, and is written once for that key.
 */
import { evaluateSubject } from '../../rules/engine/evaluate.ts'
import { isAway } from '../../store/away.ts'
import { claimDue, type DueMark, postponeSubject, settleDue } from '../../store/due.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { type EvaluatedSubject, type EvaluationOptions, keyOf } from './evaluation.ts'
import { type Batch, readBatch } from './read-batch.ts'
import { canDecide } from './rules-in-force.ts'
import { writeDecisions } from './write-decisions.ts'

/** Subjects in a batch. Enough to make set-wise statements pay, few enough to finish a batch quickly. */
const BATCH = 200
/** Far longer than a batch takes. Once the lease ends, another worker evaluates what this one left. */
const LEASE_MS = 60_000
/**
 * Each subject is evaluated this often in a cycle even if nothing happens to it, but not more than once a second. Rules
 * about silence and forecasts need that.
 */
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
 * Evaluates a batch. If that fails, evaluates each half on its own, down to the single subject that fails. That subject
 * is postponed, and the others are written.
 *
 * @throws if the database is away: then nothing is split or postponed
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
  for (const subject of evaluated) nextAt.set(keyOf(subject), nextLook(batch, checks.get(keyOf(subject))))
  await settleDue(
    tx,
    marks.map((mark) => ({ ...mark, nextAt: nextAt.get(keyOf(mark)) ?? null })),
  )
}

/**
 * When to evaluate a subject next: when a `for` ends, or when enforcement checks again. It is no later than one
 * `LOOKS_PER_CYCLE`th of the cycle from now, and no sooner than `LEAST_PAUSE_MS`.
 *
 * @returns epoch milliseconds
 */
function nextLook({ moment: { at, cycle } }: Batch, check: number | undefined): number {
  const pauseMs = Math.max(LEAST_PAUSE_MS, (cycle.endsAt - cycle.startsAt) / LOOKS_PER_CYCLE)
  return Math.max(at + LEAST_PAUSE_MS, Math.min(at + pauseMs, check ?? Number.POSITIVE_INFINITY))
}
