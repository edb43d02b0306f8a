/** API keys: `sim_<id>_<secret>`. The id finds the row. Only the SHA-256 of the secret is stored. */
import { createHash, randomBytes } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import { allows, levelsOf, type NewKey, type Scope, type WithSecret } from '../../domain/tenants/tenant.ts'
import { controlFault } from '../../domain/text.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { insertKey } from './rows/keys.ts'

/** SHA-256 of a secret. A plain hash is enough: the secret is 256 random bits, impossible to guess. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

const FORMAT = /^sim_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/

/** The parts of a key; undefined if the text does not have the form of a key. */
export function parseKey(key: string): { id: string; secret: string } | undefined {
  const found = FORMAT.exec(key)
  const [, id, secret] = found ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

/**
 * Creates a key. Its secret is shown only in the response.
 *
 * @param tenantId the tenant that the key acts for; null for an operator key, which belongs to the platform
 * @throws ServiceError `invalid_request` if scopes and tenant do not go together, if `esim` contradicts the scopes, if
 *   the name has control characters, or if the expiry has passed
 */
export async function createKey(tx: PlatformTx, tenantId: string | null, key: NewKey): Promise<WithSecret> {
  const fault = controlFault(key.name)
  if (fault !== undefined) throw wrong('/name', fault)
  const scopes = scopesFor(tenantId, key)
  const expiresAt = key.expiresAt == null ? null : new Date(key.expiresAt)
  if (expiresAt !== null && expiresAt <= tx.now) throw wrong('/expiresAt', 'must lie in the future')
  return issueKey(tx, tenantId, { name: key.name, scopes, expiresAt })
}

/**
 * The scopes of a new key. A tenant's key that may write also sees the codes of eSIMs, unless `esim` is false.
 *
 * An operator key sees them only on request. The workers have one, and each step of a workflow would disclose codes.
 *
 * @throws ServiceError `invalid_request`
 */
function scopesFor(tenantId: string | null, { scopes, esim }: NewKey): readonly Scope[] {
  const levels = levelsOf(scopes)
  const bills = scopes.includes('billing')
  const fitting =
    tenantId === null
      ? levels.join() === 'operator' && !bills
      : (levels.length > 0 || bills) && !levels.includes('operator')
  if (!fitting) {
    throw wrong(
      '/scopes',
      'an operator key has the scope operator and no tenant; a tenant key has one of read, write, admin, billing; esim goes with either',
    )
  }
  const given = scopes.includes('esim')
  if (given && esim === false) throw wrong('/esim', 'is false, and scopes has esim: give one of the two')
  const sees = esim ?? (given || (tenantId !== null && allows(scopes, 'write')))
  return [...levels, ...(bills ? (['billing'] as const) : []), ...(sees ? (['esim'] as const) : [])]
}

/** The parts of a key, except for its secret. */
export interface KeyOptions {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | null
}

/** Creates a key from checked options. @param rotatedFrom id of the key that it replaces */
export async function issueKey(
  tx: PlatformTx,
  tenantId: string | null,
  { name, scopes, expiresAt }: KeyOptions,
  rotatedFrom?: string,
): Promise<WithSecret> {
  const id = randomBytes(6).toString('hex')
  const secret = randomBytes(32).toString('base64url')
  await insertKey(tx, { id, tenantId, name, scopes, secretHash: hashSecret(secret), expiresAt })
  const after = { name, scopes, expiresAt, ...(rotatedFrom === undefined ? {} : { rotatedFrom }) }
  await noteChange(tx, { subject: 'key', id, tenantId, before: null, after })
  return { id, key: `sim_${id}_${secret}` }
}

const wrong = (pointer: string, detail: string) =>
  new ServiceError('invalid_request', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
