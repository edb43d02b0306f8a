/**
 * Opening a billing cycle: in slices of SIMs, each a transaction. A small estate is one slice.
 *
 *   a slice of SIMs gets its ledger rows → the next → … → the cycle's own row
 *
 * The cycle's own row marks the cycle open, so a cycle is never seen in part. `cycle_openings` has the progress. A
 * ticket that ends during the opening keeps the rows of its SIM right (`settleAhead`).
 */

import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../../../domain/errors.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { kept } from '../../../store/kept.ts'
import { byKey, mineAfter, pageLimit } from '../../../store/keyset-pages.ts'
import { DoFirst, inTenant, mine, type Store, type TenantTx } from '../../../store/tenancy.ts'
import { settleContributors, simsBetween } from './contributors.ts'

/** Higher than the id of any SIM. */
export const ALL_SIMS = Number.MAX_SAFE_INTEGER

/**
 * Opens a cycle, for work that needs it open. Does nothing if the cycle has been opened before. Otherwise call without
 * the cycle locked by `lockCycles`.
 *
 * Opens the remaining SIMs in this transaction, if they fit into a slice. If there are more, breaks this transaction
 * off: `inTenant` opens the cycle in slices, and begins again. A replay opens it whole: no transaction waits for its
 * tables.
 *
 * Looks at the subjects need no request, though cycle-bound facts start from zero: every shard is due when the
 * cycle before ends.
 *
 * @returns whether this transaction opened it
 * @throws DoFirst
 */
export async function openCycle(tx: TenantTx, cycle: Cycle): Promise<boolean> {
  const after = await openedToOf(tx, cycle)
  if (after === ALL_SIMS) return false
  if (!tx.isReplay && (await hasMoreThan(tx, after, tx.opening.sims))) {
    throw new DoFirst(`cycle ${cycle.key} is not open`, (store, tenantId, until) =>
      openUntil(store, tenantId, cycle, until),
    )
  }
  return openWhole(tx, cycle)
}

/**
 * Opens a cycle in this transaction, without a limit of time. Writes a ledger row for every SIM Active in it or
 * resuming at its start. The SIM then contributes from the first moment.
 *
 * @returns whether this call opened it
 */
export async function openWhole(tx: TenantTx, cycle: Cycle): Promise<boolean> {
  await lockCycleAlone(tx, cycle.key)
  const after = await openedToOf(tx, cycle)
  if (after === ALL_SIMS) return false
  await settleContributors(tx, cycle, after === 0 ? undefined : simsBetween(after, ALL_SIMS))
  await markOpened(tx, cycle)
  return true
}

/** Whether more than a number of SIMs follow a SIM. */
async function hasMoreThan(tx: TenantTx, after: number, sims: number): Promise<boolean> {
  const { rows } = await sql`
    select from sims
     where ${mineAfter('sims.id', after)} order by ${byKey('sims.id')} offset ${pageLimit(sims)} limit 1`.execute(tx.q)
  return rows.length > 0
}

/**
 * The slices that this process opens just now, by tenant and cycle. All requests for a cycle wait for the same slice,
 * not each with a connection for the cycle's lock.
 */
const underWay = new Map<string, Promise<boolean>>()

/**
 * Opens slices of a cycle until it is open. Other processes may open some too. If the time is up, a job goes on: jobs
 * that look at subjects first finish cycles opened in part.
 *
 * @throws ServiceError `unavailable` if the cycle is not open when the time is up
 */
async function openUntil(store: Store, tenantId: string, cycle: Cycle, until: number): Promise<void> {
  const name = `${tenantId}/${cycle.key}`
  const begin = () => {
    const slice = inTenant(store, tenantId, (tx) => openSlice(tx, cycle, tx.opening.sims))
    underWay.set(name, slice)
    return slice.finally(() => underWay.delete(name))
  }
  while (!(await (underWay.get(name) ?? begin()))) {
    if (performance.now() < until) continue
    store.enqueue([{ queue: 'evaluate', tenantId }])
    const detail = `Billing cycle ${cycle.key} is not open for all SIMs of the tenant yet; this goes on. Nothing was done.`
    throw new ServiceError('unavailable', `${detail} Try again.`)
  }
}

