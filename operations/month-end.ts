/** The steps of a month end that the service does itself; their order is the workflow's. */
import { LogLevel } from '../domain/codes.ts'
import { type Cycle, cycleOfKey, nextCycle } from '../domain/cycle.ts'
import { ServiceError } from '../domain/errors.ts'
import type { ChangeFailed, PoolChange } from '../domain/month-end.ts'
import { noteChange } from '../store/audit.ts'
import { openCycle, tenantTerms } from '../store/cycles.ts'
import { queuedChanges } from '../store/month-end.ts'
import type { TenantTx } from '../store/tenancy.ts'
import { insertLogEntries } from '../store/watchdog.ts'
import { knownSimLabel } from './known-sim.ts'

/**
 * The cycle a key names for this tenant.
 *
 * @throws ServiceError `cycle_not_found`
 */
export async function cycleNamed(tx: TenantTx, key: string): Promise<Cycle> {
  const { billingCycle } = await tenantTerms(tx)
  const cycle = cycleOfKey(billingCycle, key)
  if (cycle === undefined) {
    throw new ServiceError('cycle_not_found', `'${key}' names no billing cycle of ${billingCycle}.`)
  }
  return cycle
}

/**
 * As {@link cycleNamed}, of a cycle that has ended.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function endedCycle(tx: TenantTx, key: string): Promise<Cycle> {
  const cycle = await cycleNamed(tx, key)
  if (tx.now.getTime() < cycle.endsAt) {
    throw new ServiceError('cycle_open', `Cycle ${key} runs until ${new Date(cycle.endsAt).toISOString()}.`)
  }
  return cycle
}

/** A page of the changes queued before the cycle's end. */
export async function changesOf(
  tx: TenantTx,
  key: string,
  ask: { readonly afterSimId: number; readonly limit: number; readonly unassign: boolean | null },
): Promise<PoolChange[]> {
  const cycle = await cycleNamed(tx, key)
  return queuedChanges(tx, { ...ask, before: new Date(cycle.endsAt) })
}

/**
 * Logs a queued change that failed, once a SIM and cycle. It stays queued and may be tried again.
 *
 * @throws ServiceError `sim_not_found`
 */
export async function noteChangeFailed(tx: TenantTx, key: string, failed: ChangeFailed): Promise<void> {
  const label = await knownSimLabel(tx, failed.simId)
  const ticket = failed.ticketId === null ? '' : ` Ticket ${failed.ticketId}.`
  await insertLogEntries(tx, [
    {
      dedupeKey: `change-failed/sim/${failed.simId}/${key}`,
      rule: null,
      ruleVersion: null,
      simId: failed.simId,
      poolId: null,
      level: LogLevel.Critical,
      message: `The change queued for SIM ${label} at the end of cycle ${key} failed and stays queued: ${failed.detail} (${failed.code}).${ticket}`,
      cycleKey: key,
      explanation: failed,
    },
  ])
}

/** Opens the cycle after one that has ended: its ledger counts from nothing, and everything is evaluated anew. */
export async function renewCycle(tx: TenantTx, key: string): Promise<{ readonly opened: boolean }> {
  const ended = await endedCycle(tx, key)
  const { billingCycle } = await tenantTerms(tx)
  const next = nextCycle(billingCycle, ended)
  const opened = await openCycle(tx, next)
  if (opened) await noteChange(tx, { subject: 'cycle', id: next.key, before: null, after: { openedAt: tx.now } })
  return { opened }
}
