import { ServiceError } from '../../domain/errors.ts'
import { type NamedSim, namedSims } from '../../store/estate/sims.ts'
import type { TenantTx } from '../../store/tenancy.ts'

/**
 * What a SIM is called and where it is, for a caller that may name one that is not there.
 *
 * @throws ServiceError `sim_not_found`
 */
export async function knownSim(tx: TenantTx, simId: number): Promise<NamedSim> {
  const sim = (await namedSims(tx, [simId])).get(simId)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId}.`)
  return sim
}
