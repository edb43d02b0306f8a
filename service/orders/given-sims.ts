/** The SIMs that a request brings for an order: all of them become SIMs of the estate, or none. */
import { labelOf, SimType } from '../../domain/codes.ts'
import { type FieldError, ServiceError } from '../../domain/errors.ts'
import { Unreadable } from '../../domain/files/waste.ts'
import type { SimsOfOrder } from '../../domain/orders/order.ts'
import type { NewSim } from '../../domain/sims/sim.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { checkSim } from '../sims/check-sim.ts'
import { lineOf, type RecordLines } from '../sims/import-sims.ts'
import { insertSims } from '../sims/rows/sim-changes.ts'
import { cardsKnown, cardsOfList } from '../sims/same-card.ts'
import { linkSims } from './rows/orders.ts'

/** Checked SIMs, none of them twice. */
export interface GivenSims {
  readonly sims: readonly NewSim[]
  /** The place of an ICCID in the request: its JSON pointer, from its index in the list. */
  readonly pointerOf: (index: number) => string
}

/**
 * The SIMs of a request, from `iccids` or `sims`.
 *
 * @param type of the ordered SIMs
 * @param lines of the file that the SIMs came from, if there was one
 * @returns undefined if the request has neither
 * @throws ServiceError `invalid_request`
 */
export function givenSims({ iccids, sims }: SimsOfOrder, type: SimType, lines?: RecordLines): GivenSims | undefined {
  if (iccids == null && sims == null) return undefined
  if (iccids != null && sims != null) throw eitherOf()
  const given: GivenSims =
    sims == null
      ? { sims: (iccids ?? []).map((iccid) => ({ iccid, type })), pointerOf: (index) => `/iccids/${index}` }
      : { sims: checked(sims, type, lines), pointerOf: (index) => `/sims/${index}/iccid` }
  refuseTwice(given)
  return given
}

/** The refusal of a request with both lists, or none. */
export function eitherOf(): ServiceError {
  const detail = 'give the SIMs either as iccids or as sims'
  return new ServiceError('invalid_request', `${detail}.`, { errors: [{ pointer: '/iccids', detail }] })
}

function checked(records: readonly unknown[], type: SimType, lines: RecordLines | undefined): NewSim[] {
  const good: NewSim[] = []
  const faults: FieldError[] = []
  for (const [index, record] of records.entries()) {
    const one = record instanceof Unreadable ? { fault: record.why } : checkSim(record, type)
    if ('fault' in one) faults.push({ pointer: `/sims/${index}`, detail: `${lineOf(lines, index)}${one.fault}` })
    else good.push(one.sim)
  }
  refuseFaults(`Each of the SIMs needs an ICCID, and may be of no type but ${type}, ${labelOf(SimType, type)}`, faults)
  return good
}

/** How many faults of a long list are reported: the first ones are enough. */
const MOST_FAULTS = 10
const first = (errors: readonly FieldError[]) => ({ errors: errors.slice(0, MOST_FAULTS) })

/** Refuses a list with faults. @throws ServiceError `invalid_request` if there is any */
function refuseFaults(what: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new ServiceError('invalid_request', `${what}: ${errors.length} do not.`, first(errors))
}

/** Refuses a list that names a card twice, with or without its check digit. @throws ServiceError `invalid_request` */
function refuseTwice({ sims, pointerOf }: GivenSims): void {
  const repeated = cardsOfList()
  const errors = sims.flatMap(({ iccid }, index): FieldError[] => {
    const before = repeated(iccid, index)
    if (before === undefined) return []
    return [{ pointer: pointerOf(index), detail: `is ${before.sameAs(pointerOf(before.first))}` }]
  })
  refuseFaults('Each SIM has an ICCID of its own', errors)
}

/**
 * Adds the SIMs to the estate, Unprovisioned, as those of an order. Refuses them if some of their cards were SIMs before,
 * also with or without their check digit.
 *
 * @throws ServiceError `sim_exists`
 */
export async function addGiven(tx: TenantTx, orderId: number, { sims, pointerOf }: GivenSims): Promise<void> {
  const written = await insertSims(tx, sims)
  const isNew = new Set(written.map(({ iccid }) => iccid))
  const iccids = sims.map(({ iccid }) => iccid)
  const known = await cardsKnown(tx, iccids)
  const errors = iccids.flatMap((iccid, index): FieldError[] => {
    const why = isNew.has(iccid) ? known.get(iccid) : 'exists already'
    return why === undefined ? [] : [{ pointer: pointerOf(index), detail: `ICCID ${iccid} ${why}` }]
  })
  if (errors.length > 0) {
    const detail = `${errors.length} of the ${iccids.length} ICCIDs exist already; nothing was done.`
    throw new ServiceError('sim_exists', detail, first(errors))
  }
  await linkSims(tx, orderId, written)
}
