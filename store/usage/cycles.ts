/** Billing cycles of a tenant: the running one, those that have ended, and locks on them. */

import { sql } from 'kysely'
import { ServiceError } from '../../domain/errors.ts'
import { type Cycle, cycleAt, cycleOfKey } from '../../domain/time/cycle.ts'
import type { TenantTx } from '../tenancy.ts'
import { openCycle } from './open-cycle.ts'

/** A tenant's settings for time and enforcement. */
export interface TenantSettings {
  readonly billingCycle: string
  readonly enforcementEnabled: boolean
}

/** @throws Error if the tenant does not exist */
export async function tenantSettings(tx: TenantTx): Promise<TenantSettings> {
  const { rows } = await sql<TenantSettings>`
    select billing_cycle as "billingCycle", enforcement_enabled as "enforcementEnabled"
      from tenants where id = ${tx.tenantId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`there is no tenant ${tx.tenantId}`)
  return row
}

/** The cycle that runs now, for reads: it is not opened, and may not be. */
export async function runningCycle(tx: TenantTx): Promise<Cycle & { readonly isOpen: boolean }> {
  const { rows } = await sql<{ billingCycle: string; keys: string[] }>`
    select billing_cycle as "billingCycle",
           array(select key from cycles where tenant_id = ${tx.tenantId} and ends_at > ${tx.now}) as keys
      from tenants where id = ${tx.tenantId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`there is no tenant ${tx.tenantId}`)
  const cycle = cycleAt(row.billingCycle, tx.now.getTime())
  return { ...cycle, isOpen: row.keys.includes(cycle.key) }
}

/**
 * The cycle that runs now. The first call in a cycle opens it; later calls cost only two cheap selects.
 */
export async function currentCycle(tx: TenantTx): Promise<Cycle> {
  const { billingCycle } = await tenantSettings(tx)
  const cycle = cycleAt(billingCycle, tx.now.getTime())
  await openCycle(tx, cycle)
  return cycle
}

/**
 * The billing cycle with this key for this tenant. It need not have been opened.
 *
 * @throws ServiceError `cycle_not_found`
 */
export async function cycleNamed(tx: TenantTx, key: string): Promise<Cycle> {
  const { billingCycle } = await tenantSettings(tx)
  const cycle = cycleOfKey(billingCycle, key)
  if (cycle === undefined) {
    throw new ServiceError('cycle_not_found', `'${key}' names no billing cycle of ${billingCycle}.`)
  }
  return cycle
}

/**
 * As {@link cycleNamed}, for a cycle that has ended.
 *
 * @throws ServiceError `cycle_not_found`; `cycle_open` if it has not ended
 */
export async function endedCycle(tx: TenantTx, key: string): Promise<Cycle> {
  const cycle = await cycleNamed(tx, key)
  if (tx.now.getTime() < cycle.endsAt) {
    throw new ServiceError('cycle_open', `Cycle ${key} runs until ${new Date(cycle.endsAt).toISOString()}.`)
  }
  return cycle
}

/**
 * Records that a cycle's contributors are final, except for changes made in it.
 *
 * @returns whether this call was the first
 */
export async function markSettled(tx: TenantTx, key: string): Promise<boolean> {
  const { rows } = await sql`
    update cycles set settled_at = ${tx.now}
     where tenant_id = ${tx.tenantId} and key = ${key} and settled_at is null
    returning 1`.execute(tx.q)
  return rows.length > 0
}

/** Key of a cycle's advisory lock, apart from its row. Counting usage takes the lock shared, closing takes it alone. */
const cycleLock = (tx: TenantTx, key: string) =>
  sql`hashtext('simherd.cycle'), hashtext(${tx.tenantId} || '/' || ${key})`

/**
 * Locks cycles against closing until this transaction ends. Usage counted here is then either in the statement or
 * clearly late. Call before locking pools.
 *
 * @returns the cycles that have not been opened yet
 */
export async function lockCycles(tx: TenantTx, cycles: readonly Cycle[]): Promise<Cycle[]> {
  for (const { key } of cycles) await sql`select pg_advisory_xact_lock_shared(${cycleLock(tx, key)})`.execute(tx.q)
  const { rows } = await sql<{ key: string }>`
    select key from cycles where tenant_id = ${tx.tenantId} and key = any(${cycles.map(({ key }) => key)}::text[])`.execute(
    tx.q,
  )
  const open = new Set(rows.map(({ key }) => key))
  return cycles.filter(({ key }) => !open.has(key))
}

/**
 * Locks a cycle alone: waits until no usage is being counted in it, and keeps others out until this transaction ends.
 */
export async function lockCycleAlone(tx: TenantTx, key: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${cycleLock(tx, key)})`.execute(tx.q)
}

/** Keys of those given cycles that are closed. */
export async function closedCycles(tx: TenantTx, keys: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select key from cycles
     where tenant_id = ${tx.tenantId} and key = any(${[...keys]}::text[]) and closed_at is not null`.execute(tx.q)
  return rows.map(({ key }) => key)
}
