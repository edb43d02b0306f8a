import { isSeenLongAgo, type Session, sessionEnd } from '../../domain/tenants/session.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { hashSecret } from './create-key.ts'
import { findSession, touchSession } from './rows/sessions.ts'

/** Finds the session of a token and prolongs it; undefined if it or its key has ended. */
export async function useSession(tx: PlatformTx, token: string): Promise<Session | undefined> {
  const tokenHash = hashSecret(token)
  const found = await findSession(tx, tokenHash)
  if (found === undefined) return undefined
  const { createdAt, seenAt, ...session } = found
  if (isSeenLongAgo(seenAt, tx.now)) await touchSession(tx, tokenHash, sessionEnd(createdAt, tx.now))
  return session
}
