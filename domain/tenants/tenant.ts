/** The tenant, and the API keys that act for it. Source: service document, section 2.7; internal interface. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import { Email, Instant, Label, nullable, objectWithExample, oneOf, optional, strictObject, Text } from '../schema.ts'
import { DURATION_PATTERN } from '../time/duration.ts'

/** Value of `X-Tenant-Id` that stands for the platform itself. No tenant's id begins with an @. */
export const PLATFORM = '@platform'

const TenantId = Text('Tenant id', 'tf622080bc0a0')

export const Tenant = strictObject({
  id: TenantId,
  name: Text('Tenant display name', 'Meadow Metering'),
  billingEmail: Text('Billing contact e-mail address', 'billing@meadow.example'),
})
export type Tenant = Static<typeof Tenant>

const Name = Label('Tenant display name, 2 to 100 characters', 'Meadow Metering', { minLength: 2, maxLength: 100 })
const BillingEmail = Email('Billing contact e-mail address')

export const TenantName = strictObject({ name: Name })
export const TenantBillingEmail = strictObject({ billingEmail: BillingEmail })
export const TenantResponse = strictObject({ id: TenantId })

export const NewTenant = strictObject({
  name: Name,
  billingEmail: BillingEmail,
  billingCycle: optional(
    Type.String({
      pattern: '^P(1M|[1-9]\\d{0,3}D|T[1-9]\\d{0,3}[HM])$',
      examples: ['P1M'],
      description: 'P1M (calendar months in UTC), or whole days, hours or minutes (P7D, PT6H, PT5M); fixed at creation',
    }),
  ),
  currency: optional(
    Type.String({
      pattern: '^[A-Z]{3}$',
      examples: ['EUR'],
      description: 'Currency of its tariffs and charges: ISO 4217; fixed at creation',
    }),
  ),
})
export type NewTenant = Static<typeof NewTenant>

/** A tenant with what it is billed by. */
export const BilledTenant = strictObject({
  ...Tenant.properties,
  billingCycle: Text('Billing cycle, fixed at creation', 'P1M'),
  currency: Text('Currency of its tariffs and charges: ISO 4217, fixed at creation', 'EUR'),
})
export type BilledTenant = Static<typeof BilledTenant>

/** A tenant in the operator's list. */
export const TenantEntry = strictObject({
  ...BilledTenant.properties,
  enforcementEnabled: Type.Boolean({ description: 'Whether the watchdog may suspend' }),
  createdAt: Instant('Time of creation'),
})
export type TenantEntry = Static<typeof TenantEntry>

export const TenantQuery = Type.Object({
  search: Type.Optional(Text('Part of the name, the id or the billing e-mail, upper or lower case', 'meadow')),
  ...pageQuery,
})
export type TenantQuery = Static<typeof TenantQuery>

/** Permissions of a key. Each includes those before it. `operator` is the platform's, and excludes others. */
const LEVELS = ['read', 'write', 'admin', 'operator'] as const
type Level = (typeof LEVELS)[number]
/**
 * Permissions beside a level. `billing`, of a tenant's key, also alone: its costs, statements, alerts and mails, and who
 * gets these. `esim`, only with a level: the activation codes of eSIMs.
 */
const OTHERS = ['billing', 'esim'] as const
export type Scope = Level | (typeof OTHERS)[number]

const ScopeSchema = oneOf(
  [...LEVELS, ...OTHERS],
  'Permission of the key; billing: costs, statements, alerts and mails of its tenant; esim: may also see activation codes of eSIMs',
)

const isLevel = (scope: Scope): scope is Level => LEVELS.some((level) => level === scope)

/** The levels among scopes. */
export const levelsOf = (scopes: readonly Scope[]): Level[] => scopes.filter(isLevel)

/** Whether a key with these scopes may do what requires the scope `needed`. */
export const allows = (scopes: readonly Scope[], needed: Scope): boolean =>
  isLevel(needed)
    ? levelsOf(scopes).some((level) => LEVELS.indexOf(level) >= LEVELS.indexOf(needed))
    : scopes.includes(needed)

/** A path about billing: it takes keys with the scope `billing`, and those of this level; with `billing`, of no level. */
export type Opening = 'read' | 'admin' | 'billing'

/** Whether a path that is open so takes a key with these scopes. */
export const opensTo = (scopes: readonly Scope[], opening: Opening): boolean =>
  scopes.includes('billing') || allows(scopes, opening === 'billing' ? 'operator' : opening)

const KeyName = Label('Purpose of the key, 1 to 100 characters', 'billing export', { minLength: 1, maxLength: 100 })

export const NewKey = objectWithExample(
  {
    name: KeyName,
    scopes: Type.Array(ScopeSchema, { minItems: 1, uniqueItems: true, description: 'Permissions of the key' }),
    esim: optional(
      Type.Boolean({
        description:
          'Whether the key may see activation codes of eSIMs; default: yes for a tenant’s key with write access',
      }),
    ),
    expiresAt: optional(Instant('Time of expiry; omitted: the key works until it is revoked')),
  },
  { name: 'billing export', scopes: ['read'], expiresAt: '2030-01-01T00:00:00.000Z' },
)
export type NewKey = Static<typeof NewKey>

export const RotateKey = strictObject({
  expireOldAfter: optional(
    Type.String({
      pattern: DURATION_PATTERN,
      maxLength: 30,
      examples: ['PT1H'],
      description: 'How long the old key goes on working: an ISO 8601 duration, at most P30D; without one PT1H',
    }),
  ),
})
export type RotateKey = Static<typeof RotateKey>

export const ApiKey = strictObject({
  id: Text('Key id: the middle part of the key', '6a34354728b4'),
  prefix: Text('The key without its secret', 'sim_6a34354728b4'),
  name: Text('Purpose of the key', 'billing export'),
  scopes: Type.Array(ScopeSchema),
  createdAt: Instant('Time of creation'),
  expiresAt: nullable(Instant('Time of expiry')),
  revokedAt: nullable(Instant('Time of revocation')),
  lastUsedAt: nullable(Instant('Time of the last use, to the minute')),
  replacedBy: nullable(Text('Id of the new key after a rotation; null: not rotated', '0f1e2d3c4b5a')),
  contact: nullable(Email('Address of the person who signs in by mail, whom the key stands for; null: it has a user')),
})
export type ApiKey = Static<typeof ApiKey>

export const WithSecret = strictObject({
  id: Text('Id of the created object', '6a34354728b4'),
  key: Text('The API key; shown only once', 'sim_6a34354728b4_the-secret-part-is-shown-once-and-only-here'),
})
export type WithSecret = Static<typeof WithSecret>
