/** Decides the recipients of a mail. Pure. Source: decision 0048. */

import type { Address } from '../../domain/channels/address.ts'
import type { LogLevel } from '../../domain/codes.ts'
import { fitsPattern } from '../../rules/engine/match.ts'

/** The properties of a mail that decide its recipients. */
export interface AddressedMail {
  /** The highest level of its notifications. */
  readonly level: LogLevel
  /** Names of the rules that it is about; none in a summary. */
  readonly rules: readonly string[]
  /** Whether it reports alerts not acknowledged in time. */
  readonly isEscalation?: boolean
}

export type Recipient = Pick<Address, 'id' | 'email'>

/**
 * The recipients of a mail, billing first: each address once, none that servers refuse. Each gets a separate mail and
 * does not see the others.
 *
 * A changed billing address and the previous one both get mails until the new one is confirmed. An escalation goes to
 * its addresses; if none of them is well, to those of billing.
 *
 * @param addresses all of the tenant's, its billing address included
 */
export function recipientsOf(addresses: readonly Address[], mail: AddressedMail): Recipient[] {
  const kindIs = (kind: Address['kind']) => (address: Address) => address.kind === kind
  const escalated = mail.isEscalation === true ? wellAmong(addresses.filter(kindIs('escalation'))) : []
  if (escalated.length > 0) return escalated
  const copies = addresses.filter((address) => address.kind === 'copy' && fits(address, mail))
  return wellAmong([...addresses.filter(kindIs('billing')), ...(mail.isEscalation === true ? [] : copies)])
}

const fits = ({ level, rules }: Address, mail: AddressedMail): boolean =>
  (level === null || mail.level >= level) && (rules === null || mail.rules.some((rule) => fitsPattern(rules, rule)))

/** The well addresses, each once. An address bad in one role is bad in all. */
function wellAmong(addresses: readonly Address[]): Recipient[] {
  const bad = new Set(addresses.filter(({ badSince }) => badSince !== null).map(keyOf))
  const once = new Map<string, Recipient>()
  for (const address of addresses) {
    const key = keyOf(address)
    if (!bad.has(key) && !once.has(key)) once.set(key, { id: address.id, email: address.email })
  }
  return [...once.values()]
}

const keyOf = ({ email }: Pick<Address, 'email'>): string => email.toLowerCase()
