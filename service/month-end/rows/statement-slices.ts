/**
 * Writes a statement slice by slice:
 *
 *   the cycle's own lines, pools by id → adjustments of earlier cycles, by cycle, then pool
 *
 * `statement_progress` has the progress, written with the lines. A slice broken off leaves nothing, and any process
 * continues with the next. A writer locks that row: several at once take turns.
 *
 * A shared pool is stated whole and in one moment, under its lock: its line and those of its SIMs agree to the byte.
 * SIMs outside pools, and those of a large unshared pool, are cut: a SIM's usage changes only its own line, and the
 * pool's own line is the sum of theirs. Usage received during a slice waits only for its own pool. Changes after the
 * lines are written are not lost: they are in the next statement, as adjustments.
 */

import { sql } from 'kysely'
import { TariffType } from '../../../domain/codes.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { cycleNamed } from '../../usage/rows/cycles.ts'
import { ALL_SIMS } from '../../usage/rows/open-cycle.ts'
import { lockPools } from '../../usage/rows/pool-totals.ts'
import { settleAdjusted } from '../../usage/rows/restatements.ts'
import { ensureLedgerPools } from './progress.ts'
import { type StatementPart, writeAdjustments, writeLines } from './statement-lines.ts'

/** Ledger rows in a slice, unless one shared pool has more. They take about 0.1 s. */
export const SLICE = 5000
/** Pools in a slice. Most of the cost of a small pool is its own. */
const MOST_POOLS = 1000
const OUTSIDE = 0

/** The last stated place. Everything before it is stated, too. */
interface Place {
  /** The closed cycle with changes being stated; '': the cycle's own lines are being stated. */
  readonly adjusts: string
  /** -1: none. */
  readonly poolId: number
  /** {@link ALL_SIMS}: all of the pool. */
  readonly simId: number
}
const BEFORE_ALL: Place = { adjusts: '', poolId: -1, simId: ALL_SIMS }

/**
 * Writes the next slice of a cycle's statement. Call with the cycle locked, until nothing is left, and not for a closed
 * or stated one.
 *
 * @param rows ledger rows in the slice
 * @returns whether nothing was left to write
 */
export async function writeSlice(tx: TenantTx, cycle: Cycle, rows: number = ALL_SIMS): Promise<boolean> {
  const last = await lockProgress(tx, cycle)
  const own = last.adjusts === '' ? await nextPart(tx, cycle, last, rows) : undefined
  const next = own ?? (await nextAdjusted(tx, cycle, last, rows))
  if (next === undefined) return true
  const { adjusts, part } = next
  await lockPools(tx, ledgerOf(cycle, adjusts), part.poolIds)
  if (adjusts === '') await writeLines(tx, cycle, part)
  else {
    // Deleted with the first lines: changes from now on are marked again, for the next statement.
    if (part.sims === undefined || part.sims.after === 0) {
      await settleAdjusted(tx, { cycleKey: adjusts, poolIds: part.poolIds })
    }
    await writeAdjustments(tx, cycle.key, await cycleNamed(tx, adjusts), part)
  }
  await sql`
    update statement_progress
       set adjusts = ${adjusts}, pool_id = ${part.poolIds.at(-1) ?? last.poolId}, sim_id = ${part.sims?.through ?? ALL_SIMS}
     where tenant_id = ${mine} and cycle_key = ${cycle.key}`.execute(tx.q)
  return false
}

/** Forgets how far a statement has come. Call when it is complete. */
export async function forgetProgress(tx: TenantTx, key: string): Promise<void> {
  await sql`delete from statement_progress where tenant_id = ${mine} and cycle_key = ${key}`.execute(tx.q)
}

/** Locks a statement's progress until the transaction ends. The first call begins the statement. */
async function lockProgress(tx: TenantTx, cycle: Cycle): Promise<Place> {
  const { rows } = await sql<Place>`
    select adjusts, pool_id as "poolId", sim_id as "simId" from statement_progress
     where tenant_id = ${mine} and cycle_key = ${cycle.key}
       for update`.execute(tx.q)
  if (rows[0] !== undefined) return rows[0]
  const { adjusts, poolId, simId } = BEFORE_ALL
  await sql`
    insert into statement_progress (cycle_key, adjusts, pool_id, sim_id)
    values (${cycle.key}, ${adjusts}, ${poolId}, ${simId})
    on conflict do nothing`.execute(tx.q)
  await ensureLedgerPools(tx, cycle)
  return lockProgress(tx, cycle)
}

