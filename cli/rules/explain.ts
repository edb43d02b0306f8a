/** `simherd rules explain`: why rules fired, or did not. */

import { dropUndefined } from '../../domain/drop-undefined.ts'
import { forTenant } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { printJson } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import type { CheckFlags } from './check.ts'
import { explained } from './explained.ts'

interface ExplainFlags extends CheckFlags, TenantFlags {
  readonly entry?: number
  readonly sim?: number
  readonly pool?: number
  readonly tag?: number
  readonly rule?: string
}

/** Explains an entry of the log, a SIM, a pool, a tag, or the tenant itself. */
export const explainRules = forTenant(async (service, { entry, sim, pool, tag, rule, output }: ExplainFlags) => {
  const query = dropUndefined({ entryId: entry, simId: sim, poolId: pool, tagId: tag, rule })
  const found = await responseOf(service.GET('/internal/rules/explain', { params: { query } }))
  if (output === 'json') return printJson(found)
  for (const line of explained(found)) print(line)
})
