import { isSeenLongAgo, type Session, sessionEnd } from '../../domain/tenants/session.ts'
import { inPlatform, type PlatformTx, readOnly, type Store } from '../../store/tenancy.ts'
import { hashSecret } from './create-key.ts'
import { usedUp } from './open-session.ts'
import { findSession, touchSession } from './rows/sessions.ts'

/**
 * Finds the session of a token; undefined if it or its key has ended.
 *
 * @param isUse whether it is prolonged; a page that keeps itself up to date does not
 */
export async function useSession(store: Store, token: string, isUse: boolean): Promise<Session | undefined> {
  const tokenHash = hashSecret(token)
  const found = await inPlatform(readOnly(store), (tx) => findSession(tx, tokenHash, { isLink: false }))
  if (found === undefined) return undefined
  const { createdAt, seenAt, ...session } = found
  const now = new Date(store.clock())
  if (isUse && isSeenLongAgo(seenAt, now))
    await inPlatform(store, (tx) => touchSession(tx, tokenHash, sessionEnd(createdAt, now, session.contact)))
  return session
}

/**
 * The session that a link would open. Does not use it.
 *
 * @throws ServiceError `unauthorized` if it was used or has expired, or its key has ended
 */
export async function readLink(tx: PlatformTx, link: string): Promise<Session> {
  const found = await findSession(tx, hashSecret(link), { isLink: true })
  if (found === undefined) throw usedUp()
  const { createdAt: _, seenAt: __, ...session } = found
  return session
}
