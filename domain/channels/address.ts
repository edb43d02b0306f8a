/** Addresses: the recipients of a tenant's mails. Source: decision 0048. */
import { type Static, Type } from 'typebox'
import { codeSchema, LogLevel } from '../codes.ts'
import { Email, Id, Instant, nullable, optional, strictObject, Text } from '../schema.ts'

/** Most addresses of a tenant: each mail is sent to all that fit. */
export const MOST_ADDRESSES = 20

/**
 * `billing`: receives everything. `copy`: receives mails that fit it. `escalation`: receives alerts without
 * acknowledgement.
 */
const KINDS = ['billing', 'copy', 'escalation'] as const
export type AddressKind = (typeof KINDS)[number]

const email = Email('E-mail address')
const level = codeSchema(LogLevel, 'Only mails of this level at least, of copies; null: all')
const rules = Text(
  'Only mails about rules with such a name, of copies; * stands for any characters; null: all',
  'sim-*',
  {
    minLength: 1,
    maxLength: 100,
  },
)

export const NewAddress = strictObject(
  {
    kind: Type.Unsafe<Exclude<AddressKind, 'billing'>>({
      type: 'string',
      enum: ['copy', 'escalation'],
      description: 'copy: gets what fits; escalation: gets what nobody has acknowledged in time',
    }),
    email,
    level: optional(level),
    rules: optional(rules),
  },
  { examples: [{ kind: 'copy', email: 'field@meadow.example', level: LogLevel.Critical, rules: 'sim-*' }] },
)
export type NewAddress = Static<typeof NewAddress>

export const Address = strictObject({
  id: nullable(Id('Address; null: the billing address that has been the tenant’s from the beginning')),
  kind: Type.Unsafe<AddressKind>({
    type: 'string',
    enum: [...KINDS],
    description:
      'billing: gets everything; copy: gets what fits; escalation: gets what nobody has acknowledged in time',
  }),
  email,
  level: nullable(level),
  rules: nullable(rules),
  confirmedAt: nullable(
    Instant('Of billing: since when it is known to be right; until then the one before gets mails too'),
  ),
  badSince: nullable(
    Instant('Since when no server takes mails for it: it gets none until it is cleared; null: it is well'),
  ),
  createdAt: nullable(Instant('Since when it is listed')),
})
export type Address = Static<typeof Address>
