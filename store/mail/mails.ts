/** Notifications, the mails that carry them, and the work list of tenants with mail to send. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { LogLevel } from '../../domain/codes.ts'
import type { Notification } from '../../notify/notification.ts'
import type { PlatformTx, TenantTx } from '../tenancy.ts'

export interface NewNotification {
  /** Its key is the alert's key and the transition. A tenant gets at most one notification a key. */
  readonly body: Notification
  /** When it may be mailed; grouped notifications wait for others. */
  readonly dueAt: Date
}

/**
 * Writes notifications in the transaction of the facts that they report. A key that already exists is skipped.
 *
 * The tenant's row of the work list is written at the end of the transaction. All transactions that notify share that
 * row, so it is the last lock that any of them takes.
 */
export async function insertNotifications(tx: TenantTx, notifications: readonly NewNotification[]): Promise<void> {
  if (notifications.length === 0) return
  await sql`
    insert into notifications (dedupe_key, level, body, due_at, created_at)
    select body ->> 'key', (body ->> 'level')::smallint, body, "dueAt", ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(notifications)}::jsonb) as n(body jsonb, "dueAt" timestamptz)
     order by body ->> 'key'
    on conflict (tenant_id, dedupe_key) do nothing`.execute(tx.q)
  const at = new Date(Math.min(...notifications.map(({ dueAt }) => dueAt.getTime())))
  tx.atEnd(() => mailDue(tx, at))
}

async function mailDue(tx: TenantTx, at: Date): Promise<void> {
  await sql`
    insert into mail_work as w (due_at) values (${at})
    on conflict (tenant_id) do update set due_at = least(w.due_at, excluded.due_at)`.execute(tx.q)
  if (at <= tx.now) tx.enqueue({ queue: 'mail' })
}

/** When the latest grouped mail was made; null if there was none. */
export async function lastGroupedAt(tx: TenantTx): Promise<Date | null> {
  const { rows } = await sql<{ at: Date }>`
    select created_at as at from mails
     where tenant_id = ${tx.tenantId} and grouped order by created_at desc limit 1`.execute(tx.q)
  return rows[0]?.at ?? null
}

/**
 * Locks a tenant's mail work, so that one worker at a time puts notifications into mails.
 *
 * @returns false if there is no work or another transaction has it locked
 */
export const lockMailWork = (tx: TenantTx): Promise<boolean> => lockWork(tx, sql`skip locked`)

/**
 * Locks the tenant's row of the work list.
 *
 * @param patience `skip locked`, or empty to wait for the lock
 * @returns whether the row exists and this transaction has it locked
 */
async function lockWork(tx: TenantTx, patience = sql``): Promise<boolean> {
  const { rows } = await sql`
    select 1 from mail_work where tenant_id = ${tx.tenantId} for update ${patience}`.execute(tx.q)
  return rows.length > 0
}

export interface WaitingNotification {
  readonly id: number
  readonly body: Notification
  readonly due: boolean
}

/** Notifications without a mail. Critical ones come before all others, of which there may be many; then the oldest. */
export async function waitingNotifications(tx: TenantTx, limit: number): Promise<WaitingNotification[]> {
  const { rows } = await sql<WaitingNotification>`
    select id, body, due_at <= ${tx.now} as due
      from notifications
     where tenant_id = ${tx.tenantId} and mail_id is null
     order by level = ${LogLevel.Critical} desc, id limit ${limit}`.execute(tx.q)
  return rows
}

/** Makes a mail of these notifications. From now on its notifications and its Message-ID are fixed. */
export async function insertMail(
  tx: TenantTx,
  mail: { readonly recipient: string; readonly grouped: boolean },
  notificationIds: readonly number[],
): Promise<void> {
  const id = `<${randomUUID()}@simherd>`
  await sql`
    insert into mails (id, recipient, grouped, next_attempt_at, created_at)
    values (${id}, ${mail.recipient}, ${mail.grouped}, ${tx.now}, ${tx.now})`.execute(tx.q)
  await sql`
    update notifications set mail_id = ${id}
     where tenant_id = ${tx.tenantId} and id = any(${[...notificationIds]}::bigint[])`.execute(tx.q)
}

export interface ClaimedMail {
  readonly id: string
  readonly recipient: string
  readonly attempts: number
}

/** Claims the oldest mail that is due, under a lease, and counts the attempt; undefined if none is due. */
export async function claimMail(tx: TenantTx, leaseUntil: Date): Promise<ClaimedMail | undefined> {
  const { rows } = await sql<ClaimedMail>`
    with due as (
      select id from mails
       where tenant_id = ${tx.tenantId} and status = 'pending' and next_attempt_at <= ${tx.now}
       order by created_at limit 1
         for update skip locked
    )
    update mails m set next_attempt_at = ${leaseUntil}, attempts = attempts + 1
      from due where m.id = due.id
    returning m.id, m.recipient, m.attempts`.execute(tx.q)
  return rows[0]
}

/** The notifications of a mail, oldest first. */
export async function notificationsOf(tx: TenantTx, mailId: string): Promise<{ id: number; body: Notification }[]> {
  const { rows } = await sql<{ id: number; body: Notification }>`
    select id, body from notifications where tenant_id = ${tx.tenantId} and mail_id = ${mailId} order by id`.execute(
    tx.q,
  )
  return rows
}

/** Records the outcome of an attempt to send a mail. */
export async function noteDelivery(
  tx: TenantTx,
  mailId: string,
  delivery: {
    readonly status: 'pending' | 'sent' | 'failed'
    readonly subject: string
    readonly response: string
    readonly nextAt: Date
  },
): Promise<void> {
  await sql`
    update mails
       set status = ${delivery.status}, subject = ${delivery.subject}, response = ${delivery.response},
           next_attempt_at = ${delivery.nextAt}, sent_at = ${delivery.status === 'sent' ? tx.now : null}
     where id = ${mailId}`.execute(tx.q)
}

/**
 * Sets when a tenant's mail work is next due. Takes the tenant off the list if nothing waits.
 *
 * A transaction that writes a notification has the tenant's row locked until it commits. The row is therefore locked
 * first, in a statement of its own. The next statement then sees what was committed meanwhile, and later
 * transactions find the row as this one leaves it.
 */
export async function settleMailWork(tx: TenantTx): Promise<void> {
  if (!(await lockWork(tx))) return
  await sql`
    with next as (
      select min(at) as at
        from (select min(due_at) as at from notifications where tenant_id = ${tx.tenantId} and mail_id is null
              union all
              select min(next_attempt_at) from mails where tenant_id = ${tx.tenantId} and status = 'pending') waiting
    ), gone as (
      delete from mail_work using next where tenant_id = ${tx.tenantId} and next.at is null
    )
    update mail_work set due_at = next.at from next where tenant_id = ${tx.tenantId} and next.at is not null`.execute(
    tx.q,
  )
}

/** Ids of tenants whose mail work is due, the longest overdue first. */
export async function tenantsWithMail(tx: PlatformTx, limit: number): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select tenant_id as "tenantId" from mail_work where due_at <= ${tx.now} order by due_at limit ${limit}`.execute(
    tx.q,
  )
  return rows.map((row) => row.tenantId)
}
