/** Mails and their delivery, for the operator of the service. */
import { sql } from 'kysely'
import type { MailStatus } from '../../../domain/channels/mail.ts'
import { type Page, type PageQuery, pageRequest, toPage } from '../../../domain/page.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface MailInfo {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly status: MailStatus
  readonly attempts: number
  readonly response: string | null
  readonly createdAt: string
  readonly sentAt: string | null
  /** Alert key and kind of each notification in the mail. */
  readonly keys: string[]
}

export interface MailQuery extends PageQuery {
  readonly status?: MailInfo['status']
}

type MailRow = Omit<MailInfo, 'createdAt' | 'sentAt'> & { readonly createdAt: Date; readonly sentAt: Date | null }

const toMail = (row: MailRow): MailInfo => ({
  ...row,
  createdAt: row.createdAt.toISOString(),
  sentAt: row.sentAt?.toISOString() ?? null,
})

/** A mail with its body. */
export interface MailDetail extends MailInfo {
  /** Message-ID of the mail that it resends; null: it resends none. */
  readonly resends: string | null
  /** As sent; null if it was not rendered yet, or is no longer kept. */
  readonly body: ShownBody | null
}
interface ShownBody {
  readonly text: string
  readonly html: string
  readonly headers: Record<string, string>
  readonly attachments: { filename: string; contentType: string }[]
}

/** Keys of a mail in a list. A mail may have 5,000. */
const LISTED_KEYS = 100

/** @param keys most keys of a mail; null: all */
const columnsWith = (
  keys: number | null,
) => sql`m.mail_id as id, m.recipient, m.subject, m.status, m.attempts, m.response,
        m.created_at as "createdAt", case m.status when 'sent' then m.ended_at end as "sentAt",
        array(select n.dedupe_key from notifications n
               where n.tenant_id = m.tenant_id and n.mail_id = m.mail_id order by n.id limit ${keys}) as keys`

/** A mail with its body; undefined if there is none. */
export async function findMail(tx: TenantTx, id: string): Promise<MailDetail | undefined> {
  const { rows } = await sql<MailRow & Pick<MailDetail, 'resends' | 'body'>>`
    select ${columnsWith(null)}, m.resends,
           case when b.mail_id is not null then
             jsonb_build_object('text', b.text, 'html', b.html, 'headers', b.headers, 'attachments', array(
               select jsonb_build_object('filename', a ->> 'filename', 'contentType', a ->> 'contentType')
                 from jsonb_array_elements(b.attachments) a)) end as body
      from deliveries m
      left join mail_bodies b on b.tenant_id = m.tenant_id and b.mail_id = m.mail_id
     where m.mail_id = ${id}`.execute(tx.q)
  const [row] = rows
  return row === undefined ? undefined : { ...toMail(row), resends: row.resends, body: row.body }
}

/** Reads a page of the mails, newest first. */
export async function pageOfMails(tx: TenantTx, query: MailQuery): Promise<Page<MailInfo>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<MailRow>(
    tx,
    {
      columns: columnsWith(LISTED_KEYS),
      from: sql`
        from deliveries m where m.tenant_id = ${mine} and m.mail_id is not null ${query.status === undefined ? sql`` : sql`and m.status = ${query.status}`}`,
      orderBy: sql`"createdAt" desc, id`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toMail))
}
