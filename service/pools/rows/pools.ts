/** Pools, with their figures for the running cycle. */
import { type RawBuilder, sql } from 'kysely'
import type { TariffType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { offsetOf, pageRequest } from '../../../domain/page.ts'
import type { NewPool, Pool, PoolQuery } from '../../../domain/pools/pool.ts'
import { daysUntilRenewal } from '../../../domain/time/cycle.ts'
import { toMB, toMinutes } from '../../../domain/units.ts'
import type { Figures } from '../../../rules/fact-rows.ts'
import { insertedId } from '../../../store/inserted-id.ts'
import { ahead, kept } from '../../../store/kept.ts'
import {
  byKey,
  KEYSET_PAGE,
  keysetPages,
  mineAfter,
  mineByKey,
  pageLimit,
  placeAfter,
} from '../../../store/keyset-pages.ts'
import { OPEN_STATUSES } from '../../../store/open-statuses.ts'
import { type Part, readFound, readPart } from '../../../store/paging.ts'
import { mine, type Store, type TenantTx } from '../../../store/tenancy.ts'
import { openCycleNow, runningCycle } from '../../usage/rows/cycles.ts'
import { figuresOfPool, NO_FIGURES, unopenedPoolFigures } from '../../usage/rows/figures.ts'

/** A pool's own settings, without its figures. */
export type PoolRecord = Pick<
  Pool,
  'id' | 'name' | 'type' | 'watchdogMode' | 'warningThresholdPct' | 'enableBurnRateAlerts' | 'status' | 'tariffId'
>

type PoolRow = PoolRecord &
  Pick<Pool, 'activeSimCount' | 'totalSimCount'> &
  Figures & {
    readonly version: number
    /** End of the running cycle. */
    readonly endsAt: Date
    readonly createdAt: Date
    readonly updatedAt: Date
    readonly activatedAt: Date
    readonly tariffName: string
    readonly tariffType: TariffType
  }

/** The watchdog settings of a SIM `s` or a pool `p`. */
export const settingsColumns = (of: 's' | 'p'): RawBuilder<unknown> => {
  const column = (name: string) => sql.ref(`${of}.${name}`)
  return sql`${column('watchdog_mode')} as "watchdogMode", ${column('warning_threshold_pct')} as "warningThresholdPct",
    ${column('enable_burn_rate_alerts')} as "enableBurnRateAlerts"`
}

const columns = sql`p.id, p.name, p.type, p.version, ${settingsColumns('p')}, p.status, p.created_at as "createdAt",
  p.updated_at as "updatedAt", p.activated_at as "activatedAt", p.active_sim_count as "activeSimCount",
  p.total_sim_count as "totalSimCount", p.tariff_id as "tariffId", t.display_name as "tariffName", t.type as "tariffType"`

/** A pool as it is stored. Before the running cycle is open, it has no end and no figures. */
type ReadRow = Omit<PoolRow, 'endsAt'> & { readonly endsAt: Date | null }

const isOfOpenCycle = (row: ReadRow): row is PoolRow => row.endsAt !== null

/** Selects the shown columns and figures of pools. @param which condition on the alias `p`: at most a page */
const selectRows = (tx: TenantTx, which: RawBuilder<unknown>) => sql`
  with cycle as materialized (${openCycleNow(tx)}), p as materialized (
    select * from pools p where ${which} and p.deleted_at is null
  )
  select ${columns}, (select ends_at from cycle) as "endsAt", f.*
    from p
    join tariffs t on t.id = p.tariff_id
   cross join lateral ${figuresOfPool(sql`(select key from cycle)`, sql`p.id`)} f`

/** Before the running cycle is open, gives pools the figures that opening it now would give. */
async function withFigures(tx: TenantTx, rows: ReadRow[]): Promise<PoolRow[]> {
  if (rows.every(isOfOpenCycle)) return rows
  const cycle = await runningCycle(tx)
  const ids = rows.map(({ id }) => id)
  const figures = await unopenedPoolFigures(tx, cycle, ids)
  return rows.map((row) => ({ ...row, ...(figures.get(row.id) ?? NO_FIGURES), endsAt: new Date(cycle.endsAt) }))
}

/** Reads pools, by id. @param which as in {@link selectRows} */
async function readPools(tx: TenantTx, which: RawBuilder<unknown>): Promise<PoolRow[]> {
  const { rows } = await sql<ReadRow>`${kept} ${selectRows(tx, which)} order by p.id`.execute(tx.q)
  return withFigures(tx, rows)
}

const toPool = (tx: TenantTx, row: PoolRow): Pool => ({
  id: row.id,
  name: row.name,
  type: row.type,
  watchdogMode: row.watchdogMode,
  warningThresholdPct: row.warningThresholdPct,
  enableBurnRateAlerts: row.enableBurnRateAlerts,
  status: row.status,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  activatedAt: row.activatedAt.toISOString(),
  activeSimCount: row.activeSimCount,
  totalSimCount: row.totalSimCount,
  limitMB: toMB(row.limitBytes),
  usageMB: toMB(row.usageBytes),
  isOverage: row.overageBytes > 0,
  remainingMB: toMB(row.remainingBytes),
  overageMB: toMB(row.overageBytes),
  voiceMins: toMinutes(row.voiceSeconds),
  smsCount: row.smsCount,
  tariffId: row.tariffId,
  tariff: { id: row.tariffId, displayName: row.tariffName, type: row.tariffType },
  daysUntilRenewal: daysUntilRenewal({ endsAt: row.endsAt.getTime() }, tx.now.getTime()),
})

const fromPools = (which: RawBuilder<unknown>) => sql`from pools p where p.deleted_at is null and ${which}`
const inList = (ids: RawBuilder<unknown>) => sql`p.id = any(array(${ids}))`

/** The first pools after an id. */
const poolsAfter = (tx: TenantTx, after: number, most: number): Promise<PoolRow[]> =>
  readPools(
    tx,
    inList(sql`select p.id ${fromPools(mineAfter('p.id', after))} order by ${byKey('p.id')} limit ${pageLimit(most)}`),
  )

/**
 * Reads a page of the pools, by id, or the part after a cursor.
 *
 * @throws ServiceError invalid_request if the cursor is none
 */
export function pageOfPools(tx: TenantTx, query: PoolQuery): Promise<Part<Pool>> {
  const page = pageRequest(query)
  return readPart<PoolRow, Pool>(
    'pools',
    { page, cursor: query.cursor },
    {
      page: async () => {
        const own = fromPools(mineByKey('p.id'))
        const ids = sql`select p.id ${own} order by ${byKey('p.id')} limit ${pageLimit(page.pageSize)} offset ${pageLimit(offsetOf(page))}`
        const total = sql`(select count(*) ${own})::integer`
        const found = await readFound<ReadRow>(tx, selectRows(tx, inList(ids)), total)
        return { ...found, rows: await withFigures(tx, found.rows) }
      },
      after: ({ id }, most) => poolsAfter(tx, id, most),
      placeOf: ({ id }) => ({ micros: 0, id }),
      show: (rows) => rows.map((row) => toPool(tx, row)),
    },
  )
}

/** Reads all pools, by id, page by page. */
export const listPools = (store: Store, tenantId: string): AsyncGenerator<Pool[]> =>
  keysetPages(store, tenantId, async (tx, after: number | null) => {
    const rows = await poolsAfter(tx, after ?? 0, KEYSET_PAGE)
    return { items: rows.map((row) => toPool(tx, row)), next: placeAfter(rows, ({ id }) => id) }
  })

/** Reads a pool with its figures, and its version; undefined if there is none with this id. */
export async function readPool(
  tx: TenantTx,
  id: number,
): Promise<{ readonly pool: Pool; readonly version: number } | undefined> {
  const [row] = await readPools(tx, sql`p.id = ${id}::bigint`)
  return row && { pool: toPool(tx, row), version: row.version }
}

/** Reads a pool's settings without figures; undefined if there is none with this id. */
export const findPool = (tx: TenantTx, id: number): Promise<PoolRecord | undefined> => findPoolRecord(tx, id, sql``)

/**
 * Locks a pool against every other change, and against anyone about to put a SIM into it.
 *
 * @throws ServiceError `pool_not_found`
 */
export async function lockPool(tx: TenantTx, id: number): Promise<PoolRecord> {
  const pool = await findPoolRecord(tx, id, sql`for update`)
  if (pool === undefined) throw new ServiceError('pool_not_found', `There is no pool ${id}.`)
  return pool
}

/** The tariff of a pool. */
export interface PoolTariff {
  readonly tariffId: number
  readonly type: TariffType
}

/** Tariffs by pool id. Pools that do not exist are left out. */
export const poolTariffs = (tx: TenantTx, ids: readonly number[]): Promise<Map<number, PoolTariff>> =>
  readPoolTariffs(tx, ids, sql``)

/**
 * Keeps a pool from being deleted until the transaction ends.
 *
 * @returns its tariff; undefined if there is no such pool
 */
export const lockPoolTariff = async (tx: TenantTx, id: number): Promise<PoolTariff | undefined> =>
  (await lockPoolTariffs(tx, [id])).get(id)

/** As {@link poolTariffs}. Keeps the pools from being deleted until the transaction ends. */
export const lockPoolTariffs: typeof poolTariffs = (tx, ids) =>
  readPoolTariffs(tx, ids, sql`order by p.id for key share of p`)

async function readPoolTariffs(tx: TenantTx, ids: readonly number[], lock: RawBuilder<unknown>) {
  const { rows } = await sql<PoolTariff & { id: number }>`
    select p.id, p.tariff_id as "tariffId", t.type
      from pools p join tariffs t on t.id = p.tariff_id
     where p.tenant_id = ${mine} and p.deleted_at is null and p.id = any(${[...ids]}::bigint[]) ${lock}`.execute(tx.q)
  return new Map(rows.map(({ id, ...tariff }) => [id, tariff]))
}

async function findPoolRecord(tx: TenantTx, id: number, lock: RawBuilder<unknown>): Promise<PoolRecord | undefined> {
  const { rows } = await sql<PoolRecord>`
    select p.id, p.name, p.type, ${settingsColumns('p')}, p.status, p.tariff_id as "tariffId"
      from pools p
     where p.id = ${id}::bigint and p.deleted_at is null ${lock}`.execute(tx.q)
  return rows[0]
}

/** Name of a pool, even a deleted one; undefined if it never existed. */
export async function poolName(tx: TenantTx, id: number): Promise<string | undefined> {
  return (await poolNames(tx, [id])).get(id)
}

/**
 * The name of a pool, for a caller that may name a pool that does not exist.
 *
 * @throws ServiceError `pool_not_found`
 */
export async function knownPool(tx: TenantTx, poolId: number): Promise<string> {
  const name = await poolName(tx, poolId)
  if (name === undefined) throw new ServiceError('pool_not_found', `There is no pool ${poolId}.`)
  return name
}

/** Names of pools, by id. */
export async function poolNames(tx: TenantTx, ids: readonly number[]): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: number; name: string }>`
    select id, name from pools where id = any(${[...ids]}::bigint[])`.execute(tx.q)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The part of a pool that a caller may replace. */
