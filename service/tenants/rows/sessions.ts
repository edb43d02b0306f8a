/** Sessions of the console, by the SHA-256 of their token. The table belongs to the platform, as the keys do. */
import { type RawBuilder, sql } from 'kysely'
import type { Session } from '../../../domain/tenants/session.ts'
import type { PlatformTx } from '../../../store/tenancy.ts'

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
  const { rows } = await sql<StoredSession>`
    select k.id as "keyId", k.name as "keyName", k.tenant_id as "tenantId", k.scopes, k.contact,
           s.created_at as "createdAt", s.seen_at as "seenAt"
      from sessions s
      join api_keys k on k.id = s.key_id
     where s.token_hash = ${tokenHash} and s.is_link = ${isLink} and s.expires_at > ${tx.now}
       and ${keyWorks(tx.now)}`.execute(tx.q)
  return rows[0]
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

/** Deletes expired sessions, those aside that another transaction deletes now. */
export async function deleteExpiredSessions(tx: PlatformTx): Promise<void> {
  await sql`
    delete from sessions
     where token_hash in (select token_hash from sessions where expires_at <= ${tx.now} for update skip locked)`.execute(
    tx.q,
  )
}
