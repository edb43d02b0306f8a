import { SimType } from '../../domain/codes.ts'
import { type FieldError, ServiceError } from '../../domain/errors.ts'
import type { NewSim } from '../../domain/estate/sim.ts'
import { whyNotSoMany, whyNotThere } from '../../domain/orders/decisions.ts'
import { ADDRESS_FIELDS, type Address, type OrderStatusResponse, type Shipment } from '../../domain/orders/order.ts'
import { Unreadable } from '../../domain/unreadable.ts'
import { insertSims } from '../../store/estate/sim-changes.ts'
import { linkSims } from '../../store/orders/sims.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { checkSim } from '../estate/check-sim.ts'
import { lineOf, type RecordLines } from '../estate/import-sims.ts'
import { type PointerOf, refuseExisting, refuseFaults, refuseTwice } from './iccids.ts'
import { mustBeAllowed, orderFor, takeStep } from './steps.ts'

/**
 * Ships an order of physical SIMs. Adds them to the estate, Unprovisioned: all of them, or none.
 *
 * An address in the shipment replaces that of the order, field by field.
 *
 * @param lines of the file that the SIMs came from, if there was one
 * @throws ServiceError `invalid_request`, `order_not_found`, `order_type_mismatch`, `order_state_conflict`,
 *   `order_quantity_mismatch`, `shipping_address_missing`, `sim_exists`
 */
export async function shipOrder(
  tx: TenantTx,
  id: number,
  shipment: Shipment,
  lines?: RecordLines,
): Promise<OrderStatusResponse> {
  const { sims, pointerOf } = simsOf(shipment, lines)
  const iccids = sims.map(({ iccid }) => iccid)
  refuseTwice(iccids, pointerOf)
  const order = await orderFor(tx, id, 'ship')
  const address = addressOf(shipment)
  mustBeAllowed(id, whyNotSoMany(sims.length, order.quantity))
  mustBeAllowed(id, whyNotThere({ ...order, ...address }))
  const written = await insertSims(tx, sims)
  refuseExisting(iccids, new Set(written.map(({ iccid }) => iccid)), pointerOf)
  await linkSims(
    tx,
    id,
    written.map((sim) => sim.id),
  )
  const { shippingCarrier, trackingNumber } = shipment
  return takeStep(tx, { order, step: 'ship', change: { ...address, shippingCarrier, trackingNumber } })
}

/** The address fields that the shipment gives. */
const addressOf = (shipment: Shipment): Partial<Address> =>
  Object.fromEntries(ADDRESS_FIELDS.flatMap((field) => (shipment[field] == null ? [] : [[field, shipment[field]]])))

interface Given {
  readonly sims: readonly NewSim[]
  readonly pointerOf: PointerOf
}

/** The SIMs of a shipment, from `iccids` or `sims`. @throws ServiceError `invalid_request` */
function simsOf({ iccids, sims }: Shipment, lines: RecordLines | undefined): Given {
  if (iccids != null && sims == null) {
    return { sims: iccids.map((iccid) => ({ iccid })), pointerOf: (index) => `/iccids/${index}` }
  }
  if (sims == null || iccids != null) {
    const detail = 'give the SIMs either as iccids or as sims'
    throw new ServiceError('invalid_request', `${detail}.`, { errors: [{ pointer: '/iccids', detail }] })
  }
  const good: NewSim[] = []
  const faults: FieldError[] = []
  for (const [index, record] of sims.entries()) {
    const checked = record instanceof Unreadable ? { fault: record.why } : checkPhysical(record)
    if ('fault' in checked)
      faults.push({ pointer: `/sims/${index}`, detail: `${lineOf(lines, index)}${checked.fault}` })
    else good.push(checked.sim)
  }
  refuseFaults('Each of the SIMs needs an ICCID, and may be of no type but 0, physical', faults)
  return { sims: good, pointerOf: (index) => `/sims/${index}/iccid` }
}

function checkPhysical(record: unknown): ReturnType<typeof checkSim> {
  const checked = checkSim(record)
  if ('fault' in checked || (checked.sim.type ?? SimType['Physical SIM']) === SimType['Physical SIM']) return checked
  return { fault: `type: got ${checked.sim.type}; expected 0 (Physical SIM): eSIMs are not shipped` }
}
