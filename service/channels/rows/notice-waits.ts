import { sql } from 'kysely'
import type { LogLevel } from '../../../domain/codes.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

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
