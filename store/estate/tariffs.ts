/** Tariffs: a tenant's own, and the platform's, which all tenants may use. */
import { sql } from 'kysely'
import { TariffType } from '../../domain/codes.ts'
import type { NewTariff, Tariff, TariffTerms } from '../../domain/estate/tariff.ts'
import { fromMoney, toGb, toMoney } from '../../domain/units.ts'
import type { PlatformTx, TenantTx } from '../tenancy.ts'

interface TariffRow {
  readonly id: number
  readonly display_name: string
  readonly description: string
  readonly is_active: boolean
  readonly type: TariffType
  readonly allowance_bytes: number
  /** Fees in micro-units. */
  readonly sim_monthly_fee: number
  readonly fixed_bucket_cost: number
  readonly sms_fee: number
  readonly voice_fee: number
  readonly overage_fee_per_gb: number
}

const columns = sql`id, display_name, description, is_active, type, allowance_bytes, sim_monthly_fee, fixed_bucket_cost,
  sms_fee, voice_fee, overage_fee_per_gb`

function toTariff(row: TariffRow): Tariff {
  const base = {
    baseTariffBytes: row.allowance_bytes,
    baseTariffGb: toGb(row.allowance_bytes),
    simMonthlyFee: toMoney(row.sim_monthly_fee),
    smsFee: toMoney(row.sms_fee),
    voiceFee: toMoney(row.voice_fee),
    overageFeePerGb: toMoney(row.overage_fee_per_gb),
  }
  const fixed = {
    fixedCapacityBytes: row.allowance_bytes,
    fixedCapacityGb: toGb(row.allowance_bytes),
    simMonthlyFee: toMoney(row.sim_monthly_fee),
    fixedBucketCost: toMoney(row.fixed_bucket_cost),
    smsFee: toMoney(row.sms_fee),
    voiceFee: toMoney(row.voice_fee),
    overageFeePerGb: toMoney(row.overage_fee_per_gb),
  }
  return {
    id: row.id,
    displayName: row.display_name,
    description: row.description,
    isActive: row.is_active,
    type: row.type,
    standardTariff: row.type === TariffType.Standard ? base : null,
    dynamicPoolTariff: row.type === TariffType['Dynamic Pool'] ? base : null,
    fixedPoolTariff: row.type === TariffType['Fixed Pool'] ? fixed : null,
  }
}

/** Reads all tariffs that a tenant can see, including inactive ones, by id. */
export async function listTariffs(tx: TenantTx): Promise<Tariff[]> {
  const { rows } = await sql<TariffRow>`select ${columns} from tariffs order by id`.execute(tx.q)
  return rows.map(toTariff)
}

export async function findTariff(tx: TenantTx, id: number): Promise<Tariff | undefined> {
  const { rows } = await sql<TariffRow>`select ${columns} from tariffs where id = ${id}::bigint`.execute(tx.q)
  return rows[0] && toTariff(rows[0])
}

/** Reads several tariffs, by id. Tariffs that do not exist are left out. */
export async function findTariffs(tx: TenantTx, ids: readonly number[]): Promise<Map<number, Tariff>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<TariffRow>`
    select ${columns} from tariffs where id = any(${[...new Set(ids)]}::bigint[])`.execute(tx.q)
  return new Map(rows.map((row) => [row.id, toTariff(row)]))
}

export async function tariffName(tx: TenantTx, id: number): Promise<string | undefined> {
  const { rows } = await sql<{ display_name: string }>`
    select display_name from tariffs where id = ${id}::bigint`.execute(tx.q)
  return rows[0]?.display_name
}

/**
 * Inserts a tariff: a tenant's own in its transaction, the platform's in a platform transaction.
 *
 * @param terms allowance in bytes, fees in units of the currency
 * @returns its id
 */
export async function insertTariff(tx: TenantTx | PlatformTx, tariff: NewTariff, terms: TariffTerms): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into tariffs (tenant_id, display_name, description, type, allowance_bytes, sim_monthly_fee, fixed_bucket_cost,
                         sms_fee, voice_fee, overage_fee_per_gb, created_at)
    values (app_tenant(), ${tariff.displayName}, ${tariff.description ?? ''}, ${tariff.type}, ${terms.allowanceBytes},
            ${fromMoney(terms.simMonthlyFee)}, ${fromMoney(terms.fixedBucketCost)}, ${fromMoney(terms.smsFee)},
            ${fromMoney(terms.voiceFee)}, ${fromMoney(terms.overageFeePerGb)}, ${tx.now})
    returning id`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error('insert into tariffs returned no row')
  return row.id
}

/**
 * Sets whether a tariff is available for new assignments: a tenant's own in its transaction, the platform's in a
 * platform transaction.
 *
 * @returns whether it was available before; undefined if this owner has no such tariff
 */
export async function offerTariff(
  tx: TenantTx | PlatformTx,
  id: number,
  isActive: boolean,
): Promise<boolean | undefined> {
  const { rows } = await sql<{ was: boolean }>`
    select is_active as was from tariffs
     where id = ${id}::bigint and tenant_id is not distinct from app_tenant() for update`.execute(tx.q)
  const was = rows[0]?.was
  if (was !== undefined && was !== isActive) {
    await sql`update tariffs set is_active = ${isActive}, version = version + 1 where id = ${id}`.execute(tx.q)
  }
  return was
}
