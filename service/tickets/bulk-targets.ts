/**
 * The SIMs of a bulk run, and which of them get no ticket. A dry run and a real run share this code: the first predicts
 * the second.
 */
import { Compile } from 'typebox/compile'
import { ServiceError } from '../../domain/errors.ts'
import { Unreadable } from '../../domain/files/unreadable.ts'
import { ICCID, withoutFiller } from '../../domain/identifiers.ts'
import { BulkRow, type BulkSims, MOST_SIMS, notAnIccid, TICKET_OF } from '../../domain/tickets/bulk.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { readSimStates } from '../sims/rows/sim-state.ts'
import { checkAssignment, conflictOf } from './open-ticket.ts'
import { type BulkOptions, findMatchingSims, findNamedSims, type NewItem, type Refusal } from './rows/bulk.ts'
import { openTicketsOf } from './rows/tickets.ts'

/** SIMs in one read: some hundred kilobytes. */
const PAGE = 2000

const checkRow = Compile(BulkRow)

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
  const count = 'ids' in sims ? sims.ids.length : 'iccids' in sims ? sims.iccids.length : sims.rows.length
  for (let start = 0; start < count; start += PAGE) {
    const names = Array.from({ length: Math.min(PAGE, count - start) }, (_, at) => nameAt(sims, start + at))
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
        return { index, simId: null, iccid: iccid ?? textOf(simId), refusal: unknown(name) }
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

function nameAt(sims: Exclude<BulkSims, { filter: unknown }>, index: number): Name {
  const nobody = { index, simId: null, iccid: null }
  if ('ids' in sims) return { ...nobody, simId: sims.ids[index] ?? null, fault: null }
  if ('iccids' in sims) return byIccid(index, sims.iccids[index] ?? '')
  const row = sims.rows[index]
  if (row instanceof Unreadable) return { ...nobody, fault: String(row) }
  if (checkRow.Check(row)) {
    const { simId = null } = row
    const iccid = row.iccid == null ? null : withoutFiller(row.iccid)
    const fault = simId === null && iccid === null ? 'neither iccid nor simId is given' : null
    return { index, simId, iccid, fault }
  }
  const iccid = typeof row === 'object' && row !== null && 'iccid' in row ? row.iccid : undefined
  if (typeof iccid === 'string' && !ICCID.test(iccid)) return byIccid(index, iccid)
  const faults = checkRow.Errors(row).map(({ instancePath, message }) => `${instancePath || 'row'}: ${message}`)
  return { ...nobody, fault: faults.join('; ') }
}

const byIccid = (index: number, text: string): Name =>
  ICCID.test(text)
    ? { index, simId: null, iccid: withoutFiller(text), fault: null }
    : { index, simId: null, iccid: text, fault: notAnIccid(text) }

const textOf = (id: number | null): string | null => (id === null ? null : String(id))

function unknown({ simId, iccid, fault }: Name): Refusal {
  if (fault !== null) return { code: 'invalid_request', detail: fault }
  const who = [simId === null ? '' : `SIM ${simId}`, iccid === null ? '' : `ICCID ${iccid}`]
    .filter(Boolean)
    .join(' with ')
  return { code: 'sim_not_found', detail: `There is no ${who}.` }
}

const repeated = (simId: number): Refusal => ({ code: 'sim_repeated', detail: `SIM ${simId} is named before.` })

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
): Promise<Map<number, Refusal>> {
  const ask = askOf(options)
  const sims = await readSimStates(tx, simIds)
  const open = await openTicketsOf(tx, simIds)
  const assignment = await assignmentRefusal(tx, options)
  const there = new Set(sims.map(({ simId }) => simId))
  const gone = simIds.filter((id) => !there.has(id)).map((id) => [id, unknown(nameOf(id))] as const)
  const refused = sims.flatMap((sim) => {
    const refusal = conflictOf(sim, open.get(sim.simId) ?? [], ask) ?? assignment
    return refusal === undefined ? [] : [[sim.simId, refusal] as const]
  })
  return new Map([...gone, ...refused])
}

const nameOf = (simId: number): Name => ({ index: 0, simId, iccid: null, fault: null })

/** Why no SIM can be assigned to the run's pool and tariff. They are the same for all SIMs: they fit all or none. */
async function assignmentRefusal(tx: TenantTx, { poolId, tariffId }: BulkOptions): Promise<Refusal | undefined> {
  try {
    if (poolId !== null || tariffId !== null) await checkAssignment(tx, { poolId, tariffId }, tariffId)
    return undefined
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code, detail: error.message }
    throw error
  }
}
