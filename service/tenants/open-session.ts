import { randomBytes } from 'node:crypto'
import { quote } from '../../domain/quote.ts'
import { sessionEnd } from '../../domain/tenants/session.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { hashSecret } from './create-key.ts'
import type { StoredKey } from './rows/keys.ts'
import { deleteExpiredSessions, insertSession } from './rows/sessions.ts'

/** Bytes of a browser's name for itself. Most have 100 to 200. */
const MOST_USER_AGENT = 300

/** Public name of a session: the beginning of its hash. It opens nothing. */
export const sessionId = (tokenHash: Buffer): string => tokenHash.toString('hex').slice(0, 12)

/**
 * Opens a session for a checked key. Sessions that have expired are deleted here: there are few, and no sweep is needed.
 *
 * @returns its token of 43 characters. It is not stored.
 */
export async function openSession(
  tx: PlatformTx,
  { id: keyId, tenantId }: Pick<StoredKey, 'id' | 'tenantId'>,
  givenUserAgent: string,
): Promise<string> {
  await deleteExpiredSessions(tx)
  const token = randomBytes(32).toString('base64url')
  const tokenHash = hashSecret(token)
  const userAgent = quote(givenUserAgent, MOST_USER_AGENT)
  await insertSession(tx, { tokenHash, keyId, expiresAt: sessionEnd(tx.now, tx.now), userAgent })
  await noteChange(tx, {
    subject: 'session',
    id: sessionId(tokenHash),
    tenantId,
    before: null,
    after: { keyId, userAgent },
  })
  return token
}