interface Next {
  readonly adjusts: string
  readonly part: StatementPart
}

/** The next changed pools of closed cycles. A mark before the last stated place is left to the next statement. */
async function nextAdjusted(tx: TenantTx, cycle: Cycle, last: Place, rows: number): Promise<Next | undefined> {
  const adjusts = last.simId < ALL_SIMS ? last.adjusts : await nextMarked(tx, last)
  if (adjusts === undefined) return undefined
  return nextPart(tx, cycle, adjusts === last.adjusts ? last : { ...BEFORE_ALL, adjusts }, rows)
}

async function nextMarked(tx: TenantTx, { adjusts, poolId }: Place): Promise<string | undefined> {
  const { rows } = await sql<{ key: string }>`
    select cycle_key as key from restatements
     where tenant_id = ${mine} and (cycle_key, pool_id) > (${adjusts}, ${poolId}::integer)
     order by cycle_key, pool_id limit 1`.execute(tx.q)
  return rows[0]?.key
}

/** Key of the cycle whose ledger is stated: an adjusted one, or else the statement's own. */
const ledgerOf = (cycle: Cycle, adjusts: string) => (adjusts === '' ? cycle.key : adjusts)

/**
 * The next part of a ledger, after the last stated place in it: whole pools, or some SIMs of a cut pool.
 *
 * @param rows ledger rows; a pool with more comes alone
 */
async function nextPart(tx: TenantTx, cycle: Cycle, last: Place, rows: number): Promise<Next | undefined> {
  const { adjusts } = last
  if (last.simId < ALL_SIMS) return { adjusts, part: await nextSims(tx, cycle, last, rows) }
  const key = ledgerOf(cycle, adjusts)
  const list = adjusts === '' ? 'pool_cycles' : 'restatements'
  const found = await sql<{ poolId: number; places: number }>`
    with recursive walk (pool_id, pools, places) as (
      select ${last.poolId}::integer, 0, 0::bigint
      union all
      select n.pool_id, w.pools + 1, w.places + c.places
        from walk w
       cross join lateral (
         select p.pool_id from ${sql.table(list)} p
          where p.tenant_id = ${mine} and p.cycle_key = ${key} and p.pool_id > w.pool_id
          order by p.pool_id limit 1) n
       cross join lateral (
         select count(*) as places
           from (select from usage_ledger l
                  where l.tenant_id = ${mine} and l.cycle_key = (select ${key}::text) and l.pool_id = n.pool_id
                  limit ${rows}) counted) c
       where w.places < ${rows} and w.pools < ${MOST_POOLS}
    )
    select pool_id as "poolId", places from walk where pools > 0 and (places <= ${rows} or pools = 1) order by pools`.execute(
    tx.q,
  )
  const [first] = found.rows
  if (first === undefined) return undefined
  const isLarge = first.places >= rows
  // In an adjustment a pool's own line is not the sum of its SIMs' lines: a changed share alone makes no line.
  const isCut = first.poolId === OUTSIDE || (isLarge && adjusts === '' && !(await isShared(tx, first.poolId)))
  if (isCut) return { adjusts, part: await nextSims(tx, cycle, { adjusts, poolId: first.poolId, simId: 0 }, rows) }
  return { adjusts, part: { poolIds: found.rows.map(({ poolId }) => poolId) } }
}

async function isShared(tx: TenantTx, poolId: number): Promise<boolean> {
  const { rows } = await sql`
    select from pools p join tariffs t on t.id = p.tariff_id
     where p.id = ${poolId} and t.type <> ${TariffType.Standard}`.execute(tx.q)
  return rows.length > 0
}

/** The SIMs of a pool after a place in it. */
async function nextSims(
  tx: TenantTx,
  cycle: Cycle,
  { adjusts, poolId, simId: after }: Place,
  rows: number,
): Promise<StatementPart> {
  const key = ledgerOf(cycle, adjusts)
  // The last SIM of the slice, and the one after it.
  const found = await sql<{ id: number }>`
    select sim_id as id from usage_ledger
     where tenant_id = ${mine} and cycle_key = (select ${key}::text) and pool_id = ${poolId} and sim_id > ${after}
     order by sim_id offset ${rows - 1} limit 2`.execute(tx.q)
  const [last, next] = found.rows
  return { poolIds: [poolId], sims: { after, through: last === undefined || next === undefined ? ALL_SIMS : last.id } }
}
