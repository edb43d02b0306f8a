import { SimType } from '../../domain/codes.ts'
import { whyNotSoMany, whyNotThere } from '../../domain/orders/decisions.ts'
import {
  ADDRESS_FIELDS,
  type OrderAddress,
  type OrderStatusResponse,
  type Shipment,
} from '../../domain/orders/order.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { RecordLines } from '../sims/import-sims.ts'
import { addGiven, eitherOf, givenSims } from './given-sims.ts'
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
  const given = givenSims(shipment, SimType['Physical SIM'], lines)
  if (given === undefined) throw eitherOf()
  const order = await orderFor(tx, id, 'ship')
  const address = addressOf(shipment)
  mustBeAllowed(id, whyNotSoMany(given.sims.length, order.quantity))
  mustBeAllowed(id, whyNotThere({ ...order, ...address }))
  await addGiven(tx, id, given)
  const { shippingCarrier, trackingNumber } = shipment
  return takeStep(tx, order, 'ship', { ...address, shippingCarrier, trackingNumber })
}

/** The address fields that the shipment gives. */
const addressOf = (shipment: Shipment): Partial<OrderAddress> =>
  Object.fromEntries(ADDRESS_FIELDS.flatMap((field) => (shipment[field] == null ? [] : [[field, shipment[field]]])))
