/** Completes an order of eSIMs: makes its profiles and adds them to the estate. */
import { iccidOf } from '../../domain/identifiers.ts'
import { whyNot, whyNotSoMany } from '../../domain/orders/decisions.ts'
import type { Completion, OrderStatusResponse } from '../../domain/orders/order.ts'
import { findOrder } from '../../store/orders/orders.ts'
import { insertProfiles, takeAccounts } from '../../store/orders/sims.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { type ActivationCode, type EsimOptions, makeActivationCodes } from './esim-profiles.ts'
import { refuseExisting, refuseTwice } from './iccids.ts'
import { mustBeAllowed, orderFor, takeStep } from './steps.ts'

/** Rows in one SQL statement: 1,000 profiles are a megabyte. */
const BATCH = 1000

/**
 * Makes the activation codes of an order, before the transaction that completes it: 10,000 take about half a minute.
 *
 * @returns empty if the order cannot be completed; `completeOrder` then says why
 */
export async function codesFor(
  store: Store,
  { tenantId, orderId, iccids }: { readonly tenantId: string; readonly orderId: number } & Completion,
  { smdpHost }: EsimOptions,
): Promise<ActivationCode[]> {
  const order = await inTenant(store, tenantId, (tx) => findOrder(tx, orderId))
  const mayComplete =
    order !== undefined &&
    whyNot('complete', order) === undefined &&
    (iccids == null || whyNotSoMany(iccids.length, order.quantity) === undefined)
  return mayComplete ? makeActivationCodes(order.quantity, smdpHost) : []
}

/**
 * Completes an order of eSIMs. Adds Unprovisioned SIMs with these activation codes: all of them, or none.
 *
 * @param codes as many as were ordered. If their number differs, because the order became ready later, they are made
 *   here.
 * @throws ServiceError `invalid_request`, `order_not_found`, `order_type_mismatch`, `order_state_conflict`,
 *   `order_quantity_mismatch`, `sim_exists`
 */
export async function completeOrder(
  tx: TenantTx,
  { orderId, iccids, codes }: { readonly orderId: number; readonly codes: readonly ActivationCode[] } & Completion,
  options: EsimOptions,
): Promise<OrderStatusResponse> {
  if (iccids != null) refuseTwice(iccids, pointerOf)
  const order = await orderFor(tx, orderId, 'complete')
  if (iccids != null) mustBeAllowed(orderId, whyNotSoMany(iccids.length, order.quantity))
  const ready = codes.length === order.quantity ? codes : await makeActivationCodes(order.quantity, options.smdpHost)
  if (iccids == null) await writeMade(tx, orderId, ready, options)
  else refuseExisting(iccids, await write(tx, orderId, iccids, ready), pointerOf)
  return takeStep(tx, { order, step: 'complete' })
}

const pointerOf = (index: number) => `/iccids/${index}`

/** Writes profiles in batches. @returns ICCIDs of the SIMs that are new */
async function write(
  tx: TenantTx,
  orderId: number,
  iccids: readonly string[],
  codes: readonly ActivationCode[],
): Promise<Set<string>> {
  const written = new Set<string>()
  const profiles = codes.flatMap((code, index) => {
    const iccid = iccids[index]
    return iccid === undefined ? [] : [{ ...code, iccid }]
  })
  // One order across all batches: two transactions with the same ICCIDs wait for each other and never deadlock.
  profiles.sort((a, b) => (a.iccid < b.iccid ? -1 : 1))
  for (let start = 0; start < profiles.length; start += BATCH) {
    for (const iccid of await insertProfiles(tx, orderId, profiles.slice(start, start + BATCH))) written.add(iccid)
  }
  return written
}

/**
 * Writes profiles under generated ICCIDs. Skips an ICCID that somebody has imported, and takes the next.
 *
 * @throws if the ICCIDs with the prefix are used up
 */
async function writeMade(
  tx: TenantTx,
  orderId: number,
  codes: readonly ActivationCode[],
  { iccidPrefix }: EsimOptions,
): Promise<void> {
  for (let left = codes; left.length > 0; ) {
    const iccids = (await takeAccounts(tx, left.length)).map((account) => made(iccidPrefix, account))
    const written = await write(tx, orderId, iccids, left)
    left = left.filter((_, index) => !written.has(iccids[index] ?? ''))
  }
}

/** How many digits an ICCID has before its check digit. */
const ACCOUNT_DIGITS = 18

function made(prefix: string, account: number): string {
  const digits = prefix + String(account).padStart(ACCOUNT_DIGITS - prefix.length, '0')
  if (digits.length > ACCOUNT_DIGITS) {
    throw new Error(`ICCIDs that begin with ${prefix} are used up: set ESIM_ICCID_PREFIX to another prefix`)
  }
  return iccidOf(digits)
}
