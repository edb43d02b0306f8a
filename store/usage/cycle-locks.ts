/** Locks on billing cycles. They are advisory, apart from the cycles' rows: a cycle can be locked before it is opened. */

import { type RawBuilder, sql } from 'kysely'
import type { Cycle } from '../../domain/time/cycle.ts'
import { kept } from '../kept.ts'
import { mine, type TenantTx } from '../tenancy.ts'

/** Key of a cycle's lock. Who changes the cycle's ledger takes it shared; who opens, settles or closes it, alone. */
const cycleLock = (tx: TenantTx, key: string | RawBuilder<unknown>) =>
  sql`hashtext('simherd.cycle'), hashtext(${tx.lockName} || '/' || ${key})`

/**
 * Locks cycles against opening and closing until this transaction ends. Usage counted here is then either in the
 * statement or clearly late. Call before locking pools.
 *
 * @returns the cycles that have not been opened yet
 */
export async function lockCycles(tx: TenantTx, cycles: readonly Cycle[]): Promise<Cycle[]> {
  await keepAsOpened(tx, cycles)
  return unopenedOf(tx, cycles)
}

/** As {@link lockCycles}, for who finds out otherwise how far the cycles are opened. Locks them in this order. */
export async function keepAsOpened(tx: TenantTx, cycles: readonly Cycle[]): Promise<void> {
  await sql`${kept}
    select pg_advisory_xact_lock_shared(${cycleLock(tx, sql`c.key`)})
      from (select key from unnest(${cycles.map(({ key }) => key)}::text[]) with ordinality as k(key, n)
             order by n offset 0) c`.execute(tx.q)
}

/** Those given cycles that have not been opened yet. */
async function unopenedOf(tx: TenantTx, cycles: readonly Cycle[]): Promise<Cycle[]> {
  const { rows } = await sql<{ key: string }>`
    select key from cycles where tenant_id = ${mine} and key = any(${cycles.map(({ key }) => key)}::text[])`.execute(
    tx.q,
  )
  const open = new Set(rows.map(({ key }) => key))
  return cycles.filter(({ key }) => !open.has(key))
}

/**
 * Locks a cycle alone: waits until nobody changes its ledger, and keeps others out until this transaction ends. Not for
 * a transaction that has locked it with {@link lockCycles}: two of them would wait for each other.
 */
export async function lockCycleAlone(tx: TenantTx, key: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${cycleLock(tx, key)})`.execute(tx.q)
}
