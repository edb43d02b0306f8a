/** `simherd workflows list` */

import type { WorkflowFilter } from '../../adapters/temporal/list-workflows.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import { at } from '../instant.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { table } from '../table.ts'
import { type RunInfo } from './ask.ts'
import { wordOf } from './run-text.ts'

interface ListFlags {
  readonly tenant: string
  readonly type?: WorkflowFilter['type']
  readonly status?: WorkflowFilter['status']
  readonly state?: string
  readonly sim?: number
  readonly pool?: number
  readonly cycle?: string
  readonly page: number
  readonly pageSize: number
  readonly json?: boolean
}

const rowOf = (run: RunInfo) => [
  run.workflowId,
  run.status,
  wordOf(run),
  at(run.startedAt),
  run.closedAt === null ? '' : at(run.closedAt),
]

/** Prints one page of a tenant's workflows, newest first. */
export function printWorkflows(settings: Settings, flags: ListFlags): Promise<void> {
  const { tenant: tenantId, type, status, state, sim: simId, pool: poolId, cycle, page, pageSize, json } = flags
  const filters = { type, status, state, simId, poolId, cycle }
  const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
  return askService({ settings, tenantId }, async (service) => {
    const found = await responseOf(
      service.GET('/internal/workflows', { params: { query: { ...given, page, pageSize } } }),
    )
    if (json === true) return print(JSON.stringify(found, null, 2))
    const { data, pagination } = found
    for (const line of table(['id', 'status', 'state', 'started', 'ended'], data.map(rowOf))) print(line)
    print(tailOf(pagination))
  })
}

function tailOf(pagination: { readonly totalItems: number; readonly page: number; readonly totalPages: number }) {
  const { totalItems, page, totalPages } = pagination
  if (totalItems === 0) return 'none'
  return totalPages > 1 ? `${totalItems} in all; page ${page} of ${totalPages}` : `${totalItems} in all`
}
