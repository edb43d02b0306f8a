/**
 * The guard on suspensions: how many SIMs one rule may suspend in an hour before a person has to decide.
 *
 * It counts the permits that it grants, not what carriers have done. A permit is for one suspension, and lasts as long
 * as the alert behind it.
 */
import type { PermitRequest, PermitResponse } from '../../domain/enforcement/guard.ts'
import { ServiceError } from '../../domain/errors.ts'
import { instant } from '../../domain/local-time.ts'
import { count, counted } from '../../domain/quantity.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { feedAt } from '../../domain/usage/feed.ts'
import { markDue } from '../../store/due.ts'
import {
  clearedPermits,
  countPermits,
  endPermits,
  type GuardScope,
  insertHold,
  insertPermits,
  lockGuard,
  openHoldOf,
  scopeSize,
  standingPermits,
} from '../../store/enforcement/guard.ts'
import { readEnforcementSettings } from '../../store/enforcement/guard-settings.ts'
import { poolName } from '../../store/estate/pools.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { cycleNamed, tenantSettings } from '../../store/usage/cycles.ts'
import { readFeed } from '../../store/usage/feed.ts'
import { delayOrders, lockAlerts } from '../../store/watchdog/alerts.ts'
import { activeRuleVersion } from '../../store/watchdog/rule-sets.ts'
import { knownPool } from '../estate/known-pool.ts'
import { limitFor } from './guard-limit.ts'
import { tellHold } from './tell-hold.ts'

/** Whether a rule in force reads facts of usage. */
export type ReadsUsage = (tx: TenantTx, rule: string) => Promise<boolean>

/** The window in which permits are counted. */
export const WINDOW_MS = 3_600_000

/**
 * Whether a rule may suspend SIMs now. Safe to run twice: a permit stays as it is until the alert clears, the rules
 * change, or a person decides about its hold. While the usage feed is stale, a rule that reads usage suspends no SIM, even
 * after an earlier permit: an evaluation asks again once usage is received.
 *
 * @returns ids of the SIMs granted, held, discarded and delayed; the hold, if any of them is held
 * @throws ServiceError `sim_not_found`, `pool_not_found`, `cycle_not_found`, `sim_state_conflict` for an ended cycle
 */
export async function askPermits(tx: TenantTx, ask: PermitRequest, readsUsage: ReadsUsage): Promise<PermitResponse> {
  const { rule, cycle: cycleKey, workflowId } = ask
  const cycle = await cycleNamed(tx, cycleKey)
  if (tx.now.getTime() >= cycle.endsAt) {
    throw new ServiceError('sim_state_conflict', `Cycle ${cycleKey} has ended: nothing is enforced in it any more.`)
  }
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
    const scope: GuardScope = { rule, version, poolId, cycleKey }
    const ids = permits.map(({ simId }) => simId)
    const shared = await shareOut(tx, scope, ids, { workflowId, cycleEndsAt: new Date(cycle.endsAt) })
    answer.granted.push(...shared.granted)
    answer.held.push(...shared.held)
    holdId ??= shared.holdId
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
 * Notes that the orders to suspend these SIMs wait for usage, and has them evaluated. If the feed is fresh again by then, only
 * this evaluation asks. For a pool, its next rounds ask.
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

/** Grants up to the hourly limit, and holds the rest. An open hold takes all of them. */
async function shareOut(
  tx: TenantTx,
  scope: GuardScope,
  simIds: readonly number[],
  { workflowId, cycleEndsAt }: { readonly workflowId: string; readonly cycleEndsAt: Date },
): Promise<{ granted: readonly number[]; held: readonly number[]; holdId: number | null }> {
  const open = await openHoldOf(tx, scope)
  if (open !== undefined) {
    await insertPermits(tx, scope, simIds, { workflowId, holdId: open })
    return { granted: [], held: simIds, holdId: open }
  }
  const used = await countPermits(tx, scope, new Date(tx.now.getTime() - WINDOW_MS))
  const allowed = await allowedIn(tx, scope, used + simIds.length)
  const free = Math.max(0, allowed - used)
  const [granted, held] = [simIds.slice(0, free), simIds.slice(free)]
  await insertPermits(tx, scope, granted, { workflowId, holdId: null })
  if (held.length === 0) return { granted, held, holdId: null }
  const suspended = used + granted.length
  const holdId = await insertHold(tx, scope, { cycleEndsAt, suspended, allowed })
  await insertPermits(tx, scope, held, { workflowId, holdId })
  await notifyHeld(tx, scope, { holdId, suspended, allowed, waiting: held.length, cycleEndsAt })
  return { granted, held, holdId }
}

/** The hourly limit, from the settings. */
export async function allowedIn(tx: TenantTx, { poolId }: Pick<GuardScope, 'poolId'>, wanted: number): Promise<number> {
  const { guardLeast, guardPct } = await readEnforcementSettings(tx)
  return limitFor({ least: guardLeast, pct: guardPct }, wanted, () => scopeSize(tx, poolId))
}

interface Held {
  readonly holdId: number
  readonly suspended: number
  readonly allowed: number
  readonly waiting: number
  /** The hold lapses with its cycle. */
  readonly cycleEndsAt: Date
}

async function notifyHeld(tx: TenantTx, { rule, version, poolId, cycleKey }: GuardScope, held: Held): Promise<void> {
  const { holdId, suspended, allowed, waiting, cycleEndsAt } = held
  const whose = poolId === null ? 'the tenant' : `pool ${(await poolName(tx, poolId)) ?? poolId}`
  const command = (name: string) => `npx simherd enforcement ${name} ${holdId} --tenant ${tx.tenantId}`
  const until = instant(cycleEndsAt.getTime(), (await tenantSettings(tx)).timeZone)
  const message =
    `Decision needed: ${counted(waiting, 'suspension')} in ${whose} held. ` +
    `Rule ${rule} of version ${version} has suspended ${counted(suspended, 'SIM')} there in the last hour; at most ${count(allowed)} go in an hour. ` +
    `Decide until ${until}: ${command('release')}, or discard.`
  await tellHold(tx, {
    holdId,
    rule,
    version,
    poolId,
    cycleKey,
    waiting,
    message,
    whatNext: `This rule suspends nothing more here until a person decides, at the latest until ${until}.`,
    howToStop: `Where the suspensions are right: ${command('release')}. Where they are not: ${command('discard')}.`,
    explanation: held,
  })
}
