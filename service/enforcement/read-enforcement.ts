/** Data that the enforcement workflows read before they act: one response, consistent at one instant. */

import type { PoolEnforcement, SimEnforcement } from '../../domain/enforcement/enforcement.ts'
import { ServiceError } from '../../domain/errors.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { modeInForce } from '../../domain/watchdog/settings.ts'
import { rememberedStart } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { firingSince } from '../alerts/rows/alerts.ts'
import { findPool } from '../pools/rows/pools.ts'
import { countArms } from '../sims/rows/pool-arms.ts'
import { cycleNamed, runningCycle, tenantSettings } from '../usage/rows/cycles.ts'
import { readPoolFigures, rowFigures, rowIn } from '../usage/rows/figures.ts'
import { poolRows, readEnforcedSim } from './rows/candidates.ts'

/** The most SIMs in one response. Those picked first are suspended by the next read, and make room for others. */
const MOST_ROWS = 10_000

/**
 * A SIM, as suspend-on-overage sees it.
 *
 * @param cycleKey null for the running cycle
 * @param rule the rule that asks to suspend; null if a person started the workflow, when overage decides instead
 * @throws ServiceError `sim_not_found`, `cycle_not_found`
 */
export async function simEnforcement(
  tx: TenantTx,
  simId: number,
  cycleKey: string | null,
  rule: string | null,
): Promise<SimEnforcement> {
  const sim = await readEnforcedSim(tx, simId)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId}.`)
  const cycle = cycleKey === null ? await runningCycle(tx) : await cycleNamed(tx, cycleKey)
  const settings = await tenantSettings(tx)
  const before = await rememberedStart(tx, suspendOnOverageId(tx.tenantId, simId, cycle.key))
  const asking = await subjectOver(tx, { simId, poolId: sim.poolId }, cycle.key, rule)
  return {
    simId,
    iccid: sim.iccid,
    status: sim.status,
    poolId: sim.poolId,
    processing: sim.openTickets > 0,
    // Once the cycle has ended, no rule enforces anything in it.
    overLimit: asking !== null && tx.now.getTime() < cycle.endsAt,
    mode: modeInForce(asking?.subject ?? 'sim', sim.watchdogMode, sim.poolMode),
    exempt: sim.exempt,
    enforcementEnabled: settings.enforcementEnabled,
    passedOver: before?.held === true,
    refused: asking !== null && before?.refusedAt != null && before.refusedAt >= asking.since,
    suspension: sim.suspension && { ...sim.suspension, openedAt: sim.suspension.openedAt.toISOString() },
  }
}

/**
 * Which alert of the rule is firing, and since when: the SIM's or its pool's. Null if neither is. Without a rule:
 * `sim`, since ever, if the SIM has overage in its pool, else null.
 */
async function subjectOver(
  tx: TenantTx,
  { simId, poolId }: { readonly simId: number; readonly poolId: number | null },
  cycleKey: string,
  rule: string | null,
): Promise<{ readonly subject: 'sim' | 'pool'; readonly since: Date } | null> {
  if (rule === null) {
    const rows = (await rowFigures(tx, cycleKey, [simId])).get(simId) ?? []
    return rowIn(rows, poolId).overageBytes > 0 ? { subject: 'sim', since: new Date(0) } : null
  }
  const own = await firingSince(tx, rule, { kind: 'sim' as const, id: simId }, cycleKey)
  if (own !== undefined) return { subject: 'sim', since: own }
  if (poolId === null) return null
  const since = await firingSince(tx, rule, { kind: 'pool' as const, id: poolId }, cycleKey)
  return since === undefined ? null : { subject: 'pool', since }
}

/** A pool, as enforce-pool sees it. @throws ServiceError `pool_not_found`, `cycle_not_found` */
export async function poolEnforcement(
  tx: TenantTx,
  poolId: number,
  cycleKey: string,
  rule: string,
): Promise<PoolEnforcement> {
  if ((await findPool(tx, poolId)) === undefined)
    throw new ServiceError('pool_not_found', `There is no pool ${poolId}.`)
  const cycle = await cycleNamed(tx, cycleKey)
  const settings = await tenantSettings(tx)
  const figures = await readPoolFigures(tx, cycleKey, [poolId])
  const since = await firingSince(tx, rule, { kind: 'pool' as const, id: poolId }, cycleKey)
  return {
    poolId,
    over: since !== undefined && tx.now.getTime() < cycle.endsAt,
    overageBytes: figures.get(poolId)?.overageBytes ?? 0,
    enforcementEnabled: settings.enforcementEnabled,
    armed: await countArms(tx, { poolId, cycle: cycleKey }),
    ...(await poolRows(tx, poolId, { cycleKey, since, limit: MOST_ROWS })),
  }
}
