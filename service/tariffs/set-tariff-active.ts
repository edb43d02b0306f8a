import { ServiceError } from '../../domain/errors.ts'
import { noteChange } from '../../store/audit.ts'
import type { PlatformTx, TenantTx } from '../../store/tenancy.ts'
import { offerTariff } from './rows/tariffs.ts'

/**
 * Withdraws a tariff from new assignments, or offers it again. Its SIMs and pools keep it. Safe to run twice.
 *
 * @param tx of the tenant for its tariff, of the platform for the platform's
 * @throws ServiceError `tariff_not_found`; a tenant gets it for a tariff of the platform too
 */
export async function setTariffActive(
  tx: TenantTx | PlatformTx,
  { id, isActive }: { readonly id: number; readonly isActive: boolean },
): Promise<{ id: number }> {
  const was = await offerTariff(tx, id, isActive)
  if (was === undefined) throw new ServiceError('tariff_not_found', `There is no tariff ${id} of this owner.`)
  if (was !== isActive) {
    await noteChange(tx, { subject: 'tariff', id, before: { isActive: was }, after: { isActive } })
  }
  return { id }
}
