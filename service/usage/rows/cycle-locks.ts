/**
 * Locks on billing cycles. They are advisory, apart from the cycles' rows: a cycle can be locked before it is opened.
 */

import { type RawBuilder, sql } from 'kysely'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { kept } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/**
 * Key of a cycle's lock. Changes of the cycle's ledger take it shared. To open, settle or close the cycle, take it
 * alone.
 */
const cycleLock = (tx: TenantTx, key: string | RawBuilder<unknown>) =>
  sql`hashtext('simherd.cycle'), hashtext(${tx.lockName} || '/' || ${key})`

/**
 * Locks cycles against opening and closing until this transaction ends. Usage counted here is then either in the
 * statement or clearly late. Call before locking pools.
 *
 * @returns the cycles not opened yet
 */
export async function lockCycles(tx: TenantTx, cycles: readonly Cycle[]): Promise<Cycle[]> {
  await keepAsOpened(tx, cycles)
  return unopenedOf(tx, cycles)
}

/**
 * Like {@link lockCycles}, for callers that find the progress of the opening in another way. Locks the cycles in this
 * order.
 */
export async function keepAsOpened(tx: TenantTx, cycles: readonly Cycle[]): Promise<void> {
  await sql`${kept}
    select pg_advisory_xact_lock_shared(${cycleLock(tx, sql`c.key`)})
      from (select key from unnest(${cycles.map(({ key }) => key)}::text[]) with ordinality as k(key, n)
             order by n offset 0) c`.execute(tx.q)
}

/** The given cycles that are not opened yet. */
async function unopenedOf(tx: TenantTx, cycles: readonly Cycle[]): Promise<Cycle[]> {
  const { rows } = await sql<{ key: string }>`
    select key from cycles where tenant_id = ${mine} and key = any(${cycles.map(({ key }) => key)}::text[])`.execute(
    tx.q,
  )
  const open = new Set(rows.map(({ key }) => key))
  return cycles.filter(({ key }) => !open.has(key))
}

/**
 * Locks a cycle alone: waits for all changes of its ledger, and blocks others until this transaction ends. Not for a
 * transaction with a lock by {@link lockCycles}: two of them would wait for each other.
 */
export async function lockCycleAlone(tx: TenantTx, key: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${cycleLock(tx, key)})`.execute(tx.q)
}
