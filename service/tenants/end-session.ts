import { ServiceError } from '../../domain/errors.ts'
import { noteChange, noteGone } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { hashSecret } from './create-key.ts'
import { lockKey } from './rows/keys.ts'
import { deleteSession, deleteSessionById, deleteSessionsOf, sessionId } from './rows/sessions.ts'

/** Ends the session of a token. Does nothing if it has ended. @param tenantId of its key */
export async function endSession(tx: PlatformTx, token: string, tenantId: string | null): Promise<void> {
  const tokenHash = hashSecret(token)
  const keyId = await deleteSession(tx, tokenHash, { isLink: false })
  if (keyId === undefined) return
  await noteChange(tx, { subject: 'session', id: sessionId(tokenHash), tenantId, before: { keyId }, after: null })
}

/**
 * Ends the session with this public id.
 *
 * @param tenantId of its key; null: the platform
 * @throws ServiceError `session_not_found`, also if it has ended
 */
export async function endSessionById(tx: PlatformTx, tenantId: string | null, id: string): Promise<{ id: string }> {
  const keyId = await deleteSessionById(tx, tenantId, id)
  if (keyId === undefined) throw new ServiceError('session_not_found', `There is no session ${id}.`)
  await noteChange(tx, { subject: 'session', id, tenantId, before: { keyId }, after: null })
  return { id }
}

/**
 * Ends all sessions of a key, and its links that were not used. The key goes on.
 *
 * @param tenantId the owner of the key; null for the platform
 * @returns their number
 * @throws ServiceError `key_not_found`
 */
export async function endSessionsOf(
  tx: PlatformTx,
  tenantId: string | null,
  keyId: string,
): Promise<{ ended: number }> {
  await lockKey(tx, tenantId, keyId)
  const ids = await deleteSessionsOf(tx, keyId)
  const gone = ids.map((id) => ({ id, before: { keyId } }))
  await noteGone(tx, { subject: 'session', tenantId }, gone)
  return { ended: ids.length }
}
