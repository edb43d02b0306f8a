/** Prices of one unit, in micro-units: the platform's, and those of tenants with own prices. */
import { sql } from 'kysely'
import type { OrderType } from '../../../domain/codes.ts'
import { mine, type PlatformTx, type TenantTx } from '../../../store/tenancy.ts'

export interface OrderPrice {
  readonly type: OrderType
  readonly priceMicro: number
}

/** The prices for a tenant's orders, by type: its own, else the platform's. */
export async function pricesInForce(tx: TenantTx): Promise<OrderPrice[]> {
  const { rows } = await sql<OrderPrice>`
    select distinct on (type) type, price as "priceMicro"
      from order_prices
     where tenant_id = ${mine} or tenant_id is null
     order by type, tenant_id nulls last`.execute(tx.q)
  return rows
}

/** The tenant's own prices, or the platform's in a platform transaction. */
export async function ownPrices(tx: TenantTx | PlatformTx): Promise<OrderPrice[]> {
  const { rows } = await sql<OrderPrice>`
    select type, price as "priceMicro" from order_prices
     where tenant_id is not distinct from app_tenant() order by type`.execute(tx.q)
  return rows
}

/** Replaces all own prices of the tenant, or of the platform in a platform transaction. */
export async function replacePrices(tx: TenantTx | PlatformTx, prices: readonly OrderPrice[]): Promise<void> {
  const types = prices.map(({ type }) => type)
  await sql`
    delete from order_prices
     where tenant_id is not distinct from app_tenant() and type <> all(${types}::smallint[])`.execute(tx.q)
  await sql`
    insert into order_prices (tenant_id, type, price, updated_at)
    select app_tenant(), p.type, p."priceMicro", ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(prices)}::jsonb) as p(type smallint, "priceMicro" bigint)
     order by p.type
    on conflict (coalesce(tenant_id, ''), type) do update
      set price = excluded.price, updated_at = excluded.updated_at`.execute(tx.q)
}
