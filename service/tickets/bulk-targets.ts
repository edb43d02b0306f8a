/**
 * The SIMs of a bulk run or a batch, and which of them are refused. A dry run and a real run share this code: the first
 * predicts the second.
 */
import { Compile } from 'typebox/compile'
import { ServiceError } from '../../domain/errors.ts'
import { Unreadable } from '../../domain/files/waste.ts'
import { ICCID, withoutFiller } from '../../domain/identifiers.ts'
import { recordFaults } from '../../domain/schema-fault.ts'
import {
  type BatchRequest,
  BatchRow,
  BulkRow,
  type BulkSims,
  MOST_SIMS,
  notAnIccid,
  TICKET_OF,
} from '../../domain/tickets/bulk.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolTariffs } from '../pools/rows/pools.ts'
import { type AssignmentPlace, assignmentConflict, placeConflict } from '../sims/assignment-conflict.ts'
import { readSimStates } from '../sims/rows/sim-state.ts'
import { findTariffs } from '../tariffs/rows/tariffs.ts'
import {
  activationConflict,
  assignmentRefusal,
  conflictOf,
  mustBePossible,
  type TicketConflict,
} from './open-ticket.ts'
import { type BulkOptions, findMatchingSims, findNamedSims, type NewItem } from './rows/bulk.ts'
import { simsOfRun } from './rows/bulk-reads.ts'
import { openTicketsOf } from './rows/tickets.ts'

/** SIMs in one read: some hundred kilobytes. */
const PAGE = 2000

const checkRow = Compile(BulkRow)
const checkBatchRow = Compile(BatchRow)

/**
 * The SIMs of a request, page by page and in its order. Missing, malformed and repeated ones come with their refusal.
 *
 * @throws ServiceError `bulk_too_large` if a filter finds more than `MOST_SIMS`
 */
export async function* targetsOf(tx: TenantTx, sims: BulkSims): AsyncGenerator<NewItem[]> {
  if ('filter' in sims) {
    yield* matching(tx, sims.filter)
    return
  }
  const seen = new Set<number>()
  const rows = 'run' in sims ? (await simsOfRun(tx, sims.run)).map((simId) => ({ simId })) : rowsOf(sims)
  for (let start = 0; start < rows.length; start += PAGE) {
    const names = rows.slice(start, start + PAGE).map((row, at) => readName(row, start + at))
    const readable = names.filter((name) => name.fault === null)
    const ids = readable.flatMap(({ simId }) => (simId === null ? [] : [simId]))
    const iccids = readable.flatMap(({ iccid }) => (iccid === null ? [] : [iccid]))
    const found = await findNamedSims(tx, ids, iccids)
    const byId = new Map(found.map((sim) => [sim.simId, sim]))
    const byIccid = new Map(found.map((sim) => [sim.iccid, sim]))
    yield names.map((name): NewItem => {
      const { index, simId, iccid } = name
      const sim = simId === null ? byIccid.get(iccid ?? '') : byId.get(simId)
      // A row with both id and ICCID means the one SIM that has both.
      if (sim === undefined || name.fault !== null || (iccid !== null && sim.iccid !== iccid)) {
        return { index, simId: null, iccid: iccid ?? simId?.toString() ?? null, refusal: unknown(name) }
      }
      if (seen.has(sim.simId)) return { ...sim, index, refusal: repeated(sim.simId) }
      seen.add(sim.simId)
      return { ...sim, index, refusal: null }
    })
  }
}

async function* matching(tx: TenantTx, filter: Parameters<typeof findMatchingSims>[1]): AsyncGenerator<NewItem[]> {
  let index = 0
  for (let afterId = 0; ; ) {
    const sims = await findMatchingSims(tx, filter, afterId, PAGE)
    if (index + sims.length > MOST_SIMS) {
      throw new ServiceError('bulk_too_large', `The filter finds more than ${MOST_SIMS} SIMs: narrow it.`)
    }
    yield sims.map((sim) => ({ ...sim, index: index++, refusal: null }))
    if (sims.length < PAGE) return
    afterId = sims.at(-1)?.simId ?? afterId
  }
}

/** How a request names a SIM: by id, by ICCID or by both. */
interface Name {
  readonly index: number
  readonly simId: number | null
  readonly iccid: string | null
  /** Why this cannot name a SIM; null if it can. */
  readonly fault: string | null
}

function rowsOf(sims: Exclude<BulkSims, { filter: unknown } | { run: unknown }>): readonly unknown[] {
  if ('ids' in sims) return sims.ids.map((simId) => ({ simId }))
  return 'iccids' in sims ? sims.iccids.map((iccid) => ({ iccid })) : sims.rows
}

function readName(row: unknown, index: number): Name {
  const unnamed = { index, simId: null, iccid: null }
  if (row instanceof Unreadable) return { ...unnamed, fault: String(row) }
  if (checkRow.Check(row)) {
    const { simId = null } = row
    const iccid = row.iccid == null ? null : withoutFiller(row.iccid)
    const fault = simId === null && iccid === null ? 'neither iccid nor simId is given' : null
    return { index, simId, iccid, fault }
  }
  const iccid = typeof row === 'object' && row !== null && 'iccid' in row ? row.iccid : undefined
  if (typeof iccid === 'string' && !ICCID.test(iccid)) return { ...unnamed, iccid, fault: notAnIccid(iccid) }
  return { ...unnamed, fault: faultsIn(checkRow, row) }
}

