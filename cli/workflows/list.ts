/** `simherd workflows list` */

import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { WorkflowType } from '../../domain/temporal/ids.ts'
import { wordOf } from '../../domain/workflows/run-view.ts'
import type { RunStatus } from '../../domain/workflows/workflow.ts'
import { forTenant } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { at } from '../instant.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { responseOf } from '../service.ts'
import { table } from '../table.ts'
import { type RunInfo } from './ask.ts'

interface ListFlags extends TenantFlags, OutputFlags {
  readonly type?: WorkflowType
  readonly status?: RunStatus
  readonly state?: string
  readonly sim?: number
  readonly pool?: number
  readonly cycle?: string
  readonly page: number
  readonly pageSize: number
}

const rowOf = (run: RunInfo) => [
  run.workflowId,
  run.status,
  wordOf(run),
  at(run.startedAt),
  run.closedAt === null ? '' : at(run.closedAt),
]

/** Prints one page of a tenant's workflows, newest first. */
export const printWorkflows = forTenant(async (service, flags: ListFlags) => {
  const { type, status, state, sim: simId, pool: poolId, cycle, page, pageSize } = flags
  const query = { page, pageSize, ...dropUndefined({ type, status, state, simId, poolId, cycle }) }
  const found = await responseOf(service.GET('/internal/workflows', { params: { query } }))
  printAnswer(flags, found, ({ data, pagination }) => [
    ...table(['id', 'status', 'state', 'started', 'ended'], data.map(rowOf)),
    tailOf(pagination),
  ])
})

export function tailOf(pagination: {
  readonly totalItems: number
  readonly page: number
  readonly totalPages: number
}) {
  const { totalItems, page, totalPages } = pagination
  if (totalItems === 0) return 'none'
  return totalPages > 1 ? `${totalItems} in all; page ${page} of ${totalPages}` : `${totalItems} in all`
}
