/** The tenant, and the API keys that act for it. Source: service document, section 2.7; internal interface. */
import { type Static, Type } from 'typebox'
import { Instant, nullable, optional, strictObject } from './schema.ts'

export const Tenant = strictObject({
  id: Type.String({ description: 'Tenant id' }),
  name: Type.String({ description: 'Tenant display name' }),
  billingEmail: Type.String({ description: 'Billing contact e-mail address' }),
})
export type Tenant = Static<typeof Tenant>

const Name = Type.String({ minLength: 2, maxLength: 100, description: 'Tenant display name, 2 to 100 characters' })
const BillingEmail = Type.String({ format: 'email', maxLength: 254, description: 'Billing contact e-mail address' })

export const TenantName = strictObject({ name: Name })
export const TenantBillingEmail = strictObject({ billingEmail: BillingEmail })
/** What a change of the tenant answers. */
export const TenantAnswer = strictObject({ id: Type.String({ description: 'Tenant id' }) })

export const NewTenant = strictObject({
  name: Name,
  billingEmail: BillingEmail,
  billingCycle: optional(
    Type.String({
      description: 'P1M (calendar months in UTC), or whole days, hours or minutes (P7D, PT6H, PT5M); fixed at creation',
    }),
  ),
})
export type NewTenant = Static<typeof NewTenant>

/** What a key may do. Each scope includes those before it; `operator` is the platform's own and goes alone. */
const SCOPES = ['read', 'write', 'admin', 'operator'] as const
export type Scope = (typeof SCOPES)[number]

const ScopeSchema = Type.Unsafe<Scope>({ type: 'string', enum: [...SCOPES], description: 'What the key may do' })

/** Whether a key with these scopes may do what needs this one. */
export const allows = (scopes: readonly Scope[], needed: Scope): boolean =>
  scopes.some((scope) => SCOPES.indexOf(scope) >= SCOPES.indexOf(needed))

const KeyName = Type.String({ minLength: 1, maxLength: 100, description: 'What the key is for, 1 to 100 characters' })

export const NewKey = strictObject({
  name: KeyName,
  scopes: Type.Array(ScopeSchema, { minItems: 1, uniqueItems: true, description: 'What the key may do' }),
  expiresAt: optional(Instant('When it stops working; without one, when it is revoked')),
})
export type NewKey = Static<typeof NewKey>

export const ApiKey = strictObject({
  id: Type.String({ description: 'Key id; the middle part of the key itself' }),
  name: Type.String({ description: 'What the key is for' }),
  scopes: Type.Array(ScopeSchema),
  createdAt: Instant('When it was made'),
  expiresAt: nullable(Instant('When it stops working')),
  revokedAt: nullable(Instant('When it was revoked')),
  lastUsedAt: nullable(Instant('When it was last used, to the minute')),
})
export type ApiKey = Static<typeof ApiKey>

/** A new key, or a new tenant with its first key. */
export const WithSecret = strictObject({
  id: Type.String({ description: 'Id of what was made' }),
  key: Type.String({ description: 'The API key; shown this once' }),
})
export type WithSecret = Static<typeof WithSecret>
