/** SIMs, with their figures for the running cycle, their open tickets and the tariff that governs them. */
import { type RawBuilder, sql } from 'kysely'
import { SimStatus, type WatchdogMode } from '../../../domain/codes.ts'
import { offsetOf, type PageRequest, pageRequest } from '../../../domain/page.ts'
import type { SimLookup, SimQuery, SimSummary, StoredSim } from '../../../domain/sims/sim.ts'
import type { Tariff } from '../../../domain/tariffs/tariff.ts'
import { toMB, toMinutes } from '../../../domain/units.ts'
import { type Allowance, governingTariff } from '../../../domain/usage/allowance.ts'
import { settingsInForce, type WatchdogSettings } from '../../../domain/watchdog/settings.ts'
import type { Figures } from '../../../rules/fact-rows.ts'
import { anyOf, kept } from '../../../store/kept.ts'
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
import { type Part, readFound, readPage, readPart } from '../../../store/paging.ts'
import { mine, type Store, type TenantTx } from '../../../store/tenancy.ts'
import { type TariffRow, tariffsWithIds, toTariff } from '../../tariffs/rows/tariffs.ts'
import { openCycleNow, runningCycle } from '../../usage/rows/cycles.ts'
import { FIGURES, figuresOfSims, NO_FIGURES, unopenedSimFigures } from '../../usage/rows/figures.ts'
import { SIGHTING, SIM_IMEI } from '../../usage/rows/sightings.ts'
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

/** A tariff as it governs, and as it is shown. */
interface ShownTariff extends Allowance {
  readonly tariff: Tariff
}

/** A SIM with its figures, its own watchdog settings and tariff, and those of its pool. */
interface SimRow extends Pick<StoredSim, Plain>, WatchdogSettings, Figures {
  readonly version: number
  /** Whether the running cycle is open: without it there are no figures. */
  readonly isOpen: boolean
  readonly openTickets: number
  readonly ownTariff: ShownTariff | null
  readonly poolTariff: ShownTariff | null
  readonly exempt: boolean
  readonly updatedAt: Date
  readonly provisionedAt: Date | null
  readonly lastSeenAt: Date | null
  readonly poolMode: WatchdogMode | null
  readonly poolThresholdPct: number | null
  readonly poolBurnRateAlerts: boolean | null
}

/** A row of the statement. The first has the tariffs of all. */
type ReadRow = Omit<SimRow, 'ownTariff' | 'poolTariff'> & {
  readonly poolTariffId: number | null
  readonly tariffs: readonly TariffRow[] | null
}

const columns = sql`s.id, ${simColumns()}, s.imsi, s.msisdn, ${SIM_IMEI} as imei, s.version, s.updated_at as "updatedAt",
  s.provisioned_at as "provisionedAt", g.last_seen_at as "lastSeenAt", s.esim_qr_payload as "esimQrPayload",
  s.pending_pool_id as "pendingPoolId", s.pending_tariff_id as "pendingTariffId",
  s.pending_unassign as "pendingUnassign", s.pool_mode as "poolMode", s.pool_threshold_pct as "poolThresholdPct",
  s.pool_burn_rate_alerts as "poolBurnRateAlerts", (select key from cycle) is not null as "isOpen",
  ${sql.join(FIGURES.map((figure) => sql`coalesce(f.${sql.ref(figure)}, 0) as ${sql.ref(figure)}`))},
  coalesce(o.tickets, 0) as "openTickets",
  s.pool_tariff_id as "poolTariffId", case when s.id = (select min(id) from s) then
    ${tariffsWithIds(sql`select tariff_id from s union select pool_tariff_id from s`)} end as tariffs`

/** Selects the shown columns and figures of SIMs. @param which condition on the alias `s`: at most a page */
const selectRows = (tx: TenantTx, which: RawBuilder<unknown>) => sql`
  with cycle as materialized (${openCycleNow(tx)}),
  alone as materialized (select * from sims s where ${which}),
  -- A full join is never a nested loop. Each pool has one of the SIMs.
  s as materialized (
    select alone.*, p.tariff_id as pool_tariff_id, p.watchdog_mode as pool_mode,
           p.warning_threshold_pct as pool_threshold_pct, p.enable_burn_rate_alerts as pool_burn_rate_alerts
      from alone
      full join (
        select p.* from (select distinct pool_id from alone) a
         cross join lateral (select * from pools where id = a.pool_id limit 1) p) p on p.id = alone.pool_id
  ),
  opened as materialized (
    select sim_id, count(*)::integer as tickets from tickets
     where sim_id = any(array(select id from alone)) and status in ${OPEN_STATUSES} group by sim_id
  ), ${figuresOfSims(sql`(select key from cycle)`, sql`s`)}
  select ${columns}
    from s
    left join opened o on o.sim_id = s.id
    left join figures f on f.sim_id = s.id ${SIGHTING}`

