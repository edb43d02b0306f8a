/** SIMs, with their figures for the running cycle, their open tickets and the tariff that governs them. */
import { type RawBuilder, sql } from 'kysely'
import { SimStatus, type TariffType, type WatchdogMode } from '../../../domain/codes.ts'
import { offsetOf, type PageRequest, pageRequest } from '../../../domain/page.ts'
import type { SimLookup, SimQuery, SimSummary, StoredSim } from '../../../domain/sims/sim.ts'
import type { Tariff } from '../../../domain/tariffs/tariff.ts'
import { toMB, toMinutes } from '../../../domain/units.ts'
import { governingTariff } from '../../../domain/usage/allowance.ts'
import { settingsInForce, type WatchdogSettings } from '../../../domain/watchdog/settings.ts'
import type { Figures } from '../../../rules/fact-rows.ts'
import { kept } from '../../../store/kept.ts'
import { KEYSET_PAGE, keysetPages, pageLimit, placeAfter } from '../../../store/keyset-pages.ts'
import { OPEN_STATUSES } from '../../../store/open-statuses.ts'
import { type Part, readPage, readPart } from '../../../store/paging.ts'
import { mine, type Store, type TenantTx } from '../../../store/tenancy.ts'
import { findTariffs } from '../../tariffs/rows/tariffs.ts'
import { runningCycle } from '../../usage/rows/cycles.ts'
import { NO_FIGURES, simFigures, unopenedSimFigures } from '../../usage/rows/figures.ts'
import {
  type IdPage,
  isIndexed,
  type NextSims,
  pageOfFound,
  type SimFilter,
  simsAfter,
  simsMatching,
} from './search.ts'
import { simColumns } from './sims.ts'

/** Columns of a SIM, shown unchanged. */
type Plain =
  | ('id' | 'tag' | 'iccid' | 'poolId' | 'tariffId' | 'imsi' | 'msisdn' | 'imei' | 'status' | 'type')
  | ('esimQrPayload' | 'pendingPoolId' | 'pendingTariffId' | 'pendingUnassign')

/** A SIM with its own watchdog settings, and with the tariff and the settings of its pool. */
interface SimRow extends Pick<StoredSim, Plain>, WatchdogSettings {
  readonly exempt: boolean
  readonly updatedAt: Date
  readonly provisionedAt: Date | null
  readonly lastSeenAt: Date | null
  readonly poolTariffId: number | null
  readonly poolTariffType: TariffType | null
  readonly poolMode: WatchdogMode | null
  readonly poolThresholdPct: number | null
  readonly poolBurnRateAlerts: boolean | null
}

const columns = sql`s.id, ${simColumns()}, s.imsi, s.msisdn, g.imei, s.updated_at as "updatedAt",
  s.provisioned_at as "provisionedAt", g.last_seen_at as "lastSeenAt", s.esim_qr_payload as "esimQrPayload",
  s.pending_pool_id as "pendingPoolId", s.pending_tariff_id as "pendingTariffId",
  s.pending_unassign as "pendingUnassign", p.tariff_id as "poolTariffId", pt.type as "poolTariffType",
  p.watchdog_mode as "poolMode", p.warning_threshold_pct as "poolThresholdPct",
  p.enable_burn_rate_alerts as "poolBurnRateAlerts"`

const fromSims = (where: RawBuilder<unknown>) => sql`
  from sims s left join pools p on p.id = s.pool_id left join tariffs pt on pt.id = p.tariff_id
 cross join lateral (select * from sim_seen where tenant_id = s.tenant_id and sim_id = s.id limit 1) g
 where ${where}`

/** A SIM with the watchdog settings in force, its own or else its pool's, and without the pool's other columns. */
function inForce({
  poolTariffId: _,
  poolTariffType: tariffType,
  poolMode: watchdogMode,
  poolThresholdPct: warningThresholdPct,
  poolBurnRateAlerts: enableBurnRateAlerts,
  exempt: isWatchdogExempt,
  ...sim
}: SimRow) {
  const pool = { tariffType, watchdogMode, warningThresholdPct, enableBurnRateAlerts }
  return { ...sim, isWatchdogExempt, ...settingsInForce(sim, sim.poolId === null ? null : pool) }
}

const usageOf = (figures: Figures) => ({
  limitMB: toMB(figures.limitBytes),
  usageMB: toMB(figures.usageBytes),
  remainingMB: toMB(figures.remainingBytes),
  isOverage: figures.overageBytes > 0,
  overageMB: toMB(figures.overageBytes),
})

function governing(row: SimRow, tariffs: ReadonlyMap<number, Tariff>): Tariff | undefined {
  const own = row.tariffId === null ? undefined : tariffs.get(row.tariffId)
  const pool = row.poolTariffId === null ? undefined : tariffs.get(row.poolTariffId)
  // Only the type decides which of the two governs.
  const asAllowance = (tariff: Tariff | undefined) =>
    tariff === undefined ? null : { type: tariff.type, allowanceBytes: 0, tariff }
  return governingTariff(asAllowance(own), asAllowance(pool))?.tariff
}

