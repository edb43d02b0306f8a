/** Completes an order of eSIMs: adds its profiles to the estate, those of a carrier or made ones. */
import { randomBytes } from 'node:crypto'
import { SimType } from '../../domain/codes.ts'
import { iccidOf } from '../../domain/identifiers.ts'
import { whyNotSoMany } from '../../domain/orders/decisions.ts'
import type { Completion, OrderStatusResponse } from '../../domain/orders/order.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { RecordLines } from '../sims/import-sims.ts'
import { insertSims } from '../sims/rows/sim-changes.ts'
import { cardsKnown } from '../sims/same-card.ts'
import { addGiven, givenSims } from './given-sims.ts'
import { linkSims, takeAccounts } from './rows/orders.ts'
import { mustBeAllowed, orderFor, takeStep } from './steps.ts'

/** Where profiles come from, and how their ICCIDs begin. */
export interface EsimOptions {
  /** Host of the server that profiles are downloaded from (SM-DP+). */
  readonly smdpHost: string
  /** First digits of generated ICCIDs: 89, then the issuer. */
  readonly iccidPrefix: string
}

/**
 * Completes an order of eSIMs. Adds Unprovisioned SIMs: all of them, or none. SIMs of the request have its activation
 * codes, or none. Without SIMs in the request, ICCIDs and codes are made.
 *
 * @param lines of the file that the SIMs came from, if there was one
 * @throws ServiceError `invalid_request`, `order_not_found`, `order_type_mismatch`, `order_state_conflict`,
 *   `order_quantity_mismatch`, `sim_exists`
 */
export async function completeOrder(
  tx: TenantTx,
  { orderId, ...completion }: { readonly orderId: number } & Completion,
  options: EsimOptions,
  lines?: RecordLines,
): Promise<OrderStatusResponse> {
  const given = givenSims(completion, SimType.eSIM, lines)
  const order = await orderFor(tx, orderId, 'complete')
  if (given === undefined) await addMade(tx, orderId, order.quantity, options)
  else {
    mustBeAllowed(orderId, whyNotSoMany(given.sims.length, order.quantity))
    await addGiven(tx, orderId, given)
  }
  return takeStep(tx, order, 'complete')
}

/**
 * Adds eSIMs under generated ICCIDs. Skips an imported card, and takes the next.
 *
 * @throws if the ICCIDs with the prefix are used up
 */
async function addMade(
  tx: TenantTx,
  orderId: number,
  quantity: number,
  { iccidPrefix, smdpHost }: EsimOptions,
): Promise<void> {
  for (let left = quantity; left > 0; ) {
    const iccids = (await takeAccounts(tx, left)).map((account) => made(iccidPrefix, account))
    const known = await cardsKnown(tx, iccids)
    const sims = iccids
      .filter((iccid) => !known.has(iccid))
      .map((iccid) => ({ iccid, type: SimType.eSIM, esimQrPayload: makeCode(smdpHost) }))
    const written = await insertSims(tx, sims)
    await linkSims(tx, orderId, written)
    left -= written.length
  }
}

/**
 * Makes an activation code, which a device needs to download an eSIM's profile. It is a secret of the holder of the SIM,
 * and must not appear in any event, log, mail or audit entry. Its 128 random bits cannot be guessed and never repeat;
 * capital letters keep the QR code small. Source: GSMA SGP.22, section 4.1.
 */
const makeCode = (smdpHost: string) => `LPA:1$${smdpHost}$${randomBytes(16).toString('hex').toUpperCase()}`

/** How many digits an ICCID has before its check digit. */
const ACCOUNT_DIGITS = 18

function made(prefix: string, account: number): string {
  const digits = prefix + String(account).padStart(ACCOUNT_DIGITS - prefix.length, '0')
  if (digits.length > ACCOUNT_DIGITS) {
    throw new Error(`ICCIDs that begin with ${prefix} are used up: set ESIM_ICCID_PREFIX to another prefix`)
  }
  return iccidOf(digits)
}
