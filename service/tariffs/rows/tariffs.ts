/** Tariffs: a tenant's own, and the platform's, usable by all tenants. */
import { type RawBuilder, sql } from 'kysely'
import { TariffType } from '../../../domain/codes.ts'
import type { NewTariff, Tariff, TariffTerms } from '../../../domain/tariffs/tariff.ts'
import { fromMoney, toGb, toMoney } from '../../../domain/units.ts'
import { insertedId } from '../../../store/inserted-id.ts'
import { kept } from '../../../store/kept.ts'
import type { PlatformTx, TenantTx } from '../../../store/tenancy.ts'

/** A tariff as stored: the fees of its terms are in micro-units. {@link toTariff} shows it. */
export type TariffRow = Omit<Tariff, 'standardTariff' | 'dynamicPoolTariff' | 'fixedPoolTariff'> & TariffTerms

const columns = sql`id, display_name as "displayName", description, is_active as "isActive", type,
  allowance_bytes as "allowanceBytes", sim_monthly_fee as "simMonthlyFee", fixed_bucket_cost as "fixedBucketCost",
  sms_fee as "smsFee", voice_fee as "voiceFee", overage_fee_per_gb as "overageFeePerGb"`

/** The tariffs with the ids of a select, as one value: a list of {@link TariffRow}; null without any. */
export const tariffsWithIds = (ids: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select json_agg(t) from (select ${columns} from tariffs where id = any(array(${ids}))) t)`

export function toTariff(row: TariffRow): Tariff {
  const { allowanceBytes, simMonthlyFee, fixedBucketCost, smsFee, voiceFee, overageFeePerGb, ...named } = row
  const perSim = { simMonthlyFee: toMoney(simMonthlyFee) }
  const common = {
    smsFee: toMoney(smsFee),
    voiceFee: toMoney(voiceFee),
    overageFeePerGb: toMoney(overageFeePerGb),
  }
  const base = { baseTariffBytes: allowanceBytes, baseTariffGb: toGb(allowanceBytes), ...perSim, ...common }
  const fixed = {
    fixedCapacityBytes: allowanceBytes,
    fixedCapacityGb: toGb(allowanceBytes),
    ...perSim,
    fixedBucketCost: toMoney(fixedBucketCost),
    ...common,
  }
  return {
    ...named,
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

/** The tenant's own tariffs, or the platform's in a platform transaction; including inactive ones, by id. */
export async function ownTariffs(tx: TenantTx | PlatformTx): Promise<Tariff[]> {
  const { rows } = await sql<TariffRow>`
    select ${columns} from tariffs where tenant_id is not distinct from app_tenant() order by id`.execute(tx.q)
  return rows.map(toTariff)
}

export async function findTariff(tx: TenantTx, id: number): Promise<Tariff | undefined> {
  const { rows } = await sql<TariffRow>`select ${columns} from tariffs where id = ${id}::bigint`.execute(tx.q)
  return rows[0] && toTariff(rows[0])
}

/** Reads several tariffs, by id. Tariffs that do not exist are left out. */
export async function findTariffs(tx: TenantTx, ids: readonly number[]): Promise<Map<number, Tariff>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<TariffRow>`${kept}
    select ${columns} from tariffs where id = any(${[...new Set(ids)]}::bigint[])`.execute(tx.q)
  return new Map(rows.map((row) => [row.id, toTariff(row)]))
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
  return insertedId(rows)
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
