/** Mails and their delivery, for the operator of the service. */
import { sql } from 'kysely'
import { type Page, type PageQuery, pageRequest, toPage } from '../../domain/page.ts'
import { readPage } from '../paging.ts'
import type { TenantTx } from '../tenancy.ts'

export interface MailInfo {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly status: 'pending' | 'sent' | 'failed'
  readonly attempts: number
  readonly response: string | null
  readonly createdAt: string
  readonly sentAt: string | null
  /** Alert key and kind of each notification in the mail. */
  readonly keys: string[]
}

type MailRow = Omit<MailInfo, 'createdAt' | 'sentAt'> & { readonly createdAt: Date; readonly sentAt: Date | null }

const toMail = (row: MailRow): MailInfo => ({
  ...row,
  createdAt: row.createdAt.toISOString(),
  sentAt: row.sentAt?.toISOString() ?? null,
})

/** Reads a page of the mails, newest first. */
export async function pageOfMails(tx: TenantTx, query: PageQuery): Promise<Page<MailInfo>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<MailRow>(
    tx,
    {
      columns: sql`m.id, m.recipient, m.subject, m.status, m.attempts, m.response, m.created_at as "createdAt",
        m.sent_at as "sentAt",
        array(select n.dedupe_key from notifications n
               where n.tenant_id = m.tenant_id and n.mail_id = m.id order by n.id) as keys`,
      from: sql`from mails m where m.tenant_id = ${tx.tenantId}`,
      orderBy: sql`"createdAt" desc, id`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toMail))
}
