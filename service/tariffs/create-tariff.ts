import { type NewTariff, termsOf } from '../../domain/tariffs/tariff.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx, TenantTx } from '../../store/tenancy.ts'
import { insertTariff } from './rows/tariffs.ts'

/**
 * Creates a tariff, active at once. It belongs to a tenant, or to the platform. The platform's is for every tenant.
 *
 * @returns its id
 * @throws ServiceError `invalid_request`, `tariff_units_disagree`
 */
export async function createTariff(tx: TenantTx | PlatformTx, tariff: NewTariff): Promise<{ id: number }> {
  const id = await insertTariff(tx, tariff, termsOf(tariff))
  await noteChange(tx, { subject: 'tariff', id, before: null, after: tariff })
  return { id }
}
