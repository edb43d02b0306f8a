/** A tenant's settings for notices. */
import { sql } from 'kysely'
import type { NoticeSettings } from '../../../domain/tenants/notices.ts'
import type { TenantTx } from '../../../store/tenancy.ts'

/** Undefined if the tenant does not exist. */
export async function readNoticeSettings(tx: TenantTx): Promise<NoticeSettings | undefined> {
  const { rows } = await sql<NoticeSettings>`
    select time_zone as "timeZone", feed_every as "feedEvery", escalate_after as "escalateAfter",
           mails_from as "mailsFrom"
      from tenants where id = ${tx.tenantId}`.execute(tx.q)
  return rows[0]
}

export async function writeNoticeSettings(tx: TenantTx, settings: NoticeSettings): Promise<void> {
  await sql`
    update tenants
       set time_zone = ${settings.timeZone}, feed_every = ${settings.feedEvery},
           escalate_after = ${settings.escalateAfter}, mails_from = ${settings.mailsFrom}, version = version + 1, updated_at = ${tx.now}
     where id = ${tx.tenantId}`.execute(tx.q)
}
