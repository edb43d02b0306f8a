import { ServiceError } from '../../domain/errors.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { lockKey, markRevoked } from '../../store/tenants/keys.ts'

/**
 * Revokes a key: no request is taken with it any more. One that is revoked already keeps its first instant.
 *
 * @param tenantId whose key it is; null: the platform's
 * @throws ServiceError key_not_found
 */
export async function revokeKey(tx: PlatformTx, tenantId: string | null, id: string): Promise<{ id: string }> {
  const key = await lockKey(tx, tenantId, id)
  if (key === undefined) throw new ServiceError('key_not_found', `There is no API key ${id}.`)
  if (key.revokedAt !== null) return { id }
  await markRevoked(tx, id)
  await noteChange(tx, { subject: 'key', id, tenantId, before: { revokedAt: null }, after: { revokedAt: tx.now } })
  return { id }
}
