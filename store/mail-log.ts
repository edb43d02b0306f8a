/** Mails and their delivery, for whoever operates the service. */
import { sql } from 'kysely'
import { type Page, type PageQuery, pageRequest, toPage } from '../domain/page.ts'
import { readPage } from './paging.ts'
import type { TenantTx } from './tenancy.ts'

interface MailRow {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly status: 'pending' | 'sent' | 'failed'
  readonly attempts: number
  readonly response: string | null
  readonly created_at: Date
  readonly sent_at: Date | null
  readonly keys: string[]
}

export interface MailInfo {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly status: 'pending' | 'sent' | 'failed'
  readonly attempts: number
  readonly response: string | null
  readonly createdAt: string
  readonly sentAt: string | null
  /** Alert key and kind of each notice in it. */
  readonly keys: string[]
}

const toMail = ({ created_at, sent_at, ...row }: MailRow): MailInfo => ({
  ...row,
  createdAt: created_at.toISOString(),
  sentAt: sent_at?.toISOString() ?? null,
})

/** A page of the mails, the newest first. */
export async function pageOfMails(tx: TenantTx, query: PageQuery): Promise<Page<MailInfo>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<MailRow>(
    tx,
    {
      columns: sql`m.id, m.recipient, m.subject, m.status, m.attempts, m.response, m.created_at, m.sent_at,
        array(select n.dedupe_key from notifications n
               where n.tenant_id = m.tenant_id and n.mail_id = m.id order by n.id) as keys`,
      from: sql`from mails m where m.tenant_id = app_tenant()`,
      orderBy: sql`created_at desc, id`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toMail))
}
