/** One workflow, as the internal interface shows it. */
import { type Client, type WorkflowExecutionInfo, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import { SEARCH_ATTRIBUTES } from '../../domain/temporal/start.ts'
import type { RunStatus, WorkflowInfo } from '../../domain/workflows/workflow.ts'

/** The latest run of an id. */
export interface LatestRun extends WorkflowInfo {
  /** Id of the request that started the run, if it was a retry or a signal; else null. */
  readonly startId: string | null
}

const STATUS: Readonly<Record<string, RunStatus>> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timedOut',
}
/** Status by the server's name. Any name that is not an end counts as running. */
export const runStatusOf = (name: string): RunStatus => STATUS[name] ?? 'running'

/** A run, as the server lists and describes it. */
type Run = Omit<WorkflowExecutionInfo, 'raw'>

/** How long to wait for a query. The server itself waits longer for a worker than a page may take. */
const QUERY_TIMEOUT_MS = 3000

/** What is known of a run without a worker. Temporal keeps no result of a cancelled run: it is in the memo. */
export async function toRun(client: Client, run: Run): Promise<WorkflowInfo> {
  const status = runStatusOf(run.status.name)
  const { workflowId, runId, type, startTime, closeTime, memo } = run
  return {
    workflowId,
    runId,
    type,
    status,
    startedAt: startTime.toISOString(),
    closedAt: closeTime?.toISOString() ?? null,
    state: run.typedSearchAttributes.get(SEARCH_ATTRIBUTES.state) ?? null,
    input: memo?.['input'] ?? null,
    ...(status === 'running' || status === 'cancelled'
      ? { result: memo?.['result'] ?? null, failure: null }
      : await endOf(client, workflowId, runId)),
  }
}

async function endOf(client: Client, id: string, runId: string): Promise<Pick<WorkflowInfo, 'result' | 'failure'>> {
  const handle = client.workflow.getHandle(id, runId, { followRuns: false })
  try {
    return { result: (await handle.result()) ?? null, failure: null }
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error
    const { cause } = error
    const code = cause instanceof ApplicationFailure ? (cause.type ?? 'internal_error') : 'internal_error'
    return { result: null, failure: { code, detail: cause?.message ?? error.message } }
  }
}

/** The latest run of an id. @throws WorkflowNotFoundError, also for another tenant's */
export async function describeOfTenant(client: Client, workflowId: string, tenantId: string) {
  const run = await client.workflow.getHandle(workflowId).describe()
  if (run.typedSearchAttributes.get(SEARCH_ATTRIBUTES.tenant) === tenantId) return run
  throw new WorkflowNotFoundError(`not a workflow of tenant ${tenantId}`, workflowId, undefined)
}

export function startIdOf({ memo }: Pick<Run, 'memo'>): string | null {
  const startId = memo?.['startId']
  return typeof startId === 'string' ? startId : null
}

/** The latest run of an id, without a query. Needs no worker. */
export async function readLatestRun(client: Client, workflowId: string, tenantId: string): Promise<LatestRun> {
  const run = await describeOfTenant(client, workflowId, tenantId)
  return { ...(await toRun(client, run)), startId: startIdOf(run) }
}

/** The latest run of an id, with its own result of the query `state`. */
export async function readRun(client: Client, workflowId: string, tenantId: string): Promise<LatestRun> {
  const handle = client.workflow.getHandle(workflowId)
  const run = await describeOfTenant(client, workflowId, tenantId)
  const [known, state] = await Promise.all([
    toRun(client, run),
    client.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () => handle.query('state')).catch(() => undefined),
  ])
  return { ...known, ...(state !== undefined && { state }), startId: startIdOf(run) }
}