/** Gives each row its tariffs. Before the running cycle is open, also the figures that opening it now would give. */
async function complete(tx: TenantTx, rows: readonly ReadRow[]): Promise<SimRow[]> {
  const tariffs = new Map(
    rows[0]?.tariffs?.map((row) => [
      row.id,
      { type: row.type, allowanceBytes: row.allowanceBytes, tariff: toTariff(row) },
    ]),
  )
  const tariffOf = (id: number | null) => (id === null ? null : (tariffs.get(id) ?? null))
  const isOpen = rows.every((row) => row.isOpen)
  const ids = rows.map(({ id }) => id)
  const unopened = isOpen ? undefined : await unopenedSimFigures(tx, await runningCycle(tx), ids)
  return rows.map((row) => ({
    ...row,
    ...(unopened === undefined ? {} : (unopened.get(row.id) ?? NO_FIGURES)),
    ownTariff: tariffOf(row.tariffId),
    poolTariff: tariffOf(row.poolTariffId),
  }))
}

/** Reads SIMs, by id. @param which as in {@link selectRows} */
async function readSims(tx: TenantTx, which: RawBuilder<unknown>): Promise<SimRow[]> {
  const { rows } = await sql<ReadRow>`${kept} ${selectRows(tx, which)} order by s.id`.execute(tx.q)
  return complete(tx, rows)
}

const withIds = (ids: readonly number[]) => sql`s.id = ${anyOf(ids)}`
const inList = (ids: RawBuilder<unknown>) => sql`s.id = any(array(${ids}))`

/** The watchdog settings in force: the SIM's own, or else its pool's. In the order of the specification, section 2.4. */
function settingsOf({ poolId, poolTariff, poolMode, poolThresholdPct, poolBurnRateAlerts, ...own }: SimRow) {
  const pool = {
    tariffType: poolTariff?.type ?? null,
    watchdogMode: poolMode,
    warningThresholdPct: poolThresholdPct,
    enableBurnRateAlerts: poolBurnRateAlerts,
  }
  const { watchdogMode, ...others } = settingsInForce(own, poolId === null ? null : pool)
  return { watchdogMode, isWatchdogExempt: own.exempt, ...others }
}

const usageOf = (figures: Figures) => ({
  limitMB: toMB(figures.limitBytes),
  usageMB: toMB(figures.usageBytes),
  remainingMB: toMB(figures.remainingBytes),
  isOverage: figures.overageBytes > 0,
  overageMB: toMB(figures.overageBytes),
})

function toSim(row: SimRow): StoredSim {
  return {
    id: row.id,
    tag: row.tag,
    iccid: row.iccid,
    poolId: row.poolId,
    tariffId: row.tariffId,
    imsi: row.imsi,
    msisdn: row.msisdn,
    imei: row.imei,
    status: row.status,
    type: row.type,
    esimQrPayload: row.esimQrPayload,
    pendingPoolId: row.pendingPoolId,
    pendingTariffId: row.pendingTariffId,
    pendingUnassign: row.pendingUnassign,
    ...settingsOf(row),
    updatedAt: row.updatedAt.toISOString(),
    provisionedAt: row.provisionedAt?.toISOString() ?? null,
    lastSeenAt: row.lastSeenAt?.toISOString() ?? null,
    ...usageOf(row),
    voiceMins: toMinutes(row.voiceSeconds),
    smsCount: row.smsCount,
    processingTicket: row.openTickets > 0,
    processingTicketCount: row.openTickets,
    tariff: governingTariff(row.ownTariff, row.poolTariff)?.tariff ?? {},
  }
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
      page: async () => {
        const known = pageWithoutCounting(query, page)
        if (known !== undefined) {
          const { rows, totalItems } = await readFound<ReadRow>(tx, selectRows(tx, inList(known.ids)), known.total)
          return { rows: await complete(tx, rows), totalItems }
        }
        const found = isIndexed(query) ? await pageOfFound(tx, query, page) : undefined
        const { ids, totalItems } = found ?? (await countedPage(tx, query, page))
        return { rows: await readSims(tx, withIds(ids)), totalItems }
      },
      after: ({ id }, most, hits) => simsAfterId(tx, query, { after: id, most, hits }),
      placeOf: ({ id }) => ({ micros: 0, id }),
      show: (rows) => rows.map(toSim),
    },
  )
}

/** A page of the list. Reads the whole list to count it. */
async function countedPage(tx: TenantTx, query: SimQuery, page: PageRequest): Promise<IdPage> {
  const from = sql`from sims s where ${mineByKey('s.id')} ${simsMatching(query)}`
  const select = { columns: sql`s.id`, from, walkBy: byKey('s.id'), orderBy: sql`id` }
  const { rows, totalItems } = await readPage<{ id: number }>(tx, select, page)
  return { ids: rows.map(({ id }) => id), totalItems }
}

/** The first SIMs after an id that a filter lets through. */
function simsAfterId(tx: TenantTx, filter: SimFilter, next: NextSims): Promise<SimRow[]> {
  const ids = sql`select s.id from sims s ${simsAfter(filter, next)} limit ${pageLimit(next.most)}`
  return readSims(tx, inList(ids))
}

