/** Tenants. A tenant sees its own row; the platform sees all rows. */
import { sql } from 'kysely'
import { ServiceError } from '../../../domain/errors.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import type { NoticeSettings } from '../../../domain/tenants/notices.ts'
import type { BilledTenant, Tenant, TenantEntry, TenantQuery } from '../../../domain/tenants/tenant.ts'
import { kept } from '../../../store/kept.ts'
import { readPage, searched } from '../../../store/paging.ts'
import { newestSpread } from '../../../store/rule-spreads.ts'
import type { PlatformTx, TenantTx } from '../../../store/tenancy.ts'

const ownTenant = (tx: TenantTx) => sql<Tenant>`
  select id, name, billing_email as "billingEmail" from tenants where id = ${tx.tenantId}`

/** The tenant of this transaction. */
export const findTenant = async (tx: TenantTx): Promise<Tenant | undefined> =>
  (await ownTenant(tx).execute(tx.q)).rows[0]

const billed = sql`id, name, billing_email as "billingEmail", billing_cycle as "billingCycle", currency`

/** The tenant of this transaction, with its billing cycle and currency. */
export async function findBilledTenant(tx: TenantTx): Promise<BilledTenant | undefined> {
  const { rows } = await sql<BilledTenant>`${kept} select ${billed} from tenants where id = ${tx.tenantId}`.execute(
    tx.q,
  )
  return rows[0]
}

/** The tenant of this transaction, with its row locked. @throws ServiceError `tenant_not_found` */
export async function lockTenant(tx: TenantTx): Promise<Tenant> {
  const { rows } = await sql<Tenant>`${ownTenant(tx)} for update`.execute(tx.q)
  const [tenant] = rows
  if (tenant === undefined) throw new ServiceError('tenant_not_found', `There is no tenant ${tx.tenantId}.`)
  return tenant
}

/** Writes the part of a tenant that it may change itself. */
export async function writeTenant(tx: TenantTx, { name, billingEmail }: Tenant): Promise<void> {
  await sql`
    update tenants set name = ${name}, billing_email = ${billingEmail}, version = version + 1, updated_at = ${tx.now}
     where id = ${tx.tenantId}`.execute(tx.q)
}

export async function tenantExists(tx: PlatformTx, id: string): Promise<boolean> {
  const { rows } = await sql`${kept} select 1 from tenants where id = ${id}`.execute(tx.q)
  return rows.length > 0
}

/** Ids of all tenants, oldest first. */
export async function tenantIds(tx: PlatformTx): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from tenants order by created_at, id`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/** Reads a page of all tenants, oldest first. */
export async function pageOfTenants(tx: PlatformTx, query: TenantQuery): Promise<Page<TenantEntry>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<TenantEntry & { readonly createdAt: Date }>(
    tx,
    {
      columns: sql`${billed}, enforcement_enabled as "enforcementEnabled", created_at as "createdAt"`,
      from: sql`from tenants where ${searched(['id', 'name', 'billing_email'], query.search ?? '')}`,
      orderBy: sql`"createdAt", id`,
    },
    page,
  )
  return toPage(
    page,
    totalItems,
    rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() })),
  )
}

export async function insertTenant(tx: PlatformTx, tenant: BilledTenant): Promise<void> {
  await sql`
    insert into tenants (id, name, billing_email, billing_cycle, currency, created_at, updated_at, rules_heard)
    values (${tenant.id}, ${tenant.name}, ${tenant.billingEmail}, ${tenant.billingCycle}, ${tenant.currency}, ${tx.now},
            ${tx.now}, ${newestSpread})`.execute(tx.q)
}

/** A tenant's settings for notices. Undefined if the tenant does not exist. */
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
           escalate_after = ${settings.escalateAfter}, mails_from = ${settings.mailsFrom}, version = version + 1,
           updated_at = ${tx.now}
     where id = ${tx.tenantId}`.execute(tx.q)
}