export type PoolSettings = Pick<PoolRecord, 'name' | 'watchdogMode' | 'warningThresholdPct' | 'enableBurnRateAlerts'>

/** Replaces a pool's settings. Call with the pool locked. */
export async function writePool(tx: TenantTx, id: number, to: PoolSettings): Promise<void> {
  await sql`${ahead}
    update pools
       set name = ${to.name}, watchdog_mode = ${to.watchdogMode}, warning_threshold_pct = ${to.warningThresholdPct},
           enable_burn_rate_alerts = ${to.enableBurnRateAlerts}, version = version + 1, updated_at = ${tx.now}
     where id = ${id}`.execute(tx.q)
}

/**
 * Counts the obstacles to the deletion of a pool: its SIMs, queued changes into it, and open tickets into it. Call with
 * the pool locked.
 */
export async function poolUses(tx: TenantTx, id: number) {
  const { rows } = await sql<{ readonly sims: number; readonly queued: number; readonly tickets: number }>`
    select (select total_sim_count from pools where id = ${id}) as sims,
           (select count(*) from sims
             where tenant_id = ${mine} and pending_since is not null and pending_pool_id = ${id})::integer as queued,
           (select count(*) from tickets
             where tenant_id = ${mine} and status in ${OPEN_STATUSES} and pool_id = ${id})::integer as tickets`.execute(
    tx.q,
  )
  return rows[0] ?? { sims: 0, queued: 0, tickets: 0 }
}

