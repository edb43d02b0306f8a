/** Decides which addresses a mail goes to. Pure. Source: decision 0048. */

import type { Address } from '../../domain/channels/address.ts'
import { LogLevel } from '../../domain/codes.ts'
import { fitsPattern } from '../../rules/engine/match.ts'
import type { StoredNotification } from '../../store/notifications.ts'

type Recipient = Pick<Address, 'id' | 'email'>

/** An address other than that of billing. */
export interface CopyTo extends Recipient {
  readonly id: number
}

/**
 * The mail itself goes to the billing address; an escalation goes to the first address for escalations. The other
 * addresses get copies.
 *
 * @param addresses all of the tenant's
 * @returns main: null for the tenant's billing address at the time of sending
 */
export function addressingOf(
  addresses: readonly Address[],
  billingEmail: string,
  parts: readonly StoredNotification[],
): { readonly main: Recipient | null; readonly copies: readonly CopyTo[] } {
  const notifications = parts.map(({ body }) => body)
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

/** The properties of a mail that decide its recipients. */
interface AddressedMail {
  /** The highest level of its notifications. */
  readonly level: LogLevel
  /** Names of the rules that it is about; none in a summary. */
  readonly rules: readonly string[]
  /** Whether it reports alerts not acknowledged in time. */
  readonly isEscalation?: boolean
}

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
  const { isEscalation = false } = mail
  const ofKind = (kind: Address['kind']) => addresses.filter((address) => address.kind === kind)
  const escalated = isEscalation ? wellAmong(ofKind('escalation')) : []
  if (escalated.length > 0) return escalated
  const copies = isEscalation ? [] : ofKind('copy').filter((address) => fits(address, mail))
  return wellAmong([...ofKind('billing'), ...copies])
}

const fits = ({ level, rules }: Address, mail: AddressedMail): boolean =>
  (level === null || mail.level >= level) && (rules === null || mail.rules.some((rule) => fitsPattern(rules, rule)))

/** The well addresses, each once. An address bad in one role is bad in all. */
function wellAmong(addresses: readonly Address[]): Recipient[] {
  const bad = new Set(addresses.filter(({ badSince }) => badSince !== null).map(keyOf))
  const well = addresses.filter((address) => !bad.has(keyOf(address)))
  return [...Map.groupBy(well, keyOf).values()].flatMap((same) =>
    same.slice(0, 1).map(({ id, email }) => ({ id, email })),
  )
}

const keyOf = ({ email }: Address): string => email.toLowerCase()
