/**
 * The audit trail: the author of a change, its caller, and the values before and after. An entry is written in the
 * transaction of its change and never updated.
 */
import { type RawBuilder, sql } from 'kysely'
import { type Page, pageRequest, toPage } from '../domain/page.ts'
import type { AuditEntry, AuditQuery, AuditSubject } from '../domain/tenants/audit.ts'
import { ahead, kept } from './kept.ts'
import { keyName } from './key-name.ts'
import { mineByKey } from './keyset-pages.ts'
import { readPage, within } from './paging.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/** A change of a single object. */
export interface Change {
  readonly subject: AuditSubject
  readonly id: string | number
  /** The thing before the change; null if it did not exist. No secrets. */
  readonly before: object | null
  /** The thing after the change; null if it is gone. No secrets. */
  readonly after: object | null
  /** The tenant concerned, in a platform transaction. Omitted or null: the platform itself. */
  readonly tenantId?: string | null
}

/** Adds a caller's change to the audit trail. Does nothing without a caller: the service's own work is not recorded. */
export const noteChange = (tx: TenantTx | PlatformTx, { subject, tenantId = null, ...change }: Change): Promise<void> =>
  insertEntries(tx, 'tenantId' in tx ? tx.tenantId : tenantId, subject, [change])

/** Records the creation of many things, in one statement. Does nothing without a caller. */
export const noteCreated = (
  tx: TenantTx,
  subject: AuditSubject,
  made: readonly { readonly id: number | string; readonly after: object }[],
): Promise<void> => insertEntries(tx, tx.tenantId, subject, made)

/** Records the end of many things, in one statement. Does nothing without a caller. */
export const noteGone = (
  tx: PlatformTx,
  { subject, tenantId = null }: Pick<Change, 'subject' | 'tenantId'>,
  gone: readonly { readonly id: number | string; readonly before: object }[],
): Promise<void> =>
  insertEntries(
    tx,
    tenantId,
    subject,
    gone.map((one) => ({ ...one, after: null })),
  )

async function insertEntries(
  { q, now, caller }: TenantTx | PlatformTx,
  tenantId: string | null,
  subject: AuditSubject,
  entries: readonly (Pick<Change, 'id' | 'after'> & Partial<Change>)[],
): Promise<void> {
  if (caller === null || entries.length === 0) return
  await sql`${kept}${ahead}
    insert into audit_log (tenant_id, at, actor, key_id, request_id, workflow_id, action, subject, subject_id, before, after)
    select ${tenantId}, ${now}::timestamptz, ${caller.actor}, ${caller.keyId}, ${caller.requestId}, ${caller.workflowId},
           ${caller.action}, ${subject}, e.id, e.before, e.after
      from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) as e(id text, before jsonb, after jsonb)`.execute(q)
}

interface AuditRow extends Omit<AuditEntry, 'at'> {
  readonly at: Date
}

/**
 * Reads a page of the trail, newest first. A tenant's transaction gives the tenant's entries, a platform transaction
 * those that concern no tenant.
 *
 * @throws ServiceError invalid_request if `date` is not a day of the calendar
 */
export async function pageOfAudit(tx: TenantTx | PlatformTx, query: AuditQuery): Promise<Page<AuditEntry>> {
  const page = pageRequest(query)
  const equal = (column: RawBuilder<unknown>, value: string | undefined) =>
    value === undefined ? sql`` : sql`and ${column} = ${value}`
  const owner = 'tenantId' in tx ? mineByKey('audit_log.id') : sql`tenant_id is null`
  const { rows, totalItems } = await readPage<AuditRow>(
    tx,
    {
      columns: sql`id, at, actor, ${keyName(sql`actor`)} as "actorName", key_id as "keyId", request_id as "requestId", workflow_id as "workflowId", action, subject,
                   subject_id as "subjectId", before, after`,
      from: sql`
        from audit_log
       where ${owner} ${equal(sql`subject`, query.subject)} ${equal(sql`subject_id`, query.subjectId)}
             ${equal(sql`actor`, query.actor)} ${equal(sql`key_id`, query.keyId)} ${equal(sql`request_id`, query.requestId)}
             ${equal(sql`workflow_id`, query.workflowId)} ${equal(sql`action`, query.action)} ${within(sql`at`, query.date)}`,
      orderBy: sql`id desc`,
      walkBy: sql`tenant_id, id desc`,
    },
    page,
  )
  return toPage(
    page,
    totalItems,
    rows.map((row) => ({ ...row, at: row.at.toISOString() })),
  )
}
