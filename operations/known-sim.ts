import { ServiceError } from '../domain/errors.ts'
import { simLabels } from '../store/sims.ts'
import type { TenantTx } from '../store/tenancy.ts'

/**
 * What a SIM is called, for a caller that may name one that is not there.
 *
 * @throws ServiceError `sim_not_found`
 */
export async function knownSimLabel(tx: TenantTx, simId: number): Promise<string> {
  const label = (await simLabels(tx, [simId])).get(simId)
  if (label === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId}.`)
  return label
}