/**
 * Opens the next slice of a cycle; after the last one, the cycle. Call until the cycle is open.
 *
 * @param sims SIMs in the slice
 * @param finish whether to open the cycle after its last slice
 * @returns whether there is nothing left to do
 */
export async function openSlice(tx: TenantTx, cycle: Cycle, sims: number, finish = true): Promise<boolean> {
  // An open cycle is not locked.
  if ((await openedToOf(tx, cycle)) === ALL_SIMS) return true
  await lockCycleAlone(tx, cycle.key)
  const after = await openedToOf(tx, cycle)
  if (after === ALL_SIMS) return true
  const through = await endOfSlice(tx, after, sims)
  if (through === undefined) {
    if (finish) await markOpened(tx, cycle)
    return true
  }
  await settleContributors(tx, cycle, simsBetween(after, through))
  await sql`
    insert into cycle_openings (cycle_key, opened_to) values (${cycle.key}, ${through})
    on conflict (tenant_id, cycle_key) do update set opened_to = excluded.opened_to`.execute(tx.q)
  return false
}

/**
 * Up to which SIM each of these cycles is opened, by key: {@link ALL_SIMS} if it is open. A cycle without an opened SIM
 * is left out.
 */
export async function openedTo(tx: TenantTx, cycles: readonly Cycle[]): Promise<Map<string, number>> {
  const keys = cycles.map(({ key }) => key)
  const { rows } = await sql<{ key: string; openedTo: number }>`${kept}
    select cycle_key as key, opened_to as "openedTo" from cycle_openings
     where tenant_id = ${mine} and cycle_key = any(${keys}::text[])
    union all
    select key, ${ALL_SIMS}::bigint from cycles where tenant_id = ${mine} and key = any(${keys}::text[])
     order by 2`.execute(tx.q)
  return new Map(rows.map((row) => [row.key, row.openedTo]))
}

const openedToOf = async (tx: TenantTx, cycle: Cycle): Promise<number> =>
  (await openedTo(tx, [cycle])).get(cycle.key) ?? 0

/** The last SIM of the slice after a SIM; undefined if no SIM follows. */
async function endOfSlice(tx: TenantTx, after: number, sims: number): Promise<number | undefined> {
  const { rows } = await sql<{ id: number | null }>`
    select max(id) as id
      from (select id from sims
             where ${mineAfter('sims.id', after)} order by ${byKey('sims.id')} limit ${pageLimit(sims)}) s`.execute(
    tx.q,
  )
  return rows[0]?.id ?? undefined
}

async function markOpened(tx: TenantTx, { key, startsAt, endsAt }: Cycle): Promise<void> {
  await sql`
    insert into cycles (key, starts_at, ends_at, opened_at)
    values (${key}, ${new Date(startsAt)}, ${new Date(endsAt)}, ${tx.now})
    on conflict do nothing`.execute(tx.q)
  await sql`delete from cycle_openings where tenant_id = ${mine} and cycle_key = ${key}`.execute(tx.q)
}

// Locks on cycles are advisory, apart from the cycles' rows: a cycle can be locked before it is opened.

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
  const opened = await openedTo(tx, cycles)
  return cycles.filter(({ key }) => opened.get(key) !== ALL_SIMS)
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

/**
 * Locks a cycle alone: waits for all changes of its ledger, and blocks others until this transaction ends. Not for a
 * transaction with a lock by {@link lockCycles}: two of them would wait for each other.
 */
export async function lockCycleAlone(tx: TenantTx, key: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${cycleLock(tx, key)})`.execute(tx.q)
}
