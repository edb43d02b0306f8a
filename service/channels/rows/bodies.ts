/** Rendered mails: subject, texts and attachments. They are sent exactly as stored. */
import { sql } from 'kysely'
import type { Mail } from '../../../adapters/channels/mail/render-mail.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** An attachment: with its content; or a reference to a statement, because a statement is large and never changes. */
export interface StoredAttachment {
  readonly filename: string
  readonly contentType: string
  readonly content?: string
  /** Key of the cycle, and the kinds of lines. The lines are read when the mail is sent. */
  readonly statement?: { readonly cycle: string; readonly kinds: readonly 'pool'[] | null }
}

export interface MailBody extends Omit<Mail, 'attachments'> {
  readonly attachments: readonly StoredAttachment[]
}

/** Stores the body of a mail, and its subject with the mail. A mail with a body keeps it. */
export async function insertBody(tx: TenantTx, mailId: string, body: MailBody): Promise<void> {
  await sql`
    insert into mail_bodies (mail_id, subject, text, html, headers, attachments, created_at)
    values (${mailId}, ${body.subject}, ${body.text}, ${body.html}, ${JSON.stringify(body.headers)}::jsonb,
            ${JSON.stringify(body.attachments)}::jsonb, ${tx.now})
    on conflict (mail_id) do nothing`.execute(tx.q)
  await sql`
    update deliveries set subject = ${body.subject} where mail_id = ${mailId}`.execute(tx.q)
}

/** Reads the body of a mail; undefined if it was not rendered yet, or is no longer kept. */
export async function findBody(tx: TenantTx, mailId: string): Promise<MailBody | undefined> {
  const { rows } = await sql<MailBody>`
    select subject, text, html, headers, attachments from mail_bodies
     where tenant_id = ${mine} and mail_id = ${mailId}`.execute(tx.q)
  return rows[0]
}

/** @returns whether the mail had a body to copy */
export async function copyBody(tx: TenantTx, fromId: string, toId: string): Promise<boolean> {
  const { rows } = await sql`
    insert into mail_bodies (mail_id, subject, text, html, headers, attachments, created_at)
    select ${toId}, subject, text, html, headers, attachments, ${tx.now} from mail_bodies
     where tenant_id = ${mine} and mail_id = ${fromId}
    returning 1`.execute(tx.q)
  return rows.length > 0
}

/** Most bodies deleted at a time: about ten megabytes. */
const MOST_FORGOTTEN = 100

/** Deletes bodies from before an instant, with the attempts at their mails; bounded: older ones may be left afterwards. */
export async function forgetBodies(tx: TenantTx, before: Date): Promise<void> {
  await sql`
    with forgotten as (
      delete from mail_bodies where mail_id in (
        select mail_id from mail_bodies
         where tenant_id = ${mine} and created_at < ${before}
         order by created_at limit ${MOST_FORGOTTEN})
      returning mail_id
    )
    delete from mail_attempts a using forgotten f where a.mail_id = f.mail_id`.execute(tx.q)
}