/** A page of a list whose size is known without counting. */
interface KnownPage {
  /** Selects the ids of the page. */
  readonly ids: RawBuilder<unknown>
  /** Size of the list. */
  readonly total: RawBuilder<unknown>
}

/** Selects a page without reading the whole list; undefined if the filter requires a search or a count. */
function pageWithoutCounting(filter: SimFilter, page: PageRequest): KnownPage | undefined {
  const { status, poolId, search } = filter
  if (search != null) return undefined
  if (poolId == null) return pageByBlocks(status ?? undefined, page)
  // A pool has no Unprovisioned SIM, and keeps no count of them.
  return status === SimStatus.Unprovisioned ? undefined : pageOfPool(poolId, status ?? undefined, page)
}

/** Reads all SIMs, by id, page by page. */
export const listSims = (store: Store, tenantId: string, filter: SimFilter): AsyncGenerator<StoredSim[]> =>
  keysetPages(store, tenantId, async (tx, after: number | null) => {
    const rows = await simsAfterId(tx, filter, { after: after ?? 0, most: KEYSET_PAGE })
    return { items: rows.map(toSim), next: placeAfter(rows, ({ id }) => id) }
  })

/** Reads a SIM, and its version; undefined if there is none with this id or ICCID. */
export async function readSim(
  tx: TenantTx,
  lookup: SimLookup,
): Promise<{ readonly sim: StoredSim; readonly version: number } | undefined> {
  const [row] = await readSims(tx, lookup.by === 'id' ? sql`s.id = ${lookup.id}` : sql`s.iccid = ${lookup.iccid}`)
  return row && { sim: toSim(row), version: row.version }
}

/** Reads all SIMs of a pool, by id, page by page. A page has the SIMs and the figures of its own moment. */
export const listPoolSims = (store: Store, tenantId: string, poolId: number): AsyncGenerator<SimSummary[]> =>
  keysetPages(store, tenantId, async (tx, after: number | null) => {
    const ids = sql`
      select id from sims where pool_id = ${poolId}::bigint and id > ${after ?? 0}
       order by id limit ${pageLimit(KEYSET_PAGE)}`
    const rows = await readSims(tx, inList(ids))
    return { items: rows.map(toSummary), next: placeAfter(rows, ({ id }) => id) }
  })

/** Reads SIMs in this order. Unknown ones are left out. */
export async function readSummaries(tx: TenantTx, ids: readonly number[]): Promise<SimSummary[]> {
  const found = new Map((await readSims(tx, withIds(ids))).map((row) => [row.id, toSummary(row)]))
  return ids.map((id) => found.get(id)).filter((sim) => sim !== undefined)
}

const toSummary = (row: SimRow): SimSummary => ({
  id: row.id,
  iccid: row.iccid,
  tag: row.tag,
  status: row.status,
  ...usageOf(row),
  ...settingsOf(row),
})

// Pages of SIMs, found from `sim_blocks` or the pool's row, without counting SIMs.

/**
 * Selects a page of all SIMs, or of those of a status, by id. The counts of the blocks give the block in which the page
 * begins: of the SIMs before the page only those of that block are read.
 */
function pageByBlocks(status: SimStatus | undefined, page: PageRequest): KnownPage {
  const offset = offsetOf(page)
  const ofStatus = status === undefined ? sql`` : sql`and status = ${status}`
  const blocks = sql`from sim_blocks where tenant_id = ${mine} ${ofStatus}`
  const ids = sql`
    select s.id
      from (select (block << 12) - 1 as last_id, before
              from (select block, sum(sims) as sims, sum(sum(sims)) over (order by block) - sum(sims) as before
                      ${blocks} group by block) placed
             where before <= ${offset} and before + sims > ${offset} offset 0) start
     cross join lateral (
       select s.id from sims s where ${mineAfter('s.id', sql`start.last_id`)} ${ofStatus}
        order by ${byKey('s.id')} limit ${pageLimit(page.pageSize)} offset ${offset} - start.before) s`
  return { ids, total: sql`(select coalesce(sum(sims), 0) ${blocks})::integer` }
}

/**
 * Selects a page of the SIMs in a pool, by id: all of them, or the Active or Suspended ones. The pool's row has their
 * number.
 */
function pageOfPool(poolId: number, status: SimStatus | undefined, page: PageRequest): KnownPage {
  const count =
    status === undefined
      ? sql`total_sim_count`
      : status === SimStatus.Active
        ? sql`active_sim_count`
        : sql`total_sim_count - active_sim_count`
  const ofStatus = status === undefined ? sql`` : sql`and status = ${status}`
  const ids = sql`
    select id from sims where pool_id = ${poolId}::bigint ${ofStatus}
     order by id limit ${page.pageSize} offset ${offsetOf(page)}`
  return { ids, total: sql`coalesce((select ${count} from pools where id = ${poolId}::bigint), 0)` }
}
