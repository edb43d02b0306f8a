/**
 * API keys. The table belongs to the platform: a key names the tenant of a request, so it is read before the tenant is
 * known.
 */
import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../../../domain/errors.ts'
import type { ApiKey, Scope } from '../../../domain/tenants/tenant.ts'
import { kept } from '../../../store/kept.ts'
import type { PlatformTx } from '../../../store/tenancy.ts'

type KeyRow = Omit<ApiKey, 'prefix' | 'createdAt' | 'expiresAt' | 'revokedAt' | 'lastUsedAt'> & {
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
}

/** The part of a key that authentication checks. */
export interface StoredKey {
  readonly id: string
  /** Null: the platform's own. */
  readonly tenantId: string | null
  readonly scopes: readonly Scope[]
  /** SHA-256 of the secret. */
  readonly secretHash: Buffer
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
}

const ofTenant = (tenantId: string | null): RawBuilder<unknown> => sql`tenant_id is not distinct from ${tenantId}`

const toApiKey = ({ id, ...row }: KeyRow): ApiKey => ({
  id,
  prefix: `sim_${id}`,
  ...row,
  createdAt: row.createdAt.toISOString(),
  expiresAt: row.expiresAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
})

/** Reads a key by its id, even if it is revoked or expired; undefined if there is none. */
export async function findKey(tx: PlatformTx, id: string): Promise<StoredKey | undefined> {
  const { rows } = await sql<StoredKey>`${kept}
    select id, tenant_id as "tenantId", scopes, secret_hash as "secretHash", expires_at as "expiresAt",
           revoked_at as "revokedAt", last_used_at as "lastUsedAt"
      from api_keys where id = ${id}`.execute(tx.q)
  return rows[0]
}

/** Reads all valid keys, neither revoked nor expired: the SHA-256 of each secret, by key id. */
export async function workingKeys(tx: PlatformTx): Promise<ReadonlyMap<string, Buffer>> {
  const { rows } = await sql<Pick<StoredKey, 'id' | 'secretHash'>>`
    select id, secret_hash as "secretHash"
      from api_keys
     where revoked_at is null and (expires_at is null or expires_at > ${tx.now})`.execute(tx.q)
  return new Map(rows.map(({ id, secretHash }) => [id, secretHash]))
}

/** Keys of a tenant (null: the platform's), including revoked ones, oldest first. */
export async function listKeys(tx: PlatformTx, tenantId: string | null): Promise<ApiKey[]> {
  const { rows } = await sql<KeyRow>`
    select id, name, scopes, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
           last_used_at as "lastUsedAt", replaced_by as "replacedBy", contact
      from api_keys where ${ofTenant(tenantId)} order by created_at, id`.execute(tx.q)
  return rows.map(toApiKey)
}

export async function insertKey(
  tx: PlatformTx,
  key: Omit<StoredKey, 'revokedAt' | 'lastUsedAt'> & { readonly name: string },
): Promise<void> {
  await sql`
    insert into api_keys (id, tenant_id, name, scopes, secret_hash, created_at, expires_at)
    values (${key.id}, ${key.tenantId}, ${key.name}, ${[...key.scopes]}::text[], ${key.secretHash}, ${tx.now},
            ${key.expiresAt})`.execute(tx.q)
}

/**
 * Locks the key that stands for a contact of a tenant, and makes it before if there is none. Its secret is not known to anyone.
 *
 * @returns its id
 */
export async function lockContactKey(
  tx: PlatformTx,
  key: Pick<StoredKey, 'id' | 'secretHash' | 'scopes'> & { readonly tenantId: string; readonly contact: string },
): Promise<string> {
  await sql`
    insert into api_keys (id, tenant_id, name, scopes, secret_hash, created_at, contact)
    values (${key.id}, ${key.tenantId}, ${key.contact}, ${[...key.scopes]}::text[], ${key.secretHash}, ${tx.now},
            ${key.contact})
    on conflict (tenant_id, lower(contact)) where contact is not null and revoked_at is null and replaced_by is null
    do nothing`.execute(tx.q)
  const { rows } = await sql<{ id: string }>`
    select id from api_keys
     where tenant_id = ${key.tenantId} and lower(contact) = lower(${key.contact}) and contact is not null
       and revoked_at is null and replaced_by is null
       for update`.execute(tx.q)
  if (rows[0] === undefined)
    throw new Error(`the key of a contact of tenant ${key.tenantId} was revoked while it was read`)
  return rows[0].id
}

/** The part of a key that decides changes to it. */
export type HeldKey = Omit<KeyRow, 'createdAt' | 'lastUsedAt' | 'contact'>

/** Locks and reads a key of a tenant (null: of the platform). @throws ServiceError `key_not_found` */
export async function lockKey(tx: PlatformTx, tenantId: string | null, id: string): Promise<HeldKey> {
  const { rows } = await sql<HeldKey>`
    select id, name, scopes, expires_at as "expiresAt", revoked_at as "revokedAt", replaced_by as "replacedBy"
      from api_keys where id = ${id} and ${ofTenant(tenantId)} for update`.execute(tx.q)
  const [key] = rows
  if (key === undefined) throw new ServiceError('key_not_found', `There is no API key ${id}.`)
  return key
}

export async function markRevoked(tx: PlatformTx, id: string): Promise<void> {
  await sql`update api_keys set revoked_at = ${tx.now} where id = ${id}`.execute(tx.q)
}

/** Records that another key replaces this one. This one stays valid until `expiresAt`. */
export async function markReplaced(tx: PlatformTx, id: string, replacedBy: string, expiresAt: Date): Promise<void> {
  await sql`update api_keys set replaced_by = ${replacedBy}, expires_at = ${expiresAt} where id = ${id}`.execute(tx.q)
}

/** Records that a key is used now. */
export async function touchKey(tx: PlatformTx, id: string): Promise<void> {
  await sql`update api_keys set last_used_at = ${tx.now} where id = ${id}`.execute(tx.q)
}