function toSim(row: SimRow, figures: Figures, openTickets: number, tariff: Tariff | undefined): StoredSim {
  return {
    ...inForce(row),
    updatedAt: row.updatedAt.toISOString(),
    provisionedAt: row.provisionedAt?.toISOString() ?? null,
    lastSeenAt: row.lastSeenAt?.toISOString() ?? null,
    ...usageOf(figures),
    voiceMins: toMinutes(figures.voiceSeconds),
    smsCount: figures.smsCount,
    processingTicket: openTickets > 0,
    processingTicketCount: openTickets,
    tariff: tariff ?? {},
  }
}

/** Figures in the running cycle. */
async function figuresNow(tx: TenantTx, ids: readonly number[]): Promise<Map<number, Figures>> {
  const cycle = await runningCycle(tx)
  return cycle.isOpen ? simFigures(tx, cycle.key, ids) : unopenedSimFigures(tx, cycle, ids)
}

async function toSims(tx: TenantTx, rows: readonly SimRow[]): Promise<StoredSim[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  const figures = await figuresNow(tx, ids)
  const open = await openTicketCounts(tx, ids)
  const tariffIds = rows.flatMap((row) => [row.tariffId, row.poolTariffId]).filter((id) => id !== null)
  const tariffs = await findTariffs(tx, tariffIds)
  return rows.map((row) =>
    toSim(row, figures.get(row.id) ?? NO_FIGURES, open.get(row.id) ?? 0, governing(row, tariffs)),
  )
}

/**
 * Reads a page of the SIMs, by id, or the part after a cursor.
 *
 * @throws ServiceError invalid_request if the cursor is none
 */
export function pageOfSims(tx: TenantTx, query: SimQuery): Promise<Part<StoredSim>> {
  const page = pageRequest(query)
  return readPart<SimRow, StoredSim>(
    'sims',
    { page, cursor: query.cursor },
    {
      page: () => rowsOfPage(tx, query, page),
      after: ({ id }, most, hits) => rowsAfter(tx, query, { after: id, most, hits }),
      placeOf: ({ id }) => ({ micros: 0, id }),
      show: (rows) => toSims(tx, rows),
    },
  )
}

async function rowsOfPage(tx: TenantTx, query: SimQuery, page: PageRequest) {
  const found = await idsOfPage(tx, query, page)
  if (found === undefined) {
    return readPage<SimRow>(
      tx,
      { columns, from: fromSims(sql`s.tenant_id = ${tx.tenantId} ${simsMatching(query)}`), orderBy: sql`id` },
      page,
    )
  }
  const { rows } = await sql<SimRow>`${kept}
    select ${columns} ${fromSims(sql`s.id = any(${found.ids}::bigint[])`)} order by s.id`.execute(tx.q)
  return { rows, totalItems: found.totalItems }
}

/** The first SIMs after an id that a filter lets through. */
async function rowsAfter(tx: TenantTx, filter: SimFilter, next: NextSims): Promise<SimRow[]> {
  const { rows } = await sql<SimRow>`
    select ${columns} ${fromSims(simsAfter(tx, filter, next))}
     order by s.id limit ${pageLimit(next.most)}`.execute(tx.q)
  return rows
}

/** Finds a page without reading the whole list; undefined if the filter requires reading it. */
async function idsOfPage(tx: TenantTx, filter: SimFilter, page: PageRequest): Promise<IdPage | undefined> {
  if (isIndexed(filter)) return pageOfFound(tx, filter, page)
  const { status, poolId, search } = filter
  if (search != null) return undefined
  if (poolId == null) return pageByBlocks(tx, status ?? undefined, page)
  // A pool has no Unprovisioned SIM, and keeps no count of them.
  return status === SimStatus.Unprovisioned ? undefined : pageOfPool(tx, poolId, status ?? undefined, page)
}

/** Reads all SIMs, by id, page by page. */
export const listSims = (store: Store, tenantId: string, filter: SimFilter): AsyncGenerator<StoredSim[]> =>
  keysetPages(store, tenantId, async (tx, after: number | null) => {
    const rows = await rowsAfter(tx, filter, { after: after ?? 0, most: KEYSET_PAGE })
    return { items: await toSims(tx, rows), next: placeAfter(rows, ({ id }) => id) }
  })

/** Reads a SIM, and its version; undefined if there is none with this id or ICCID. */
export async function readSim(
  tx: TenantTx,
  lookup: SimLookup,
): Promise<{ readonly sim: StoredSim; readonly version: number } | undefined> {
  const which = lookup.by === 'id' ? sql`s.id = ${lookup.id}` : sql`s.iccid = ${lookup.iccid}`
  const { rows } = await sql<SimRow & { version: number }>`${kept}
    select ${columns}, s.version ${fromSims(which)}`.execute(tx.q)
  const [found] = rows
  if (found === undefined) return undefined
  const { version, ...row } = found
  const [sim] = await toSims(tx, [row])
  return sim && { sim, version }
}