const faultsIn = (check: typeof checkRow | typeof checkBatchRow, row: unknown): string =>
  recordFaults(check.Errors(row), row, BatchRow.properties).join('; ')

const noSim = (id: number): TicketConflict => ({ code: 'sim_not_found', detail: `There is no SIM ${id}.` })

function unknown({ simId, iccid, fault }: Name): TicketConflict {
  if (fault !== null) return { code: 'invalid_request', detail: fault }
  const who = [simId === null ? '' : `SIM ${simId}`, iccid === null ? '' : `ICCID ${iccid}`]
    .filter(Boolean)
    .join(' with ')
  return { code: 'sim_not_found', detail: `There is no ${who}.` }
}

const repeated = (simId: number): TicketConflict => ({ code: 'sim_repeated', detail: `SIM ${simId} is named before.` })

/** The request of the tickets of a run. */
export const askOf = ({ type, poolId, tariffId }: BulkOptions) => ({
  ...TICKET_OF[type],
  poolId,
  tariffId,
  cause: { by: 'user' as const },
})

/**
 * Which of these SIMs get no ticket now, and why. Reads all of them at once, and locks no SIM.
 *
 * @returns refusals by SIM id
 */
export async function refusalsOf(
  tx: TenantTx,
  options: BulkOptions,
  simIds: readonly number[],
): Promise<Map<number, TicketConflict>> {
  const ask = askOf(options)
  const sims = await readSimStates(tx, simIds)
  const open = await openTicketsOf(tx, simIds)
  // The same for all SIMs: the run's pool and tariff fit all or none.
  const assignment = await assignmentRefusal(tx, options, options.tariffId)
  const byId = new Map(sims.map((sim) => [sim.simId, sim]))
  const refusals = new Map<number, TicketConflict>()
  for (const id of simIds) {
    const sim = byId.get(id)
    const refusal = sim === undefined ? noSim(id) : (conflictOf(sim, open.get(id) ?? [], ask) ?? assignment)
    if (refusal !== undefined) refusals.set(id, refusal)
  }
  return refusals
}

/**
 * The SIMs of a batch, page by page and in the order of the request. An impossible row comes with its refusal. The
 * codes are those of a provision-and-activate for that SIM alone.
 */
export async function* batchTargets(tx: TenantTx, { sims, defaults }: BatchRequest): AsyncGenerator<NewItem[]> {
  for await (const named of targetsOf(tx, { rows: sims.map(nameIn) })) {
    const asked = named.map((sim) => ({ ...sim, ...placeOf(sims[sim.index], defaults) }))
    const states = await readSimStates(tx, some(asked.map(({ simId }) => simId)))
    const byId = new Map(states.map((sim) => [sim.simId, sim]))
    const found = await foundFor(tx, asked)
    yield asked.map(({ fault, ...one }) => {
      const sim = byId.get(one.simId ?? 0)
      const conflict = sim && (activationConflict(sim, one) ?? assignmentConflict(one, one.tariffId, found(one)))
      return { ...one, refusal: one.refusal ?? fault ?? conflict ?? null }
    })
  }
}

/**
 * Checks that the default pool and tariff exist, and that the tariff is active. Whether the tariff needs a pool, or has
 * an effect in it, is checked row by row.
 *
 * @throws ServiceError `pool_not_found`, `tariff_not_found`, `tariff_inactive`
 */
export async function checkDefaults(tx: TenantTx, defaults: BatchRequest['defaults']): Promise<void> {
  const { poolId = null, tariffId = null } = defaults ?? {}
  const place = { poolId, tariffId }
  const found = await foundFor(tx, [place])
  const conflict = placeConflict(place, tariffId, found(place))
  if (conflict?.code !== 'tariff_needs_pool') mustBePossible(conflict)
}

/** The name of a row's SIM. A row without one comes back unchanged. */
function nameIn(row: unknown): unknown {
  if (typeof row !== 'object' || row === null || Array.isArray(row) || row instanceof Unreadable) return row
  const parts = (['simId', 'iccid'] as const).flatMap((name) => {
    const value: unknown = Reflect.get(row, name)
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(parts)
}

/** The pool, tariff and tag for a row's SIM, or the fault of the row. */
function placeOf(row: unknown, defaults: BatchRequest['defaults']) {
  const nowhere = { poolId: null, tariffId: null, tag: null }
  if (!checkBatchRow.Check(row)) {
    return { ...nowhere, fault: { code: 'invalid_request', detail: faultsIn(checkBatchRow, row) } as const }
  }
  const { poolId, tariffId, tag } = row
  return {
    poolId: poolId ?? defaults?.poolId ?? null,
    tariffId: tariffId ?? defaults?.tariffId ?? null,
    tag: tag ?? null,
    fault: null,
  }
}

const some = (ids: readonly (number | null)[]) => [...new Set(ids.filter((id) => id !== null))]

/** Reads the pools and tariffs that the rows of a page name, all at once. */
async function foundFor(tx: TenantTx, page: readonly AssignmentPlace[]) {
  const pools = await poolTariffs(tx, some(page.map(({ poolId }) => poolId)))
  const tariffs = await findTariffs(tx, some(page.map(({ tariffId }) => tariffId)))
  return ({ poolId, tariffId }: AssignmentPlace) => ({
    pool: poolId === null ? null : pools.get(poolId),
    tariff: tariffId === null ? undefined : tariffs.get(tariffId),
  })
}
