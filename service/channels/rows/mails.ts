/** Mails that carry notifications, and the work list of tenants with mail to send. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { MailKind, MailStatus } from '../../../domain/channels/mail.ts'
import type { LogLevel } from '../../../domain/codes.ts'
import { mailDue } from '../../../store/notifications.ts'
import { mine, type PlatformTx, type TenantTx } from '../../../store/tenancy.ts'
import { insertBody, type MailBody } from './bodies.ts'
import { renewDeliveries } from './deliveries.ts'

/**
 * Locks the tenant's row of the work list, to let one worker at a time put notifications into mails.
 *
 * @param patience `skip locked`, or empty to wait for the lock
 * @returns false if there is no work or another transaction has it locked
 */
export async function lockMailWork(tx: TenantTx, patience = sql`skip locked`): Promise<boolean> {
  const { rows } = await sql`
    select 1 from mail_work where tenant_id = ${mine} for update ${patience}`.execute(tx.q)
  return rows.length > 0
}

/**
 * Makes a mail of these notifications. They and its Message-ID are then fixed.
 *
 * @returns its Message-ID
 */
export async function insertMail(
  tx: TenantTx,
  mail: { readonly recipient: string; readonly addressId?: number | null; readonly kind: MailKind },
  notificationIds: readonly number[],
): Promise<string> {
  const id = newMessageId()
  await sql`
    insert into deliveries (mail_id, recipient, address_id, kind, next_attempt_at, created_at)
    values (${id}, ${mail.recipient}, ${mail.addressId ?? null}, ${mail.kind}, ${tx.now}, ${tx.now})`.execute(tx.q)
  await sql`
    update notifications set mail_id = ${id}
     where id = any(${[...notificationIds]}::bigint[])`.execute(tx.q)
  return id
}

/** Copies a mail to another address, under a new Message-ID. */
export async function insertCopy(
  tx: TenantTx,
  mailId: string,
  address: { readonly id: number; readonly email: string },
  body: MailBody,
): Promise<void> {
  const id = newMessageId()
  await sql`
    insert into deliveries (mail_id, recipient, address_id, copy_of, kind, next_attempt_at, created_at)
    values (${id}, ${address.email}, ${address.id}, ${mailId}, 'copy', ${tx.now}, ${tx.now})`.execute(tx.q)
  await insertBody(tx, id, body)
}

const newMessageId = (): string => `<${randomUUID()}@simherd>`

/** Mails composed of causes since an instant, the newest first, with their instants in epoch milliseconds. */
export async function mailsSince(tx: TenantTx, since: Date): Promise<{ kind: MailKind; at: number }[]> {
  const { rows } = await sql<{ kind: MailKind; at: Date }>`
    select kind, created_at as at from deliveries
     where tenant_id = ${mine} and mail_id is not null and created_at > ${since} and kind in ('cause', 'joined', 'digest')
     order by created_at desc limit ${MOST_COUNTED}`.execute(tx.q)
  return rows.map(({ kind, at }) => ({ kind, at: at.getTime() }))
}
/** More than are ever composed of causes in an hour. */
const MOST_COUNTED = 100

/** Delays all waiting mails of the tenant: none can be sent before. */
export async function putOffMails(tx: TenantTx, until: Date): Promise<void> {
  await sql`
    update deliveries set next_attempt_at = ${until}
     where tenant_id = ${mine} and mail_id is not null and status = 'pending' and next_attempt_at < ${until}`.execute(
    tx.q,
  )
}

/**
 * Retries abandoned mails under the same Message-IDs: no server has taken them.
 *
 * @param which one mail by its Message-ID; or all since an instant that failed by a refused address
 * @returns how many
 */
export async function tryAgain(
  tx: TenantTx,
  which: { readonly id: string } | { readonly refusedSince: Date },
): Promise<number> {
  const those =
    'id' in which ? sql`mail_id = ${which.id}` : sql`mail_id is not null and refused_at >= ${which.refusedSince}`
  const count = await renewDeliveries(tx, sql`status = 'failed' and ${those}`)
  if (count > 0) tx.atEnd(() => mailDue(tx, tx.now))
  return count
}

/**
 * Makes a mail that sends another again, to the tenant's present billing address.
 *
 * @returns its Message-ID
 */
export async function insertResent(tx: TenantTx, id: string): Promise<string> {
  const newId = newMessageId()
  await sql`
    insert into deliveries (mail_id, recipient, kind, resends, subject, next_attempt_at, created_at)
    select ${newId}, recipient, 'resent', mail_id, subject, ${tx.now}::timestamptz, ${tx.now}
      from deliveries where mail_id = ${id}`.execute(tx.q)
  tx.atEnd(() => mailDue(tx, tx.now))
  return newId
}

export async function mailStatus(tx: TenantTx, id: string): Promise<MailStatus | undefined> {
  const { rows } = await sql<{ status: MailStatus }>`
    select status from deliveries where mail_id = ${id}`.execute(tx.q)
  return rows[0]?.status
}

/**
 * Sets when a tenant's mail work is next due. Takes the tenant off the list if nothing waits.
 *
 * A transaction that writes a notification has the tenant's row locked until it commits. The row is therefore locked
 * first, in a separate statement. The next statement then sees all earlier commits, and later transactions find the row
 * as left by this one.
 */
export async function settleMailWork(tx: TenantTx): Promise<void> {
  if (!(await lockMailWork(tx, sql``))) return
  await sql`
    with next as (
      select min(at) as at
        from (select min(due_at) as at from notifications where tenant_id = ${mine} and mail_id is null
              union all
              select min(next_attempt_at) from deliveries
               where tenant_id = ${mine} and mail_id is not null and status = 'pending') waiting
    ), gone as (
      delete from mail_work using next where tenant_id = ${mine} and next.at is null
    )
    update mail_work set due_at = next.at from next where tenant_id = ${mine} and next.at is not null`.execute(tx.q)
}

/** Ids of tenants with due mail work, the longest overdue first. */
export async function tenantsWithMail(tx: PlatformTx, limit: number): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select tenant_id as "tenantId" from mail_work where due_at <= ${tx.now} order by due_at limit ${limit}`.execute(
    tx.q,
  )
  return rows.map((row) => row.tenantId)
}

/** How long a notice waited from its decision to now. */
export interface NoticeWait {
  readonly level: LogLevel
  readonly seconds: number
}

/** How long the notices of a mail have waited. */
export async function noticeWaits(tx: TenantTx, mailId: string): Promise<NoticeWait[]> {
  const { rows } = await sql<NoticeWait>`
    select level, greatest(0, extract(epoch from ${tx.now}::timestamptz - created_at))::double precision as seconds
      from notifications where tenant_id = ${mine} and mail_id = ${mailId}`.execute(tx.q)
  return rows
}
