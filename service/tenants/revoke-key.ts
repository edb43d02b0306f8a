import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { lockKey, markRevoked } from './rows/keys.ts'

/**
 * Revokes a key: requests with it are refused from now on. A key revoked before keeps its first instant.
 *
 * @param tenantId the owner of the key; null for the platform
 * @throws ServiceError `key_not_found`
 */
export async function revokeKey(tx: PlatformTx, tenantId: string | null, id: string): Promise<{ id: string }> {
  const key = await lockKey(tx, tenantId, id)
  if (key.revokedAt !== null) return { id }
  await markRevoked(tx, id)
  await noteChange(tx, { subject: 'key', id, tenantId, before: { revokedAt: null }, after: { revokedAt: tx.now } })
  return { id }
}
