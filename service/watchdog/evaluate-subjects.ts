/**
 * Looks at a tenant's changed and due subjects, and evaluates those for which something may have changed:
 *
 *   claim → look at them → evaluate the suspects, a batch in a transaction → take the claim off the list →
 *   log suspensions that would happen
 *
 * Usage of an ended cycle is looked at in that cycle too, until the cycle is closed.
 *
 * A claim is a lease: the claims of a dead worker are claimed again. Looking and evaluating twice changes nothing. A
 * subject that cannot be evaluated does not stop the others.
 */
import type { Subject } from '../../domain/watchdog/subject.ts'
import { subjectKey } from '../../rules/alerts/subject.ts'
import { isAway } from '../../store/away.ts'
import { type ChangedIds, claimChanges, endChanges } from '../../store/changed.ts'
import { claimDue } from '../../store/due.ts'
import { lookBy } from '../../store/shards.ts'
import { inTenant, type Store, type TenantTx, withLongTimeout } from '../../store/tenancy.ts'
import { logWould } from '../enforcement/log-would.ts'
import { endedCycles, openRunningCycle } from '../usage/rows/cycles.ts'
import { canDecide, evaluateAll, settleMarks } from './evaluate-all.ts'
import type { EvaluationOptions, EvaluationScope } from './evaluation-options.ts'
import { type LookedAt, lookAt, PAGE } from './look-at.ts'

const MARKS = 2000
/** Far longer than a look and its evaluations take. Once the lease ends, another worker does the remaining work. */
const LEASE_MS = 60_000

const TENANT: Subject = { kind: 'tenant', id: 0 }

/**
 * Works until nothing of the tenant has changed or is due, or until its turn is over.
 *
 * @param turnMs how long its turn is; at least one piece of work is done. Default: no end
 * @returns whether work may be left
 */
export async function evaluateSubjects(
  store: Store,
  options: EvaluationOptions,
  tenantId: string,
  turnMs: number = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  // Before any look: opening a cycle goes through the whole estate.
  await openRunningCycle(store, tenantId)
  const scope = { store, options, tenantId }
  const began = performance.now()
  for (;;) {
    const changed = await lookAtChanges(scope)
    const due = await lookAtDue(scope)
    const isLeft = changed || due
    if (isLeft && performance.now() - began < turnMs) continue
    await logWould(store, tenantId, options.onFailed)
    return isLeft
  }
}

const claiming = <T>(
  { store, options, tenantId }: EvaluationScope,
  claim: (tx: TenantTx, leaseUntil: Date) => Promise<T>,
): Promise<T | undefined> =>
  inTenant(store, tenantId, async (tx) =>
    canDecide(await options.rules(tx)) ? claim(tx, new Date(tx.now.getTime() + LEASE_MS)) : undefined,
  )

/** @returns whether there were any */
async function lookAtChanges(scope: EvaluationScope): Promise<boolean> {
  const { store, tenantId } = scope
  const claimed = await claiming(scope, claimChanges)
  if (claimed === undefined || claimed.ids.length === 0) return false
  const { ids, used } = claimed
  await lookAndEvaluate(scope, claimed)
  // Asked after the look at the running cycle: a cycle not ended yet was the running one then, and needs no more.
  for (const ended of await inTenant(store, tenantId, (tx) => endedCycles(tx, [...used.keys()])))
    await lookAndEvaluate({ ...scope, ended }, used.get(ended.key) ?? { simIds: [], poolIds: [] })
  await inTenant(store, tenantId, (tx) => endChanges(tx, ids))
  return true
}

async function lookAndEvaluate(scope: EvaluationScope, { simIds, poolIds }: ChangedIds): Promise<void> {
  const { suspects, flips } = await looking(scope, [
    ...simIds.map((id): Subject => ({ kind: 'sim', id })),
    ...poolIds.map((id): Subject => ({ kind: 'pool', id })),
    TENANT,
  ])
  await evaluateAll(scope, suspects)
  // A change may be missed from another instant on: of a SIM now Active, or of the feed.
  if (scope.ended === undefined) await inTenant(scope.store, scope.tenantId, (tx) => lookBy(tx, flips))
}

/** @returns whether there were any */
async function lookAtDue(scope: EvaluationScope): Promise<boolean> {
  const marks = await claiming(scope, (tx, leaseUntil) => claimDue(tx, MARKS, leaseUntil))
  if (marks === undefined || marks.length === 0) return false
  const looked = await looking(scope, marks)
  const suspects = new Set(looked.suspects.map(subjectKey))
  await evaluateAll(
    scope,
    marks.filter((mark) => suspects.has(subjectKey(mark))),
  )
  // The mark of a subject that another worker has postponed after a failure stays unchanged.
  const rest = marks.filter((mark) => !suspects.has(subjectKey(mark)) && !looked.heldBack.has(subjectKey(mark)))
  await inTenant(scope.store, scope.tenantId, async (tx) => {
    await settleMarks(tx, rest, looked.checks)
    await lookBy(tx, looked.flips)
  })
  return true
}

type PageOfLooks = Pick<LookedAt, 'suspects' | 'checks' | 'heldBack' | 'flips'>

/** Looks at subjects, a page in a transaction. */
async function looking(scope: EvaluationScope, subjects: readonly Subject[]): Promise<PageOfLooks> {
  const pages: PageOfLooks[] = []
  for (let from = 0; from < subjects.length; from += PAGE)
    pages.push(await lookingAt(scope, subjects.slice(from, from + PAGE)))
  return {
    suspects: pages.flatMap(({ suspects }) => suspects),
    checks: new Map(pages.flatMap(({ checks }) => [...checks])),
    heldBack: new Set(pages.flatMap(({ heldBack }) => [...heldBack])),
    flips: pages.flatMap(({ flips }) => flips),
  }
}

/** Looks at a page. If its subjects cannot be looked at together, each needs an evaluation. */
async function lookingAt(scope: EvaluationScope, subjects: readonly Subject[]): Promise<PageOfLooks> {
  const { store, options, tenantId, ended } = scope
  try {
    return await inTenant(withLongTimeout(store), tenantId, (tx) => lookAt(tx, subjects, options, ended))
  } catch (error) {
    if (isAway(error)) throw error
    return { suspects: subjects, checks: new Map(), heldBack: new Set(), flips: [] }
  }
}
