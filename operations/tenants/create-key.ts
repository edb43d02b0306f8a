/** API keys: `sim_<id>_<secret>`. The id finds the row; of the secret only the SHA-256 is kept. */
import { createHash, randomBytes } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import { allows, levelsOf, type NewKey, type Scope, type WithSecret } from '../../domain/tenants/tenant.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { insertKey } from '../../store/tenants/keys.ts'

/** A plain hash is enough: the secret is 256 random bits, so there is nothing to guess. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

const FORMAT = /^sim_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/

/** The parts of a key; undefined where it has not the form of one. */
export function parseKey(key: string): { id: string; secret: string } | undefined {
  const found = FORMAT.exec(key)
  const [, id, secret] = found ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

/**
 * Makes a key; the answer is the only place its secret is ever seen.
 *
 * @param tenantId the tenant it acts for; null makes an operator key, the platform's own
 * @throws ServiceError invalid_request where scopes and tenant do not go together, or the expiry has passed
 */
export async function createKey(tx: PlatformTx, tenantId: string | null, key: NewKey): Promise<WithSecret> {
  const scopes = scopesFor(tenantId, key)
  const expiresAt = key.expiresAt == null ? null : new Date(key.expiresAt)
  if (expiresAt !== null && expiresAt <= tx.now) throw wrong('/expiresAt', 'must lie in the future')
  return issueKey(tx, tenantId, { name: key.name, scopes, expiresAt })
}

/**
 * The scopes of a new key. Who writes sees the codes of eSIMs, unless it is said otherwise. An operator key does only
 * where it is said: the workers have one, and each step of a workflow would be a disclosure.
 */
function scopesFor(tenantId: string | null, { scopes, esim }: NewKey): readonly Scope[] {
  const levels = levelsOf(scopes)
  const fitting = tenantId === null ? levels.join() === 'operator' : levels.length > 0 && !levels.includes('operator')
  if (!fitting) {
    throw wrong(
      '/scopes',
      'an operator key has the scope operator and no tenant; a tenant key has one of read, write, admin; esim goes with either',
    )
  }
  const given = scopes.includes('esim')
  if (given && esim === false) throw wrong('/esim', 'is false, and scopes has esim: give one of the two')
  const sees = esim ?? (given || (tenantId !== null && allows(scopes, 'write')))
  return sees ? [...levels, 'esim'] : levels
}

/** What a key is made of, but its secret. */
export interface KeyOptions {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | null
}

/** Makes a key of terms that were checked. @param rotatedFrom the key whose place it takes */
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
