/** Adds and changes addresses for a tenant's mails. The billing address is the tenant's. */

import { type Address, MOST_ADDRESSES, type NewAddress } from '../../domain/channels/address.ts'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { type Change, noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { changeTenant } from '../tenants/change-tenant.ts'
import { findTenant } from '../tenants/rows/tenants.ts'
import {
  changeBilling,
  deleteAddress,
  deleteOtherBilling,
  insertAddress,
  lockAddress,
  lockAddresses,
  writeCleared,
  writeConfirmed,
} from './rows/addresses.ts'
import { tryAgain } from './rows/mails.ts'

type AddressRef = { id: number }

/**
 * Adds an address that gets copies, or escalations.
 *
 * @throws ServiceError `address_exists`, `address_limit`; `invalid_request` if an escalation has a level or rules
 */
export async function addAddress(tx: TenantTx, ask: NewAddress): Promise<AddressRef> {
  const { kind, email, level = null, rules = null } = ask
  if (kind === 'escalation' && (level !== null || rules !== null)) {
    const pointer = level === null ? '/rules' : '/level'
    const detail = `got ${level ?? rules}, expected none: an escalation is of what nobody has acknowledged`
    throw new ServiceError('invalid_request', `${pointer.slice(1)}: ${detail}`, { errors: [{ pointer, detail }] })
  }
  if ((await lockAddresses(tx)) >= MOST_ADDRESSES) {
    throw new ServiceError('address_limit', `The tenant has ${MOST_ADDRESSES} addresses.`)
  }
  const id = await insertAddress(tx, { kind, email, level, rules, confirmedAt: null })
  if (id === undefined) throw new ServiceError('address_exists', `${email} is an address for ${WORDS[kind]} already.`)
  await recordChange(tx, { id, before: null, after: { kind, email, level, rules } }, `${email} gets ${WORDS[kind]}`)
  return { id }
}

const WORDS = { billing: 'billing mails', copy: 'copies of mails', escalation: 'escalations' } as const

/**
 * Notes that an address is right. If it is the billing address, the previous one gets no more mails. Safe to run twice.
 *
 * @throws ServiceError `address_not_found`
 */
export async function confirmAddress(tx: TenantTx, id: number): Promise<AddressRef> {
  const { kind, email, confirmedAt } = await knownAddress(tx, id)
  if (confirmedAt !== null) return { id }
  await writeConfirmed(tx, id)
  if (kind === 'billing') await deleteOtherBilling(tx, email)
  await recordChange(tx, { id, before: { confirmedAt }, after: { confirmedAt: tx.now } }, `${email} is confirmed`)
  return { id }
}

/**
 * Clears the mark of an address that servers refused: it gets mails again. Safe to run twice.
 *
 * @throws ServiceError `address_not_found`
 */
export async function clearAddress(tx: TenantTx, id: number): Promise<AddressRef> {
  const { email, badSince } = await knownAddress(tx, id)
  if (badSince === null) return { id }
  await writeCleared(tx, id)
  await recordChange(tx, { id, before: { badSince }, after: { badSince: null } }, `${email} gets mails again`)
  return { id }
}

/**
 * Removes an address: it gets nothing any more.
 *
 * @throws ServiceError `address_not_found`; `address_in_use` for the tenant's billing address
 */
export async function removeAddress(tx: TenantTx, id: number): Promise<AddressRef> {
  const { kind, email, level, rules } = await knownAddress(tx, id)
  const isBilling = kind === 'billing' && (await findTenant(tx))?.billingEmail.toLowerCase() === email.toLowerCase()
  if (isBilling) throw new ServiceError('address_in_use', `${email} is the tenant's billing address.`)
  await deleteAddress(tx, id)
  const before = { kind, email, level, rules }
  await recordChange(tx, { id, before, after: null }, `${email} gets no ${WORDS[kind]} any more`)
  return { id }
}

const REFUSED_KEPT_MS = 30 * 86_400_000

/**
 * Changes the tenant's billing e-mail. Later mails go to the new address. So do mails of the last month given up
 * because the previous address was refused. The previous one is kept as an address until the new one is confirmed.
 *
 * @throws ServiceError `tenant_not_found`
 */
export async function changeBillingAddress(tx: TenantTx, billingEmail: string): Promise<{ readonly id: string }> {
  const { id, billingEmail: before } = await changeTenant(tx, 'billingEmail', billingEmail)
  if (before !== billingEmail) {
    await changeBilling(tx, before, billingEmail)
    await tryAgain(tx, { refusedSince: new Date(tx.now.getTime() - REFUSED_KEPT_MS) })
  }
  return { id }
}

async function knownAddress(tx: TenantTx, id: number): Promise<Address> {
  const address = await lockAddress(tx, id)
  if (address === undefined) throw new ServiceError('address_not_found', `There is no address ${id}.`)
  return address
}

async function recordChange(tx: TenantTx, change: Omit<Change, 'subject'>, what: string): Promise<void> {
  await noteChange(tx, { subject: 'address', ...change })
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: 'Addresses of mails changed',
    description: `${what}.`,
  })
}
