import { ServiceError } from '../../domain/errors.ts'
import { mustFit, type NewPool } from '../../domain/pools/pool.ts'
import { mustBeActive } from '../../domain/tariffs/tariff.ts'
import { noteChange } from '../../store/audit.ts'
import { markDue } from '../../store/due.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { findTariff } from '../tariffs/rows/tariffs.ts'
import { insertPool } from './rows/pools.ts'

/**
 * Creates a pool, Active at once.
 *
 * @returns its id
 * @throws ServiceError `tariff_not_found`, `tariff_inactive`, `tariff_pool_mismatch`
 */
export async function createPool(tx: TenantTx, pool: NewPool): Promise<{ id: number }> {
  const tariff = await findTariff(tx, pool.tariffId)
  if (tariff === undefined) throw new ServiceError('tariff_not_found', `There is no tariff ${pool.tariffId}.`)
  mustBeActive(tariff)
  mustFit(pool.type, tariff.type)
  const id = await insertPool(tx, pool)
  await markDue(tx, [{ kind: 'pool' as const, id }])
  await noteChange(tx, { subject: 'pool', id, before: null, after: pool })
  return { id }
}
