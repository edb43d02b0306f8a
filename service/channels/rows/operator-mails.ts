/** Mails to the operator of the installation. Their text is fixed when they are composed. */
import { sql } from 'kysely'
import type { Mail } from '../../../adapters/channels/mail/render-mail.ts'
import type { NextStep, PastAttempts } from '../../../domain/channels/retry.ts'
import type { CountedNotice } from '../../../domain/notifications/operator-notice.ts'
import type { PlatformTx } from '../../../store/tenancy.ts'
import { attempted } from './attempted.ts'

/** Locks the mails to the operator until the transaction ends: one process at a time composes or claims. */
export async function lockOperatorMails(tx: PlatformTx): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtext('simherd.operator-mails')) as locked`.execute(tx.q)
  return rows[0]?.locked === true
}

/** When the latest mail was composed, and whether it is still to be sent; undefined if there was none. */
export async function latestOperatorMail(tx: PlatformTx): Promise<{ at: Date; isPending: boolean } | undefined> {
  const { rows } = await sql<{ at: Date; isPending: boolean }>`
    select created_at as at, status = 'pending' as "isPending" from operator_mails
     order by created_at desc limit 1`.execute(tx.q)
  return rows[0]
}

export interface WaitingNotice extends CountedNotice {
  readonly id: number
}

/** Notices due since an instant and in no mail, the oldest first. */
export async function waitingOperatorNotices(tx: PlatformTx, since: Date, limit: number): Promise<WaitingNotice[]> {
  const { rows } = await sql<WaitingNotice>`
    select n.id, n.body, n.count,
           case when t.id is null then null else jsonb_build_object('id', t.id, 'name', t.name) end as tenant
      from operator_notices n left join tenants t on t.id = n.tenant_id
     where n.mail_id is null and n.due_at <= ${tx.now} and n.due_at >= ${since}
     order by n.due_at, n.id limit ${limit}`.execute(tx.q)
  return rows
}

interface OperatorMail extends Pick<Mail, 'subject' | 'text' | 'html'> {
  /** Message-ID. */
  readonly id: string
}

/** Stores a mail of these notices. From now on its text is fixed. */
export async function insertOperatorMail(
  tx: PlatformTx,
  { id, subject, text, html }: OperatorMail,
  noticeIds: readonly number[],
): Promise<void> {
  await sql`
    insert into operator_mails (id, subject, text, html, next_attempt_at, created_at)
    values (${id}, ${subject}, ${text}, ${html}, ${tx.now}, ${tx.now})`.execute(tx.q)
  await sql`update operator_notices set mail_id = ${id} where id = any(${[...noticeIds]}::bigint[])`.execute(tx.q)
}

export interface ClaimedOperatorMail extends OperatorMail, PastAttempts {}

/** Claims the due mail, under a lease, and counts the attempt; none if none is due. */
export async function claimOperatorMail(tx: PlatformTx, leaseUntil: Date): Promise<ClaimedOperatorMail[]> {
  const { rows } = await sql<ClaimedOperatorMail>`
    with due as (
      select id from operator_mails where status = 'pending' and next_attempt_at <= ${tx.now}
       order by created_at limit 1 for update skip locked
    )
    update operator_mails m set next_attempt_at = ${leaseUntil}, attempts = attempts + 1
      from due where m.id = due.id
    returning m.id, m.subject, m.text, m.html, m.attempts, m.tried_since as "triedSince", m.refused_at as "refusedAt"`.execute(
    tx.q,
  )
  return rows
}

export async function noteOperatorDelivery(
  tx: PlatformTx,
  id: string,
  delivery: NextStep & { readonly response: string },
): Promise<void> {
  await sql`
    update operator_mails
       set ${attempted(delivery)}, sent_at = ${delivery.status === 'sent' ? tx.now : null}
     where id = ${id}`.execute(tx.q)
}

/** Deletes notices and mails from before an instant. */
export async function forgetOperatorNotices(tx: PlatformTx, before: Date): Promise<void> {
  await sql`delete from operator_notices where created_at < ${before}`.execute(tx.q)
  await sql`
    delete from operator_mails m where created_at < ${before}
       and not exists (select from operator_notices n where n.mail_id = m.id)`.execute(tx.q)
}
