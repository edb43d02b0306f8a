/** To which addresses a composed mail goes. Pure. Source: decision 0048. */

import type { Address } from '../../domain/channels/address.ts'
import { LogLevel } from '../../domain/codes.ts'
import type { Notification } from '../../domain/notifications/notification.ts'
import { type Recipient, recipientsOf } from './recipients-of.ts'

export interface Addressing {
  /** Null: the tenant's billing address at the time of sending. */
  readonly main: Recipient | null
  readonly copies: readonly CopyTo[]
}

/** An address other than that of billing. */
export interface CopyTo {
  readonly id: number
  readonly email: string
}

/**
 * The mail itself goes to the billing address; an escalation goes to the first address for escalations. The other
 * addresses get copies.
 *
 * @param addresses all of the tenant's
 */
export function addressingOf(
  addresses: readonly Address[],
  billingEmail: string,
  notifications: readonly Notification[],
): Addressing {
  const to = recipientsOf(addresses, {
    level: notifications.reduce<LogLevel>((most, { level }) => (level > most ? level : most), LogLevel.Info),
    rules: notifications.flatMap((told) => (told.kind === 'summary' ? [] : [told.rule.name])),
    isEscalation: notifications.length > 0 && notifications.every(({ kind }) => kind === 'escalated'),
  })
  const isBilling = ({ email }: Recipient) => email.toLowerCase() === billingEmail.toLowerCase()
  const [first] = to
  const main = first === undefined || to.some(isBilling) ? null : first
  const others = to.filter((one) => one !== main && !isBilling(one))
  return { main, copies: others.flatMap(({ id, email }) => (id === null ? [] : [{ id, email }])) }
}