/** Reads all SIMs of a pool, by id, page by page. A page has the SIMs and the figures of its own moment. */
export const listPoolSims = (store: Store, tenantId: string, poolId: number): AsyncGenerator<SimSummary[]> =>
  keysetPages(store, tenantId, async (tx, after: number | null) => {
    const { rows } = await sql<SimRow>`
      select ${columns} ${fromSims(sql`s.pool_id = ${poolId}::bigint and s.id > ${after ?? 0}`)}
       order by s.id limit ${pageLimit(KEYSET_PAGE)}`.execute(tx.q)
    return { items: await toSummaries(tx, rows), next: placeAfter(rows, ({ id }) => id) }
  })

/** Reads SIMs in this order. Unknown ones are left out. */
export async function readSummaries(tx: TenantTx, ids: readonly number[]): Promise<SimSummary[]> {
  const { rows } = await sql<SimRow>`${kept}
    select ${columns} ${fromSims(sql`s.id = any(${[...ids]}::bigint[])`)}`.execute(tx.q)
  const found = new Map((await toSummaries(tx, rows)).map((sim) => [sim.id, sim]))
  return ids.map((id) => found.get(id)).filter((sim) => sim !== undefined)
}

async function toSummaries(tx: TenantTx, rows: readonly SimRow[]): Promise<SimSummary[]> {
  const figures = await figuresNow(
    tx,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => toSummary(row, figures.get(row.id) ?? NO_FIGURES))
}

function toSummary(row: SimRow, figures: Figures): SimSummary {
  const sim = inForce(row)
  return {
    id: sim.id,
    iccid: sim.iccid,
    tag: sim.tag,
    status: sim.status,
    ...usageOf(figures),
    watchdogMode: sim.watchdogMode,
    isWatchdogExempt: sim.isWatchdogExempt,
    warningThresholdPct: sim.warningThresholdPct,
    enableBurnRateAlerts: sim.enableBurnRateAlerts,
  }
}

/** Number of open tickets of each given SIM. SIMs without any are left out. */
export async function openTicketCounts(tx: TenantTx, simIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await sql<{ simId: number; open: number }>`${kept}
    select sim_id as "simId", count(*)::integer as open from tickets
     where sim_id = any(${[...simIds]}::bigint[]) and status in ${OPEN_STATUSES}
     group by sim_id`.execute(tx.q)
  return new Map(rows.map(({ simId, open }) => [simId, open]))
}

// Pages of SIMs, found from `sim_blocks` or the pool's row, without counting SIMs.

const one = async (tx: TenantTx, statement: RawBuilder<IdPage>): Promise<IdPage> =>
  (await statement.execute(tx.q)).rows[0] ?? { ids: [], totalItems: 0 }

/**
 * Reads a page of all SIMs, or of those of a status, by id. The counts of the blocks give the block in which the page
 * begins: of the SIMs before the page only those of that block are read.
 */
function pageByBlocks(tx: TenantTx, status: SimStatus | undefined, page: PageRequest): Promise<IdPage> {
  const offset = offsetOf(page)
  const ofStatus = status === undefined ? sql`` : sql`and status = ${status}`
  return one(
    tx,
    sql<IdPage>`${kept}
      with placed as (
        select block, sum(sims) as sims, sum(sum(sims)) over (order by block) - sum(sims) as before
          from sim_blocks where tenant_id = ${mine} ${ofStatus} group by block
      ), start as (
        select block, before from placed where before <= ${offset} and before + sims > ${offset}
      ), page as (
        select s.id from start, lateral (
          select id from sims where tenant_id = ${tx.tenantId} and id >= start.block << 12 ${ofStatus}
           order by id limit ${page.pageSize} offset ${offset} - start.before) s
      )
      select (select coalesce(sum(sims), 0) from placed)::integer as "totalItems",
             to_jsonb(array(select id from page order by id)) as ids`,
  )
}

/**
 * A page of the SIMs in a pool, by id: all of them, or the Active or Suspended ones. The pool's row has their number.
 */
function pageOfPool(tx: TenantTx, poolId: number, status: SimStatus | undefined, page: PageRequest): Promise<IdPage> {
  const count =
    status === undefined
      ? sql`total_sim_count`
      : status === SimStatus.Active
        ? sql`active_sim_count`
        : sql`total_sim_count - active_sim_count`
  const ofStatus = status === undefined ? sql`` : sql`and status = ${status}`
  return one(
    tx,
    sql<IdPage>`${kept}
      select coalesce((select ${count} from pools where id = ${poolId}::bigint), 0)
               as "totalItems",
             to_jsonb(array(select id from sims
                             where pool_id = ${poolId}::bigint ${ofStatus}
                             order by id limit ${page.pageSize} offset ${offsetOf(page)})) as ids`,
  )
}
