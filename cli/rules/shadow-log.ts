/** `simherd rules shadow-log`: what rules in stage shadow would have done. */

import type { ShadowEntry } from '../../domain/alerts/shadow-entry.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { forTenant } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { at } from '../instant.ts'
import { printJson } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { table } from '../table.ts'
import type { CheckFlags } from './check.ts'

interface ShadowFlags extends CheckFlags, TenantFlags {
  readonly rule?: string
  readonly version?: number
  readonly does?: ShadowEntry['does']
  readonly page?: number
}

/** Lists the shadow log of a tenant, newest first. */
export const shadowLog = forTenant(async (service, { rule, version, does, page = 1, output }: ShadowFlags) => {
  const query = { page, ...dropUndefined({ rule, version, does }) }
  const found = await responseOf(service.GET('/internal/rules/shadow-log', { params: { query } }))
  if (output === 'json') return printJson(found)
  if (found.data.length === 0) return print('no rule in shadow would have done anything')
  for (const line of table(['when', 'rule', 'version', 'would', 'what'], found.data.map(rowOf))) print(line)
  if (found.pagination.hasNextPage) print(`older: --page ${page + 1}`)
})

const rowOf = ({ date, rule, version, does, message }: ShadowEntry) => [at(date), rule, String(version), does, message]
