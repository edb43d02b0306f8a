import { ServiceError } from '../domain/errors.ts'
import { setTag } from '../store/sim-changes.ts'
import type { TenantTx } from '../store/tenancy.ts'

/**
 * Labels a SIM; an empty tag takes the label off.
 *
 * @throws ServiceError sim_not_found
 */
export async function tagSim(tx: TenantTx, { id, tag }: { id: number; tag: string }): Promise<{ id: number }> {
  if (!(await setTag(tx, id, tag))) throw new ServiceError('sim_not_found', `There is no SIM ${id}.`)
  return { id }
}
