/** `simherd workflows start provision-in-bulk <file>` */

import { idempotent } from '../../adapters/rest/client.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { counted } from '../../domain/quantity.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import { printRefusals } from '../commands/bulk-tickets.ts'
import { readInput } from '../files.ts'
import { isJson, printJson } from '../output.ts'
import { print } from '../print.ts'
import { delivered, responseOf } from '../service.ts'
import type { StartFlags } from './start.ts'
import { followSoon, printEnd, progressTo } from './watch.ts'

interface BulkFlags extends StartFlags {
  readonly pool?: number
  readonly tariff?: number
  readonly parallel?: number
  readonly skipInvalid?: boolean
}

/**
 * Starts the provisioning of the SIMs in a file.
 *
 * @throws CommandFailure if the file cannot be read, if the service refuses, or, with `wait`, if a SIM failed
 */
export async function startBulk(settings: Settings, file: string, flags: BulkFlags): Promise<void> {
  const { tenant: tenantId, pool: poolId, tariff: tariffId, parallel, skipInvalid, wait } = flags
  const bytes = await readInput(file)
  const query = {
    ...dropUndefined({ poolId, tariffId, parallel }),
    ...(skipInvalid === true && { skipInvalid }),
  }
  await askService({ settings, tenantId, follows: wait }, async (service) => {
    const batch = await responseOf(
      service.POST('/internal/workflows/provision-in-bulk', {
        params: { ...idempotent(), query },
        body: '',
        ...delivered(bytes, { 'content-type': 'text/csv' }),
      }),
    )
    if (!isJson(flags)) {
      print(`started ${batch.workflowId}: ${counted(batch.total - batch.refused, 'SIM')}, ${batch.refused} left out`)
      printRefusals('left out because', batch.refusals)
    } else if (wait !== true) printJson(batch)
    if (wait !== true) return
    printEnd(await followSoon(service, batch.workflowId, progressTo(flags)), flags)
  })
}
