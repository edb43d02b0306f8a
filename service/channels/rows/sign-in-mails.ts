/** Mails that sign in a contact. The table belongs to the platform, as the sessions do. */
import { sql } from 'kysely'
import type { NextStep, PastAttempts } from '../../../domain/channels/retry.ts'
import { LINK_MS } from '../../../domain/tenants/session.ts'
import type { PlatformTx } from '../../../store/tenancy.ts'
import { keyWorks } from '../../tenants/rows/sessions.ts'
import { attempted } from './attempted.ts'

/** Tenants that mail an address, of its billing or a copy or an escalation, by id. */
export async function tenantsOfContact(tx: PlatformTx, email: string, limit: number): Promise<Contact[]> {
  const { rows } = await sql<Contact>`
    select distinct on (c.tenant_id) c.tenant_id as "tenantId", c.email
      from (select id as tenant_id, billing_email as email from tenants where lower(billing_email) = lower(${email})
            union all
            select tenant_id, email from addresses where lower(email) = lower(${email})) c
     order by c.tenant_id limit ${limit}`.execute(tx.q)
  return rows
}

export interface Contact {
  readonly tenantId: string
  /** As the tenant has written it. */
  readonly email: string
}

interface NewSignInMail {
  readonly keyId: string
  readonly browserHash: Buffer
  /** Address of the console, without a trailing slash. */
  readonly consoleUrl: string
  readonly next: string
}

export async function insertSignInMail(tx: PlatformTx, mail: NewSignInMail): Promise<void> {
  await sql`
    insert into sign_in_mails (key_id, browser_hash, console_url, next, created_at, next_attempt_at)
    values (${mail.keyId}, ${mail.browserHash}, ${mail.consoleUrl}, ${mail.next}, ${tx.now}, ${tx.now})`.execute(tx.q)
}

/** How many mails a contact was to get since an instant, and whether this browser asked for one since another. */
export async function countSignInMails(
  tx: PlatformTx,
  { keyId, browserHash }: Pick<NewSignInMail, 'keyId' | 'browserHash'>,
  { since, askedSince }: { readonly since: Date; readonly askedSince: Date },
): Promise<{ readonly count: number; readonly isAsked: boolean }> {
  const { rows } = await sql<{ count: number; isAsked: boolean }>`
    select count(*)::integer as count,
           count(*) filter (where browser_hash = ${browserHash} and created_at > ${askedSince} and used_at is null) > 0
             as "isAsked"
      from sign_in_mails where key_id = ${keyId} and created_at > ${since}`.execute(tx.q)
  return rows[0] ?? { count: 0, isAsked: false }
}

export interface OpenSignIn {
  readonly id: number
  readonly keyId: string
  readonly tenantId: string
  readonly tenantName: string
  /** E-mail address. */
  readonly contact: string
  readonly browserHash: Buffer
  readonly next: string
  readonly wrongCodes: number
}

const columns = sql`
  m.id, m.key_id as "keyId", k.tenant_id as "tenantId", t.name as "tenantName", k.contact,
  m.browser_hash as "browserHash", m.next, m.wrong_codes as "wrongCodes"`

/** Neither used nor too old, of a contact who still is one. */
const open = (tx: PlatformTx) => sql`
      from sign_in_mails m
      join api_keys k on k.id = m.key_id
      join tenants t on t.id = k.tenant_id
     where m.used_at is null and m.created_at > ${new Date(tx.now.getTime() - LINK_MS)} and ${keyWorks(tx.now)}`

/** Reads an open mail; undefined if it was used or has expired, or its contact has ended. */
export async function findSignIn(tx: PlatformTx, id: number): Promise<OpenSignIn | undefined> {
  const { rows } = await sql<OpenSignIn>`select ${columns} ${open(tx)} and m.id = ${id}`.execute(tx.q)
  return rows[0]
}

/** Locks and reads the open mails to an address with codes that still may be tried. */
export async function lockSignInsTo(tx: PlatformTx, email: string, mostWrong: number): Promise<OpenSignIn[]> {
  const { rows } = await sql<OpenSignIn>`
    select ${columns} ${open(tx)} and lower(k.contact) = lower(${email}) and m.wrong_codes < ${mostWrong}
     order by m.id for update of m`.execute(tx.q)
  return rows
}

/** Uses an open mail. @returns undefined if it was used or has expired, or its contact has ended */
export async function useSignIn(tx: PlatformTx, id: number): Promise<OpenSignIn | undefined> {
  const { rows } = await sql<OpenSignIn>`
    with found as (select ${columns} ${open(tx)} and m.id = ${id} for update of m)
    update sign_in_mails m set used_at = ${tx.now} from found where m.id = found.id returning found.*`.execute(tx.q)
  return rows[0]
}

export async function noteWrongCode(tx: PlatformTx, ids: readonly number[]): Promise<void> {
  await sql`
    update sign_in_mails set wrong_codes = wrong_codes + 1 where id = any(${[...ids]}::bigint[])`.execute(tx.q)
}

export interface ClaimedSignIn extends PastAttempts, Pick<OpenSignIn, 'id' | 'tenantName' | 'contact'> {
  readonly timeZone: string
  readonly consoleUrl: string
  readonly createdAt: Date
}

/** Claims due mails that can still be used, under a lease, and counts the attempt. */
export async function claimSignIns(tx: PlatformTx, leaseUntil: Date, limit: number): Promise<ClaimedSignIn[]> {
  const { rows } = await sql<ClaimedSignIn>`
    with due as (
      select m.id, t.name, t.time_zone, k.contact ${open(tx)} and m.status = 'pending' and m.next_attempt_at <= ${tx.now}
       order by m.next_attempt_at limit ${limit} for update of m skip locked
    )
    update sign_in_mails m set next_attempt_at = ${leaseUntil}, attempts = attempts + 1
      from due where m.id = due.id
    returning m.id, due.name as "tenantName", due.time_zone as "timeZone", due.contact, m.console_url as "consoleUrl", m.created_at as "createdAt",
              m.attempts, m.tried_since as "triedSince", m.refused_at as "refusedAt"`.execute(tx.q)
  return rows
}

export async function noteSignInDelivery(
  tx: PlatformTx,
  id: number,
  delivery: NextStep & { readonly response: string },
): Promise<void> {
  await sql`update sign_in_mails set ${attempted(delivery)} where id = ${id}`.execute(tx.q)
}

/** Deletes mails from before an instant, those aside that another transaction deletes now. */
export async function forgetSignIns(tx: PlatformTx, before: Date): Promise<void> {
  await sql`
    delete from sign_in_mails
     where id in (select id from sign_in_mails where created_at < ${before} for update skip locked)`.execute(tx.q)
}
