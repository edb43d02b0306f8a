/** Versions of single resources: the first part of their ETags. */
import { type RawBuilder, sql } from 'kysely'
import { kept } from './kept.ts'
import type { TenantTx } from './tenancy.ts'

export type Resource =
  | { readonly kind: 'pool' | 'sim' | 'order' | 'tariff'; readonly id: number }
  | { readonly kind: 'ticket'; readonly id: string }
  | { readonly kind: 'tenant' }

/** Selects a resource's version. A ticket's status only ever rises, so it serves as its version. */
function rowOf({ tenantId }: TenantTx, resource: Resource): RawBuilder<unknown> {
  if (resource.kind === 'tenant') return sql`version from tenants where id = ${tenantId}`
  if (resource.kind === 'ticket') return sql`status as version from tickets where id = ${resource.id}::uuid`
  const isThere = resource.kind === 'pool' ? sql`and deleted_at is null` : sql``
  return sql`version from ${sql.table(`${resource.kind}s`)} where id = ${resource.id}::bigint ${isThere}`
}

/** A resource's current version; undefined if there is no such resource. */
export async function versionOf(tx: TenantTx, resource: Resource): Promise<number | undefined> {
  const { rows } = await sql<{ version: number }>`${kept} select ${rowOf(tx, resource)}`.execute(tx.q)
  return rows[0]?.version
}

/** Locks a resource until the transaction ends: a ticket by its SIM, as its changes do. @returns its version */
export async function lockVersion(tx: TenantTx, resource: Resource): Promise<number | undefined> {
  if (resource.kind !== 'ticket') {
    const { rows } = await sql<{ version: number }>`${kept} select ${rowOf(tx, resource)} for update`.execute(tx.q)
    return rows[0]?.version
  }
  await sql`
    select 1 from sims where id = (select sim_id from tickets where id = ${resource.id}::uuid)
       for update`.execute(tx.q)
  return versionOf(tx, resource)
}
