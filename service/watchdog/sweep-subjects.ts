/** Sweeps a tenant's subjects: looks at those of a range of ids when time alone may have changed an answer. */
import { LOOKS_PER_CYCLE } from '../../rules/compile/flip.ts'
import { rulesOfTenant, tagPatternsOf } from '../../rules/engine/match.ts'
import { claimShard, hasDueShard, type Shard, settleShard, splitShard } from '../../store/shards.ts'
import { inTenant, type Store, type TenantTx, withLongTimeout } from '../../store/tenancy.ts'
import { notePatterns } from '../alerts/rows/tag-patterns.ts'
import { hearOfRules } from '../rules/hear-of-rules.ts'
import { openRunningCycle } from '../usage/rows/cycles.ts'
import { canDecide, evaluateAll } from './evaluate-all.ts'
import type { EvaluationOptions, EvaluationScope } from './evaluation-options.ts'
import { type LookResult, lookAt, lookAtRange, PAGE } from './look-at.ts'

/** Subjects of a shard. One with more is split. */
const MOST_SUBJECTS = 20_000
/** Far longer than a look takes. Once the lease ends, another worker does the remaining work. */
const LEASE_MS = 120_000
const LEAST_PAUSE_MS = 1000

interface SweepSize {
  /** Subjects of a shard; one with more is split. Default: 20,000. */
  readonly most?: number | undefined
  /** Subjects that a transaction looks at in full. Default: 4,000. */
  readonly page?: number | undefined
}

/** Takes up changed rules, looks at the longest waiting shard, evaluates suspects. @returns whether another is due */
export async function sweepSubjects(
  store: Store,
  options: EvaluationOptions,
  tenantId: string,
  size: SweepSize = {},
): Promise<boolean> {
  await openRunningCycle(store, tenantId)
  const shard = await inTenant(store, tenantId, async (tx) => {
    await hearOfRules(tx)
    const rules = await options.rules(tx)
    if (!canDecide(rules)) return undefined
    const claimed = await claimShard(tx, new Date(tx.now.getTime() + LEASE_MS))
    if (claimed?.kind === 'tag') await notePatterns(tx, tagPatternsOf(rulesOfTenant(rules.rules, tenantId)))
    return claimed
  })
  if (shard === undefined) return false
  const { beyond, ...looked } = await lookAtShard({ store, options, tenantId }, shard, size)
  return inTenant(store, tenantId, async (tx) => {
    const seen = beyond === null ? shard : await splitShard(tx, shard, beyond)
    await settleShard(tx, seen, new Date(nextSweep(tx.now.getTime(), shard, looked)))
    return hasDueShard(tx)
  })
}

/** Looks at the subjects of a shard, a page in a transaction, and evaluates the suspects of each. */
async function lookAtShard(
  scope: EvaluationScope,
  { kind, fromId, toId }: Shard,
  { most = MOST_SUBJECTS, page = PAGE }: SweepSize,
): Promise<Pick<LookResult, 'flipsAt' | 'cycle' | 'beyond'>> {
  const { store, options, tenantId } = scope
  let flipsAt = Number.POSITIVE_INFINITY
  const evaluating = async <T extends LookResult>(look: (tx: TenantTx) => Promise<T>): Promise<T> => {
    const looked = await inTenant(withLongTimeout(store), tenantId, look)
    await evaluateAll(scope, looked.suspects)
    flipsAt = Math.min(flipsAt, looked.flipsAt)
    return looked
  }
  for (let from = fromId, passed = 0; ; ) {
    const range = { kind, fromId: from, toId, most: most - passed }
    const looked = await evaluating((tx) => lookAtRange(tx, range, page, options))
    for (let at = 0; at < looked.left.length; at += page)
      await evaluating((tx) => lookAt(tx, looked.left.slice(at, at + page), options))
    passed += looked.passed
    if (looked.beyond === null || passed >= most) return { flipsAt, cycle: looked.cycle, beyond: looked.beyond }
    from = looked.beyond
  }
}

/**
 * When to sweep a shard next: when time alone may change an answer, but not before a `LOOKS_PER_CYCLE`th of the cycle
 * has passed, nor a second. The tenant is a single subject, and is looked at in time: its feed may be one of minutes.
 */
function nextSweep(now: number, { kind }: Shard, { flipsAt, cycle }: Pick<LookResult, 'flipsAt' | 'cycle'>): number {
  const share = kind === 'tenant' ? 0 : (cycle.endsAt - cycle.startsAt) / LOOKS_PER_CYCLE
  return Math.min(cycle.endsAt, Math.max(flipsAt, now + Math.max(LEAST_PAUSE_MS, share)))
}
