/** Sessions of the console: a browser that is signed in acts with the rights of an API key. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import { Email, Instant, nullable, strictObject, Text } from '../schema.ts'
import { allows, type Scope } from './tenant.ts'

export interface Session {
  /** Public: the beginning of the hash of its token. It opens nothing. */
  readonly id: string
  /** The key that signed in. */
  readonly keyId: string
  readonly keyName: string
  /** The tenant of the key. Null for an operator key. */
  readonly tenantId: string | null
  readonly scopes: readonly Scope[]
  /** E-mail address of the person, signed in by mail, whom the key stands for. Null: signed in by the key. */
  readonly contact: string | null
}

/** Kinds of callers. A contact has the scope `billing` alone: costs, statements, alerts and mails. */
export type Caller = 'operator' | 'key' | 'contact'

export const callerIn = ({ tenantId, scopes }: Pick<Session, 'tenantId' | 'scopes'>): Caller =>
  tenantId === null ? 'operator' : allows(scopes, 'read') ? 'key' : 'contact'

/** A session of a key ends so long after its last use, in milliseconds. A night and the day before it. */
const IDLE_MS = 12 * 3_600_000
/** The same of a contact, who looks once a month. */
const CONTACT_IDLE_MS = 30 * 86_400_000
/** Longest session, in milliseconds. */
export const LONGEST_SESSION_MS = 90 * 86_400_000
/** The last use of a session is written at most so often, in milliseconds. */
const SEEN_EVERY_MS = 60_000

/** The end of a session that is used now. @param contact null: of a key */
export const sessionEnd = (createdAt: Date, now: Date, contact: string | null): Date => {
  const idleMs = contact === null ? IDLE_MS : CONTACT_IDLE_MS
  return new Date(Math.min(now.getTime() + idleMs, createdAt.getTime() + LONGEST_SESSION_MS))
}

/** Whether the last use of a session is to be written again. */
export const isSeenLongAgo = (seenAt: Date, now: Date): boolean => now.getTime() - seenAt.getTime() >= SEEN_EVERY_MS

/** A link signs in until then, once, in milliseconds. */
export const LINK_MS = 15 * 60_000

export const SignInLink = strictObject({
  path: Text('Path of the console that signs in, once', '/sign-in/3yG0bYy4dWcPzq1aXv7u2KcQkT8mL5nR9sEwJfHdZxA'),
  expiresAt: Instant('Until when, if it is not used'),
})
export type SignInLink = Static<typeof SignInLink>

export const SessionId = Text('Public id of the session: it opens nothing', '0f1e2d3c4b5a')

/** A session that goes on. */
export const SessionEntry = strictObject({
  id: SessionId,
  keyId: Text('Id of the key that signed in, or that stands for the contact', '6a34354728b4'),
  keyName: Text('Purpose of that key', 'Night shift'),
  contact: nullable(Email('Address of the person who signed in by mail; null: signed in by the key')),
  userAgent: Text(
    'The browser’s name for itself, cut to 300 bytes',
    'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0',
  ),
  createdAt: Instant('Time of signing in'),
  seenAt: Instant('Time of the last use, to the minute'),
  endsAt: Instant('When it ends, if it is not used'),
  isOwn: Type.Boolean({ description: 'Whether this session of the console asks; false for a request with a key' }),
})
export type SessionEntry = Static<typeof SessionEntry>

export const SessionQuery = Type.Object({
  keyId: Type.Optional(Text('Only sessions of this key', '6a34354728b4')),
  ...pageQuery,
})
export type SessionQuery = Static<typeof SessionQuery>
