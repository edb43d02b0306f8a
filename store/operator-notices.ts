/** Notices to the operator, a list that every noun writes. `service/channels/tell-operator.ts` mails it. */
import { sql } from 'kysely'
import type { OperatorNotice } from '../domain/notifications/operator-notice.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

export interface NewOperatorNotice {
  /** The key of the notice, sent once a key: of the tenant, in a tenant's transaction. */
  readonly key: string
  readonly body: OperatorNotice
  /** Number of occurrences. Default: 1. */
  readonly count?: number
  /** How long to wait for others, in milliseconds. Default: 0. */
  readonly waitMs?: number
}

/** Writes notices with the facts they report. A known key adds to its count, with its first body. @returns new keys */
export async function insertOperatorNotices(
  tx: TenantTx | PlatformTx,
  notices: readonly NewOperatorNotice[],
): Promise<Set<string>> {
  if (notices.length === 0) return new Set()
  const { rows } = await sql<{ key: string; isNew: boolean }>`
    insert into operator_notices as o (key, body, count, due_at, created_at, last_at)
    select key, body, coalesce(count, 1), ${tx.now}::timestamptz + coalesce("waitMs", 0) * interval '1 millisecond',
           ${tx.now}, ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(notices)}::jsonb)
        as n(key text, body jsonb, count integer, "waitMs" integer)
     order by key
    on conflict on constraint operator_notices_key
      do update set count = o.count + excluded.count, last_at = excluded.last_at
    returning key, xmax = 0 as "isNew"`.execute(tx.q)
  return new Set(rows.filter(({ isNew }) => isNew).map(({ key }) => key))
}
