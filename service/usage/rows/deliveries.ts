/** Deliveries of usage. A delivery has one row, written when it begins and again when it ends. */
import { sql } from 'kysely'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import type { UsageDelivery, UsageDeliveryQuery } from '../../../domain/usage/delivery.ts'
import { insertedId } from '../../../store/inserted-id.ts'
import { keyName } from '../../../store/key-name.ts'
import { mineByKey } from '../../../store/keyset-pages.ts'
import { readPage, within } from '../../../store/paging.ts'
import type { TenantTx } from '../../../store/tenancy.ts'

/**
 * Records that a delivery begins, on behalf of the transaction's caller.
 *
 * @returns its id
 * @throws Error if the transaction has no caller
 */
export async function insertDelivery(tx: TenantTx): Promise<number> {
  const { caller } = tx
  if (caller === null) throw new Error('a delivery of usage is somebody’s: the transaction has no caller')
  const { rows } = await sql<{ id: number }>`
    insert into usage_deliveries (began_at, actor, key_id, request_id)
    values (${tx.now}, ${caller.actor}, ${caller.keyId}, ${caller.requestId})
    returning id`.execute(tx.q)
  return insertedId(rows)
}

/** The outcome of a delivery: records accepted, duplicate and rejected, and the body's size in bytes and SHA-256. */
export type DeliveryEnd = Pick<UsageDelivery, 'accepted' | 'duplicates' | 'rejected' | 'bytes'> & {
  readonly outcome: 'complete' | 'broken'
  readonly sha256: string
}

export async function endDelivery(tx: TenantTx, id: number, end: DeliveryEnd): Promise<void> {
  await sql`
    update usage_deliveries
       set ended_at = ${tx.now}, outcome = ${end.outcome}, accepted = ${end.accepted}, duplicates = ${end.duplicates},
           rejected = ${end.rejected}, bytes = ${end.bytes}, sha256 = ${end.sha256}
     where id = ${id}`.execute(tx.q)
}

type DeliveryRow = Omit<UsageDelivery, 'beganAt' | 'endedAt'> & {
  readonly beganAt: Date
  readonly endedAt: Date | null
}

const columns = sql`id, began_at as "beganAt", ended_at as "endedAt", actor, ${keyName(sql`actor`)} as "actorName", key_id as "keyId", request_id as "requestId",
  outcome, accepted, duplicates, rejected, bytes, sha256`

const toDelivery = (row: DeliveryRow): UsageDelivery => ({
  ...row,
  beganAt: row.beganAt.toISOString(),
  endedAt: row.endedAt?.toISOString() ?? null,
})

export async function findDelivery(tx: TenantTx, id: number): Promise<UsageDelivery | undefined> {
  const { rows } = await sql<DeliveryRow>`
    select ${columns} from usage_deliveries where id = ${id}`.execute(tx.q)
  return rows[0] && toDelivery(rows[0])
}

/**
 * Reads a page of the deliveries, newest first.
 *
 * @throws ServiceError invalid_request if `date` is not a day of the calendar
 */
export async function pageOfUsageDeliveries(tx: TenantTx, query: UsageDeliveryQuery): Promise<Page<UsageDelivery>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<DeliveryRow>(
    tx,
    {
      columns,
      from: sql`
        from usage_deliveries
       where ${mineByKey('usage_deliveries.id')} ${query.keyId === undefined ? sql`` : sql`and key_id = ${query.keyId}`}
             ${within(sql`began_at`, query.date)}`,
      orderBy: sql`id desc`,
      walkBy: sql`tenant_id, id desc`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toDelivery))
}
