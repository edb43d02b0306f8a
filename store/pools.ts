/** Pools, with their figures of the running cycle. */
import { type RawBuilder, sql } from 'kysely'
import type { PoolStatus, PoolType, TariffType, WatchdogMode } from '../domain/codes.ts'
import { type Cycle, daysUntilRenewal } from '../domain/cycle.ts'
import { type Page, type PageQuery, pageRequest, toPage } from '../domain/page.ts'
import type { NewPool, Pool } from '../domain/pool.ts'
import { toMB, toMinutes } from '../domain/units.ts'
import { currentCycle } from './cycles.ts'
import { type PoolFigures, poolFigures } from './figures.ts'
import { readPage } from './paging.ts'
import type { TenantTx } from './tenancy.ts'

interface PoolRow {
  readonly id: number
  readonly name: string
  readonly type: PoolType
  readonly watchdog_mode: WatchdogMode
  readonly warning_threshold_pct: number | null
  readonly enable_burn_rate_alerts: boolean | null
  readonly status: PoolStatus
  readonly created_at: Date
  readonly updated_at: Date
  readonly activated_at: Date
  readonly active_sim_count: number
  readonly total_sim_count: number
  readonly tariff_id: number
  readonly tariff_name: string
  readonly tariff_type: TariffType
}

/** A pool's own settings, without its figures. */
export type PoolRecord = Pick<
  Pool,
  'id' | 'name' | 'type' | 'watchdogMode' | 'warningThresholdPct' | 'enableBurnRateAlerts' | 'status' | 'tariffId'
>

const columns = sql`p.id, p.name, p.type, p.watchdog_mode, p.warning_threshold_pct, p.enable_burn_rate_alerts, p.status,
  p.created_at, p.updated_at, p.activated_at, p.active_sim_count, p.total_sim_count, p.tariff_id,
  t.display_name as tariff_name, t.type as tariff_type`

const fromPools = (where: RawBuilder<unknown>) => sql`
  from pools p join tariffs t on t.id = p.tariff_id
 where p.tenant_id = app_tenant() ${where}`

const NO_FIGURES = { limitBytes: 0, usageBytes: 0, remainingBytes: 0, overageBytes: 0, voiceSeconds: 0, smsCount: 0 }

function toPool(row: PoolRow, figures: Omit<PoolFigures, 'activeSimCount' | 'totalSimCount'>, days: number): Pool {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    watchdogMode: row.watchdog_mode,
    warningThresholdPct: row.warning_threshold_pct,
    enableBurnRateAlerts: row.enable_burn_rate_alerts,
    status: row.status,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    activatedAt: row.activated_at.toISOString(),
    activeSimCount: row.active_sim_count,
    totalSimCount: row.total_sim_count,
    limitMB: toMB(figures.limitBytes),
    usageMB: toMB(figures.usageBytes),
    isOverage: figures.overageBytes > 0,
    remainingMB: toMB(figures.remainingBytes),
    overageMB: toMB(figures.overageBytes),
    voiceMins: toMinutes(figures.voiceSeconds),
    smsCount: figures.smsCount,
    tariffId: row.tariff_id,
    tariff: { id: row.tariff_id, displayName: row.tariff_name, type: row.tariff_type },
    daysUntilRenewal: days,
  }
}

async function withFigures(tx: TenantTx, rows: readonly PoolRow[]): Promise<Pool[]> {
  if (rows.length === 0) return []
  const cycle: Cycle = await currentCycle(tx)
  const ids = rows.map((row) => row.id)
  const figures = await poolFigures(tx, cycle.key, ids)
  const days = daysUntilRenewal(cycle, tx.now.getTime())
  return rows.map((row) => toPool(row, figures.get(row.id) ?? NO_FIGURES, days))
}

/** A page of the pools, by id. */
export async function pageOfPools(tx: TenantTx, query: PageQuery): Promise<Page<Pool>> {
  const page = pageRequest(query)
  const select = { columns, from: fromPools(sql``), orderBy: sql`id` }
  const { rows, totalItems } = await readPage<PoolRow>(tx, select, page)
  return toPage(page, totalItems, await withFigures(tx, rows))
}

/** A pool with its figures. */
export async function readPool(tx: TenantTx, id: number): Promise<Pool | undefined> {
  const { rows } = await sql<PoolRow>`select ${columns} ${fromPools(sql`and p.id = ${id}::bigint`)}`.execute(tx.q)
  const [pool] = await withFigures(tx, rows)
  return pool
}

/** A pool without its figures: what is needed to decide. */
export async function findPool(tx: TenantTx, id: number): Promise<PoolRecord | undefined> {
  const { rows } = await sql<PoolRecord>`
    select id, name, type, watchdog_mode as "watchdogMode", warning_threshold_pct as "warningThresholdPct",
           enable_burn_rate_alerts as "enableBurnRateAlerts", status, tariff_id as "tariffId"
      from pools where tenant_id = app_tenant() and id = ${id}::bigint`.execute(tx.q)
  return rows[0]
}

export async function poolName(tx: TenantTx, id: number): Promise<string | undefined> {
  return (await findPool(tx, id))?.name
}

/**
 * Writes a pool, Active from now on; one without a name is called after its id.
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
  const [row] = rows
  if (row === undefined) throw new Error('insert into pools returned no row')
  if (pool.name == null) await sql`update pools set name = 'Pool ' || id where id = ${row.id}`.execute(tx.q)
  return row.id
}
