import { ServiceError } from '../../domain/errors.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolName } from './rows/pools.ts'

/**
 * The name of a pool, for a caller that may name a pool that does not exist.
 *
 * @throws ServiceError `pool_not_found`
 */
export async function knownPool(tx: TenantTx, poolId: number): Promise<string> {
  const name = await poolName(tx, poolId)
  if (name === undefined) throw new ServiceError('pool_not_found', `There is no pool ${poolId}.`)
  return name
}
