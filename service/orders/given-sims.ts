/** The SIMs that a request brings for an order: all of them become SIMs of the estate, or none. */
import { labelOf, SimType } from '../../domain/codes.ts'
import { type FieldError, ServiceError } from '../../domain/errors.ts'
import { Unreadable } from '../../domain/files/unreadable.ts'
import type { SimsOfOrder } from '../../domain/orders/order.ts'
import type { NewSim } from '../../domain/sims/sim.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { checkSim } from '../sims/check-sim.ts'
import { lineOf, type RecordLines } from '../sims/import-sims.ts'
import { insertSims } from '../sims/rows/sim-changes.ts'
import { type PointerOf, refuseExisting, refuseFaults, refuseTwice } from './iccids.ts'
import { linkSims } from './rows/sims.ts'

/** Checked SIMs, none of them twice. */
export interface GivenSims {
  readonly sims: readonly NewSim[]
  readonly pointerOf: PointerOf
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
  refuseTwice(iccidsOf(given), given.pointerOf)
  return given
}

/** The refusal of a request with both lists, or none. */
export function eitherOf(): ServiceError {
  const detail = 'give the SIMs either as iccids or as sims'
  return new ServiceError('invalid_request', `${detail}.`, { errors: [{ pointer: '/iccids', detail }] })
}

const iccidsOf = ({ sims }: GivenSims): string[] => sims.map(({ iccid }) => iccid)

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

/** Adds the SIMs to the estate, Unprovisioned, as those of an order. @throws ServiceError `sim_exists` */
export async function addGiven(tx: TenantTx, orderId: number, given: GivenSims): Promise<void> {
  const written = await insertSims(tx, given.sims)
  await refuseExisting(tx, iccidsOf(given), new Set(written.map(({ iccid }) => iccid)), given.pointerOf)
  await linkSims(
    tx,
    orderId,
    written.map(({ id }) => id),
  )
}
