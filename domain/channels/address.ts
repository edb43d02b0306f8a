/** Addresses: the recipients of a tenant's mails. Source: decision 0048. */
import { type Static } from 'typebox'
import { codeSchema, LogLevel } from '../codes.ts'
import { Email, Id, Instant, nullable, oneOf, optional, strictObject, Text } from '../schema.ts'

/** Most addresses of a tenant: each mail is sent to all that fit. */
export const MOST_ADDRESSES = 20

/**
 * `billing`: receives everything. `copy`: receives mails that fit it. `escalation`: receives alerts without
 * acknowledgement.
 */
const KINDS = ['billing', 'copy', 'escalation'] as const
export type AddressKind = (typeof KINDS)[number]

const email = Email('E-mail address')
const level = codeSchema(LogLevel, 'Lowest level of copied mails, null for all')
const rules = Text(
  'For copies: only mails about rules with a matching name; * stands for any characters; null: all',
  'sim-*',
  {
    minLength: 1,
    maxLength: 100,
  },
)

export const NewAddress = strictObject(
  {
    kind: oneOf(
      ['copy', 'escalation'],
      'copy: gets matching mails; escalation: gets alerts without timely acknowledgement',
    ),
    email,
    level: optional(level),
    rules: optional(rules),
  },
  { examples: [{ kind: 'copy', email: 'field@meadow.example', level: LogLevel.Critical, rules: 'sim-*' }] },
)
export type NewAddress = Static<typeof NewAddress>

export const Address = strictObject({
  id: nullable(Id('Address id; null: the tenant’s original billing address')),
  kind: oneOf(
    KINDS,
    'billing: gets every mail; copy: gets matching mails; escalation: gets alerts without timely acknowledgement',
  ),
  email,
  level: nullable(level),
  rules: nullable(rules),
  confirmedAt: nullable(
    Instant('For billing: time of the confirmation; until then the previous address also gets mails'),
  ),
  badSince: nullable(Instant('Time since every server refuses it: it gets no mails until cleared; null: accepted')),
  createdAt: nullable(Instant('Time when it was added')),
})
export type Address = Static<typeof Address>
