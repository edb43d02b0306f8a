import { cycleAt } from '../../domain/time/cycle.ts'
import { feedAt } from '../../domain/usage/feed.ts'
import { lookAtAll } from '../../store/shards.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { TenantSettings } from './rows/cycles.ts'
import { noteReceived } from './rows/feed.ts'

/**
 * Notes that usage was received. If the feed was stale, alerts about usage have stood still: marks every subject due to
 * continue them. Call with the merge lock.
 */
export async function noteFeed(tx: TenantTx, { billingCycle, feedEvery }: TenantSettings): Promise<void> {
  const before = await noteReceived(tx)
  const at = tx.now.getTime()
  const { staleSince } = feedAt({ ...before, feedEvery }, cycleAt(billingCycle, at), at)
  if (staleSince !== null) await lookAtAll(tx)
}
