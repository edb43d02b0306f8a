import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import { quote } from '../../domain/quote.ts'
import { LINK_MS, type SignInLink, sessionEnd } from '../../domain/tenants/session.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { hashSecret } from './create-key.ts'
import type { StoredKey } from './rows/keys.ts'
import { deleteExpiredSessions, deleteSession, insertSession, type NewSession, sessionId } from './rows/sessions.ts'

/** Bytes of a browser's name for itself. Most have 100 to 200. */
const MOST_USER_AGENT = 300

interface KeyOfSession extends Pick<StoredKey, 'id' | 'tenantId'> {
  /** Address of the contact that it stands for. Default: null, it stands for no person. */
  readonly contact?: string | null
}

interface Opening {
  readonly userAgent: string
  /** The link used. Then it no longer works. */
  readonly link?: string
}

/**
 * Opens a session for a checked key, by a link if one is given.
 *
 * @returns its token: 43 characters, not stored
 * @throws ServiceError `unauthorized` if the link was used meanwhile
 */
export async function openSession(
  tx: PlatformTx,
  { id: keyId, tenantId, contact = null }: KeyOfSession,
  { userAgent: given, link }: Opening,
): Promise<string> {
  const linkHash = link === undefined ? undefined : hashSecret(link)
  if (linkHash !== undefined && (await deleteSession(tx, linkHash, { isLink: true })) === undefined) throw usedUp()
  const userAgent = quote(given, MOST_USER_AGENT)
  const expiresAt = sessionEnd(tx.now, tx.now, contact)
  const { token, id } = await addSession(tx, { keyId, userAgent, expiresAt, isLink: false })
  const after = { keyId, userAgent, ...(linkHash !== undefined && { link: sessionId(linkHash) }) }
  await noteChange(tx, { subject: 'session', id, tenantId, before: null, after })
  return token
}

export const usedUp = (): ServiceError =>
  new ServiceError('unauthorized', 'This link was used, or is older than 15 minutes, or is not whole.')

/** Makes a link that opens a session for a checked key, once. */
export async function makeSignInLink(tx: PlatformTx, { id: keyId, tenantId }: KeyOfSession): Promise<SignInLink> {
  const expiresAt = new Date(tx.now.getTime() + LINK_MS)
  const { token, id } = await addSession(tx, { keyId, userAgent: '', expiresAt, isLink: true })
  await noteChange(tx, { subject: 'session', id, tenantId, before: null, after: { keyId, linkUntil: expiresAt } })
  return { path: `/sign-in/${token}`, expiresAt: expiresAt.toISOString() }
}

/** Expired ones are deleted here: there are few, and no sweep is needed. */
async function addSession(
  tx: PlatformTx,
  session: Omit<NewSession, 'tokenHash'>,
): Promise<{ readonly token: string; readonly id: string }> {
  await deleteExpiredSessions(tx)
  const token = randomBytes(32).toString('base64url')
  const tokenHash = hashSecret(token)
  await insertSession(tx, { ...session, tokenHash })
  return { token, id: sessionId(tokenHash) }
}
