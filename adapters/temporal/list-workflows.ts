/** Lists workflows by search attributes. */
import type { Client } from '@temporalio/client'
import type { PageRequest } from '../../domain/page.ts'
import type { RunStatus, WorkflowInfo, WorkflowQuery } from '../../domain/workflows/workflow.ts'
import { toRun } from './read-run.ts'

export type WorkflowFilter = Omit<WorkflowQuery, keyof PageRequest> & { readonly tenantId: string }

export interface WorkflowPage {
  readonly items: readonly WorkflowInfo[]
  readonly totalItems: number
}

const EXECUTION_STATUS: Readonly<Record<RunStatus, string>> = {
  running: 'Running',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Canceled',
  terminated: 'Terminated',
  timedOut: 'TimedOut',
}

const quoted = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`

/** The visibility query of a filter. Omits runs that have continued as new: the latest run stands for them. */
export function queryOf({ tenantId, type, status, simId, poolId, cycle, state }: WorkflowFilter): string {
  return [
    `SimherdTenant = ${quoted(tenantId)}`,
    `ExecutionStatus != 'ContinuedAsNew'`,
    ...(type === undefined ? [] : [`WorkflowType = ${quoted(type)}`]),
    ...(status === undefined ? [] : [`ExecutionStatus = ${quoted(EXECUTION_STATUS[status])}`]),
    ...(simId === undefined ? [] : [`SimId = ${simId}`]),
    ...(poolId === undefined ? [] : [`PoolId = ${poolId}`]),
    ...(cycle === undefined ? [] : [`Cycle = ${quoted(cycle)}`]),
    ...(state === undefined ? [] : [`SimherdState = ${quoted(state)}`]),
  ].join(' AND ')
}

/** Most runs in one response of the server. */
const MOST_LISTED = 1000
/** How many results of closed runs are read at once, each by a separate request. */
const AT_ONCE = 10

/** A page, newest first. Temporal pages by token, so earlier runs are read first, a thousand a call. */
export async function listWorkflows(
  client: Client,
  filter: WorkflowFilter,
  { page, pageSize }: PageRequest,
): Promise<WorkflowPage> {
  const query = queryOf(filter)
  const { count } = await client.workflow.count(query)
  const runs = []
  let seen = 0
  if (count > (page - 1) * pageSize) {
    const listed = client.workflow.list({ query, pageSize: Math.min(page * pageSize, MOST_LISTED) })
    for await (const run of listed) {
      seen += 1
      if (seen > (page - 1) * pageSize) runs.push(run)
      if (runs.length === pageSize) break
    }
  }
  const items: WorkflowInfo[] = []
  for (let at = 0; at < runs.length; at += AT_ONCE) {
    items.push(...(await Promise.all(runs.slice(at, at + AT_ONCE).map((run) => toRun(client, run)))))
  }
  return { items, totalItems: count }
}
