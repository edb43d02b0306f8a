/** Checks and the input of provision-and-activate. */
import { SimStatus } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { ProvisionAndActivateInput } from '../../domain/temporal/provision-and-activate.ts'
import type { StartProvision } from '../../domain/workflows/workflow.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockSim } from '../sims/rows/sim-state.ts'
import { findSimId } from '../sims/rows/sims.ts'
import { activationConflict, checkAssignment, mustBePossible } from '../tickets/open-ticket.ts'

/**
 * The id of the SIM that a request names, by id or by ICCID.
 *
 * @throws ServiceError `invalid_request` if the request gives neither or both, `sim_not_found`
 */
export async function simNamed(tx: TenantTx, ask: StartProvision): Promise<number> {
  const { simId, iccid } = ask
  if ((simId == null) === (iccid == null)) {
    throw new ServiceError('invalid_request', 'Give either simId or iccid.', {
      errors: [{ pointer: '/simId', detail: 'give either simId or iccid' }],
    })
  }
  const id = await findSimId(tx, simId == null ? { by: 'iccid', iccid: iccid ?? '' } : { by: 'id', id: simId })
  if (id === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId ?? iccid}.`)
  return id
}

/**
 * The input of provision-and-activate. Accepts an Unprovisioned SIM. Also accepts a SIM not activated since its
 * provision ticket, or an Active one, if it has the requested pool and tariff.
 *
 * @throws ServiceError `sim_not_found`, `sim_already_assigned`, `sim_state_conflict`, `pool_not_found`,
 *   `tariff_not_found`, `tariff_inactive`, `tariff_needs_pool`, `tariff_has_no_effect`
 */
export async function provisionInput(
  tx: TenantTx,
  simId: number,
  ask: StartProvision,
): Promise<ProvisionAndActivateInput> {
  const sim = await lockSim(tx, simId)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${simId}.`)
  const asked = { poolId: ask.poolId ?? null, tariffId: ask.tariffId ?? null }
  mustBePossible(activationConflict(sim, asked))
  if (sim.status === SimStatus.Unprovisioned) await checkAssignment(tx, asked, asked.tariffId)
  return {
    tenantId: tx.tenantId,
    simId,
    ...(ask.poolId == null ? {} : { poolId: ask.poolId }),
    ...(ask.tariffId == null ? {} : { tariffId: ask.tariffId }),
    ...(ask.tag == null ? {} : { tag: ask.tag }),
  }
}
