/** Sessions of the console, by the SHA-256 of their token. The table belongs to the platform, as the keys do. */
import { type RawBuilder, sql } from 'kysely'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import type { Session, SessionEntry, SessionQuery } from '../../../domain/tenants/session.ts'
import { kept } from '../../../store/kept.ts'
import { readPage } from '../../../store/paging.ts'
import type { PlatformTx } from '../../../store/tenancy.ts'

/** Public id of a session or a link: the beginning of its hash. It opens nothing. */
export const sessionId = (tokenHash: Buffer): string => tokenHash.toString('hex').slice(0, 12)

export interface NewSession {
  readonly tokenHash: Buffer
  readonly keyId: string
  readonly expiresAt: Date
  readonly userAgent: string
  /** The token signs in once, and opens nothing before. */
  readonly isLink: boolean
}

export async function insertSession(tx: PlatformTx, session: NewSession): Promise<void> {
  await sql`
    insert into sessions (token_hash, key_id, created_at, seen_at, expires_at, user_agent, is_link)
    values (${session.tokenHash}, ${session.keyId}, ${tx.now}, ${tx.now}, ${session.expiresAt},
            ${session.userAgent}, ${session.isLink})`.execute(tx.q)
}

interface StoredSession extends Session {
  readonly createdAt: Date
  readonly seenAt: Date
}

/** Kind of a token: of a session, or of a link. */
export interface TokenKind {
  readonly isLink: boolean
}

/** Whether the key `k` works: it is neither revoked nor expired, and its contact still gets mails of the tenant. */
export const keyWorks = (now: Date): RawBuilder<unknown> => sql`
  (k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})
   and (k.contact is null
        or exists (select from tenants b where b.id = k.tenant_id and lower(b.billing_email) = lower(k.contact))
        or exists (select from addresses a where a.tenant_id = k.tenant_id and lower(a.email) = lower(k.contact))))`

/** Reads a session or a link; undefined if it or its key has expired, or the key was revoked. */
export async function findSession(
  tx: PlatformTx,
  tokenHash: Buffer,
  { isLink }: TokenKind,
): Promise<StoredSession | undefined> {
  const { rows } = await sql<Omit<StoredSession, 'id'>>`
    ${kept}select k.id as "keyId", k.name as "keyName", k.tenant_id as "tenantId", k.scopes, k.contact,
           s.created_at as "createdAt", s.seen_at as "seenAt"
      from sessions s
      join api_keys k on k.id = s.key_id
     where s.token_hash = ${tokenHash} and s.is_link = ${isLink} and s.expires_at > ${tx.now}
       and ${keyWorks(tx.now)}`.execute(tx.q)
  return rows[0] && { id: sessionId(tokenHash), ...rows[0] }
}

interface SessionRow extends Omit<SessionEntry, 'id' | 'isOwn' | 'createdAt' | 'seenAt' | 'endsAt'> {
  readonly tokenHash: Buffer
  readonly createdAt: Date
  readonly seenAt: Date
  readonly endsAt: Date
}

/**
 * A page of the sessions that go on, the last used first.
 *
 * @param tenantId of their keys; null: the platform
 * @param ownId of the session that asks; null: none does
 */
export async function pageOfSessions(
  tx: PlatformTx,
  tenantId: string | null,
  { keyId, ...query }: SessionQuery,
  ownId: string | null,
): Promise<Page<SessionEntry>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<SessionRow>(
    tx,
    {
      columns: sql`s.token_hash as "tokenHash", k.id as "keyId", k.name as "keyName", k.contact,
                   s.user_agent as "userAgent", s.created_at as "createdAt", s.seen_at as "seenAt",
                   s.expires_at as "endsAt"`,
      from: sql`
        from sessions s
        join api_keys k on k.id = s.key_id
       where k.tenant_id is not distinct from ${tenantId} ${keyId === undefined ? sql`` : sql`and k.id = ${keyId}`}
         and not s.is_link and s.expires_at > ${tx.now} and ${keyWorks(tx.now)}`,
      orderBy: sql`"seenAt" desc, "tokenHash"`,
    },
    page,
  )
  const entries = rows.map(({ tokenHash, createdAt, seenAt, endsAt, ...row }): SessionEntry => {
    const id = sessionId(tokenHash)
    const times = { createdAt: createdAt.toISOString(), seenAt: seenAt.toISOString(), endsAt: endsAt.toISOString() }
    return { id, ...row, ...times, isOwn: id === ownId }
  })
  return toPage(page, totalItems, entries)
}

/** Records that a session is used now. */
export async function touchSession(tx: PlatformTx, tokenHash: Buffer, expiresAt: Date): Promise<void> {
  await sql`
    update sessions set seen_at = ${tx.now}, expires_at = ${expiresAt} where token_hash = ${tokenHash}`.execute(tx.q)
}

/** @returns the key of the deleted session or link; undefined if there was none */
export async function deleteSession(
  tx: PlatformTx,
  tokenHash: Buffer,
  { isLink }: TokenKind,
): Promise<string | undefined> {
  const { rows } = await sql<{ keyId: string }>`
    delete from sessions where token_hash = ${tokenHash} and is_link = ${isLink} returning key_id as "keyId"`.execute(
    tx.q,
  )
  return rows[0]?.keyId
}

/** @param tenantId of its key; null: the platform @returns the key of the deleted session; undefined if there was none */
export async function deleteSessionById(
  tx: PlatformTx,
  tenantId: string | null,
  id: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ keyId: string }>`
    delete from sessions s using api_keys k
     where k.id = s.key_id and k.tenant_id is not distinct from ${tenantId}
       and not s.is_link and left(encode(s.token_hash, 'hex'), 12) = ${id}
    returning s.key_id as "keyId"`.execute(tx.q)
  return rows[0]?.keyId
}

/** Deletes the sessions of a key, and links that were not used. @returns their ids */
export async function deleteSessionsOf(tx: PlatformTx, keyId: string): Promise<string[]> {
  const { rows } = await sql<{ tokenHash: Buffer }>`
    delete from sessions where key_id = ${keyId} returning token_hash as "tokenHash"`.execute(tx.q)
  return rows.map(({ tokenHash }) => sessionId(tokenHash))
}

/** Deletes expired sessions, those aside that another transaction deletes now. */
export async function deleteExpiredSessions(tx: PlatformTx): Promise<void> {
  await sql`
    delete from sessions
     where token_hash in (select token_hash from sessions where expires_at <= ${tx.now} for update skip locked)`.execute(
    tx.q,
  )
}
