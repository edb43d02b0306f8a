import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { hashSecret } from './create-key.ts'
import { sessionId } from './open-session.ts'
import { deleteSession } from './rows/sessions.ts'

/** Ends the session of a token. Does nothing if it has ended. @param tenantId of its key */
export async function endSession(tx: PlatformTx, token: string, tenantId: string | null): Promise<void> {
  const tokenHash = hashSecret(token)
  const keyId = await deleteSession(tx, tokenHash, { isLink: false })
  if (keyId === undefined) return
  await noteChange(tx, { subject: 'session', id: sessionId(tokenHash), tenantId, before: { keyId }, after: null })
}
