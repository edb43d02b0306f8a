/**
 * Activation codes of eSIMs. Anyone who has one can download the profile. A key without the scope `esim` sees null
 * instead. What other keys are shown is in the audit trail, one row a request.
 */
import type { FastifyRequest } from 'fastify'
import type { Sim, StoredSim } from '../../domain/estate/sim.ts'
import { allows } from '../../domain/tenants/tenant.ts'
import { noteChange } from '../../store/audit.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { onBehalfOf } from './change.ts'
import { qrDataUrl } from './qr-code.ts'

/** Reads SIMs. `show` makes the pictures of activation codes, and removes the codes that the request's key may not see. */
export const readAllowed = <T>(
  store: Store,
  request: FastifyRequest,
  read: (tx: TenantTx, show: (sims: readonly StoredSim[]) => Promise<Sim[]>) => Promise<T>,
): Promise<T> =>
  inTenant(onBehalfOf(store, request), request.tenantId, (tx) => read(tx, (sims) => showCodes(tx, request, sims)))

async function showCodes(tx: TenantTx, { keyScopes }: FastifyRequest, sims: readonly StoredSim[]): Promise<Sim[]> {
  if (!allows(keyScopes, 'esim')) return sims.map((sim) => ({ ...sim, esimQrPayload: null, esimQrDataUrl: null }))
  const simIds = sims.filter((sim) => sim.esimQrPayload !== null).map(({ id }) => id)
  const [first, last] = [simIds[0], simIds.at(-1)]
  if (first !== undefined) {
    const id = first === last ? first : `${first} to ${last}`
    await noteChange(tx, { subject: 'esim-codes', id, before: null, after: { simIds } })
  }
  return sims.map((sim) => ({
    ...sim,
    esimQrDataUrl: sim.esimQrPayload === null ? null : qrDataUrl(sim.esimQrPayload),
  }))
}
