/**
 * Activation codes of eSIMs. Anyone who has one can download the profile. A key without the scope `esim` sees null
 * instead. What other keys are shown is in the audit trail, one row a request.
 */
import type { FastifyRequest } from 'fastify'
import { toDataURL } from 'qrcode'
import type { Sim, StoredSim } from '../../domain/sims/sim.ts'
import { allows } from '../../domain/tenants/tenant.ts'
import { noteChange } from '../../store/audit.ts'
import { inTenant, type Store } from '../../store/tenancy.ts'
import { onBehalfOf } from '../http/on-behalf-of.ts'

/** The same SIMs, without activation codes that the request's key may not see. Writes the others to the audit trail. */
export async function showCodes(
  store: Store,
  request: FastifyRequest,
  sims: readonly StoredSim[],
): Promise<readonly StoredSim[]> {
  if (!allows(request.keyScopes, 'esim')) return sims.map((sim) => ({ ...sim, esimQrPayload: null }))
  const simIds = sims.filter((sim) => sim.esimQrPayload !== null).map(({ id }) => id)
  const [first, last] = [simIds[0], simIds.at(-1)]
  if (first !== undefined) {
    const id = first === last ? first : `${first} to ${last}`
    const shown = { subject: 'esim-codes', id, before: null, after: { simIds } } as const
    await inTenant(onBehalfOf(store, request), request.tenantId, (tx) => noteChange(tx, shown))
  }
  return sims
}

/**
 * Four pixels a module, with the border that ISO/IEC 18004, section 6.3.8, requires. One channel and no filter take two thirds
 * of the time of the library's default, and give a third of its length.
 */
const PICTURE = {
  errorCorrectionLevel: 'M',
  type: 'image/png',
  margin: 4,
  scale: 4,
  rendererOpts: { colorType: 0, filterType: 0, deflateLevel: 6, deflateStrategy: 0 },
} as const

/** Adds the pictures of activation codes, about 2 ms each. Call after the transaction, not in it. */
export async function withPictures(sims: readonly StoredSim[]): Promise<Sim[]> {
  const shown: Sim[] = []
  for (const sim of sims) {
    const { esimQrPayload: code } = sim
    shown.push({ ...sim, esimQrDataUrl: code === null ? null : await toDataURL(code, PICTURE) })
  }
  return shown
}
