import { ServiceError } from '../../domain/errors.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { type NamedSim, namedSims } from './rows/sims.ts'

/**
 * The label and the pool of a SIM, for a caller that may name a SIM that does not exist.
 *
 * @throws ServiceError `sim_not_found`
 */
export async function knownSim(tx: TenantTx, simId: number): Promise<NamedSim> {
  const sim = (await namedSims(tx, [simId])).get(simId)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId}.`)
  return sim
}