/** Marks a pool deleted, which hides it. Call with the pool locked and unused. */
export async function removePool(tx: TenantTx, id: number): Promise<void> {
  await sql`
    update pools set deleted_at = ${tx.now}, version = version + 1, updated_at = ${tx.now} where id = ${id}`.execute(
    tx.q,
  )
}

/**
 * Inserts a pool, Active from now on. A pool without a name is named after its id: `Pool 7`.
 *
 * @returns its id
 */
export async function insertPool(tx: TenantTx, pool: NewPool): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into pools (name, type, tariff_id, watchdog_mode, warning_threshold_pct, enable_burn_rate_alerts,
                       created_at, updated_at, activated_at)
    values (${pool.name ?? ''}, ${pool.type}, ${pool.tariffId}, ${pool.watchdogMode}, ${pool.warningThresholdPct ?? null},
            ${pool.enableBurnRateAlerts ?? null}, ${tx.now}, ${tx.now}, ${tx.now})
    returning id`.execute(tx.q)
  const id = insertedId(rows)
  if (pool.name == null) await sql`update pools set name = 'Pool ' || id where id = ${id}`.execute(tx.q)
  return id
}

/** An increase of the SIMs of a pool. */
interface PoolMore {
  readonly poolId: number
  readonly active: number
  readonly total: number
}

/**
 * Counts SIMs inserted by this transaction into pools: the trigger counts changes only. Locks the pools by id, as
 * tickets do before they lock cycles.
 */
export async function countInPools(tx: TenantTx, more: readonly PoolMore[]): Promise<void> {
  if (more.length === 0) return
  const ids = more.map(({ poolId }) => poolId)
  await sql`
    select from pools where id = any(${ids}::integer[])
     order by id for no key update`.execute(tx.q)
  await sql`
    update pools p
       set active_sim_count = p.active_sim_count + m.active, total_sim_count = p.total_sim_count + m.total
      from jsonb_to_recordset(${JSON.stringify(more)}::jsonb) as m("poolId" integer, active integer, total integer)
     where p.id = m."poolId"`.execute(tx.q)
}
