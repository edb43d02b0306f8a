/**
 * The guard on suspensions: how many SIMs one rule may suspend in an hour before a person has to decide.
 *
 * It counts the permits that it grants, not what carriers have done. A permit is for one suspension, and lasts as long
 * as the alert behind it.
 */
import type { GuardScope, PermitRequest, PermitResponse } from '../../domain/enforcement/guard.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { feedAt } from '../../domain/usage/feed.ts'
import { markDue } from '../../store/due.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { delayOrders, lockAlerts } from '../alerts/rows/alerts.ts'
import { knownPool } from '../pools/rows/pools.ts'
import { activeRuleSet, activeRuleVersion, sourceOfRule } from '../rules/rows/rule-sets.ts'
import { cycleNamed } from '../usage/rows/cycles.ts'
import { readFeed } from '../usage/rows/feed.ts'
import { pass } from './guard.ts'
import { clearedPermits, endPermits, insertPermits, lockGuard, standingPermits } from './rows/permits.ts'
import { tellHold } from './tell-hold.ts'

/** Whether a rule in force reads facts of usage. */
export type ReadsUsage = (tx: TenantTx, rule: string) => Promise<boolean>

/**
 * Decides whether a rule may suspend SIMs now. Safe to run twice: a permit stays unchanged until the alert clears, the
 * rules change, or a person decides about its hold. While the usage feed is stale, a rule that reads usage suspends no
 * SIM, even after an earlier permit: an evaluation asks again once usage is received.
 *
 * @returns ids of the SIMs granted, held, discarded and delayed; the hold, if any of them is held
 * @throws ServiceError `sim_not_found`, `pool_not_found`, `cycle_not_found`, `sim_state_conflict` for an ended cycle
 */
export async function askPermits(tx: TenantTx, ask: PermitRequest, readsUsage: ReadsUsage): Promise<PermitResponse> {
  const { rule, cycle: cycleKey, workflowId } = ask
  const cycle = await cycleNamed(tx, cycleKey)
  if (tx.now.getTime() >= cycle.endsAt)
    throw new ServiceError('sim_state_conflict', `Cycle ${cycleKey} has ended: nothing is enforced in it any more.`)
  const named = ask.poolId ?? null
  if (named !== null) await knownPool(tx, named)
  if ((await readsUsage(tx, rule)) && (await isStale(tx, cycle))) return delay(tx, ask)
  await lockGuard(tx)
  const version = (await activeRuleVersion(tx)) ?? 0
  const simIds = [...new Set(ask.simIds)]
  const standing = await standingPermits(tx, { rule, version, cycleKey }, simIds)
  if (standing.length < simIds.length) {
    const known = new Set(standing.map(({ simId }) => simId))
    throw new ServiceError('sim_not_found', `There is no SIM ${simIds.find((id) => !known.has(id))}.`)
  }
  const inState = (state: string) => standing.filter((permit) => permit.state === state).map(({ simId }) => simId)
  const answer = { granted: inState('granted'), held: inState('held'), discarded: inState('discarded'), delayed: [] }
  let holdId = standing.find(({ state }) => state === 'held')?.holdId ?? null

  // A SIM picked for its pool's rule asks on its own, once its grace is over. It still counts in the pool.
  const fresh = Map.groupBy(
    standing.filter(({ state }) => state === null),
    (permit) => named ?? permit.poolId,
  )
  for (const [poolId, permits] of fresh) {
    const scope: GuardScope = { what: 'suspensions', rule, version, poolId, cycleKey }
    const ids = permits.map(({ simId }) => simId)
    const { passed, held, hold } = await pass(tx, scope, ids, { kind: 'sim', cycle })
    await insertPermits(tx, scope, passed, { workflowId, holdId: null })
    if (hold !== null) await insertPermits(tx, scope, held, { workflowId, holdId: hold.id })
    if (hold?.isNew === true) {
      const { file = '' } = sourceOfRule(await activeRuleSet(tx), rule) ?? {}
      await tellHold(tx, scope, { hold, waiting: held.length, cycle, version, file })
    }
    answer.granted.push(...passed)
    answer.held.push(...held)
    holdId ??= hold?.id ?? null
    // The alert may have cleared since the workflow read it. This permit must not serve the next alert too.
    await endPermits(tx, await clearedPermits(tx, scope, ids))
  }
  return { ...answer, holdId }
}

/** Whether the usage feed is stale, and the present usage unknown. @param cycle the running one */
async function isStale(tx: TenantTx, cycle: Cycle): Promise<boolean> {
  return feedAt(await readFeed(tx), cycle, tx.now.getTime()).staleSince !== null
}

/**
 * Notes that the orders to suspend these SIMs wait for usage, and has them evaluated. If the feed is fresh again by
 * then, only this evaluation asks. For a pool, its next rounds ask.
 */
async function delay(tx: TenantTx, { rule, cycle, simIds }: PermitRequest): Promise<PermitResponse> {
  await lockAlerts(tx)
  const delayed = await delayOrders(tx, { rule, cycleKey: cycle, simIds })
  await markDue(
    tx,
    delayed.map((id) => ({ kind: 'sim' as const, id })),
  )
  return { granted: [], held: [], discarded: [], delayed: [...new Set(simIds)], holdId: null }
}
