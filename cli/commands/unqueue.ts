/** `simherd sims unqueue --tenant <id> --sim <id>` */
import type { Settings } from '../../process/settings.ts'
import { responseOf } from '../service.ts'
import { asking } from '../workflows/ask.ts'

/**
 * Cancels the queued change of a SIM, and prints the result.
 *
 * @throws CommandFailure with the service's response
 */
export const unqueueSim = (
  settings: Settings,
  { tenant: tenantId, sim: id }: { readonly tenant: string; readonly sim: number },
): Promise<void> =>
  asking({ settings, tenantId }, async (service) => {
    await responseOf(service.DELETE('/internal/sims/{id}/queued-change', { params: { path: { id } } }))
    console.log(`nothing is queued for SIM ${id} at the end of the billing cycle`)
  })
