/** Activities that read a SIM. */
import { labelOf, SimStatus } from '../domain/codes.ts'
import { bodyOf, type ServiceClient } from './client.ts'

/** A SIM as a workflow sees it. */
export interface SimNow {
  readonly simId: number
  readonly status: string
  readonly poolId: number | null
  readonly tariffId: number | null
  /** Who suspended it; null where it is not Suspended, or was not activated since it was provisioned. */
  readonly suspendedBy: 'user' | 'watchdog' | null
}

async function suspenderOf({ internal }: ServiceClient, simId: number): Promise<SimNow['suspendedBy']> {
  const params = { path: { id: simId } }
  const { suspension } = await bodyOf(internal.GET('/internal/sims/{id}/enforcement', { params }))
  return suspension?.cause ?? null
}

export const simActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /** @throws ApplicationFailure `sim_not_found`, not retried */
  async readSim({ tenantId, simId }: { readonly tenantId: string; readonly simId: number }): Promise<SimNow> {
    const client = clientOf(tenantId)
    const sim = await bodyOf(
      client.api.GET('/api/sims/{idOrIccid}', { params: { path: { idOrIccid: String(simId) } } }),
    )
    return {
      simId,
      status: labelOf(SimStatus, sim.status),
      poolId: sim.poolId,
      tariffId: sim.tariffId,
      suspendedBy: sim.status === SimStatus.Suspended ? await suspenderOf(client, simId) : null,
    }
  },
})
