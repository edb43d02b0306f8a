/** Starts of workflows: once an id, again by a person, or together with a signal. */
import { type Client, WorkflowExecutionAlreadyStartedError, type WorkflowStartOptions } from '@temporalio/client'
import { ServiceError } from '../../domain/errors.ts'
import type { WorkflowType } from '../../domain/temporal/ids.ts'
import type { WorkflowRequest } from '../../domain/temporal/outbox.ts'
import { startOf, type WorkflowSubject } from '../../domain/temporal/start.ts'
import type { RunStatus } from '../../domain/workflows/workflow.ts'
import { runStatusOf, startIdOf } from './read-run.ts'

export interface StartRequest {
  readonly type: WorkflowType
  readonly workflowId: string
  /** The workflow's input: one plain object. */
  readonly input: WorkflowSubject
}

export interface StartedRun {
  readonly workflowId: string
  readonly runId: string
  readonly status: RunStatus
  /** False if the id is running already, or may not run again. */
  readonly started: boolean
}

type SignalWithStart = Extract<WorkflowRequest, { do: 'signalWithStart' }>

export interface StartCalls {
  /** Starts a workflow. A second start of the same id returns the first run. */
  start(request: StartRequest): Promise<StartedRun>
  /**
   * Starts a workflow again under an id that has run, even if its type may not run again. For a person's retry.
   *
   * @param startId repeated while its run goes on, it gets that run
   * @throws ServiceError `workflow_not_retryable` if the id runs because of another request
   */
  startAgain(request: StartRequest, startId: string): Promise<StartedRun>
  /** Signals a workflow, and starts it if it is not running and may run. One that may not run again gets no signal. */
  signalWithStart(request: SignalWithStart): Promise<StartedRun>
}

/** Which ids may run again. Source: docs/workflows.md, table of ids. */
const REUSE = {
  'provision-and-activate': 'ALLOW_DUPLICATE',
  'provision-in-bulk': 'ALLOW_DUPLICATE_FAILED_ONLY',
  'suspend-on-overage': 'REJECT_DUPLICATE',
  'enforce-pool': 'REJECT_DUPLICATE',
  'undo-suspensions': 'ALLOW_DUPLICATE',
  'month-end-reprovision': 'ALLOW_DUPLICATE_FAILED_ONLY',
  'month-end-batch': 'ALLOW_DUPLICATE',
  'month-end-timer': 'ALLOW_DUPLICATE',
} as const satisfies Record<WorkflowType, WorkflowStartOptions['workflowIdReusePolicy']>

const startOptions = ({ type, workflowId, input }: StartRequest, memo: object) => {
  const start = startOf(workflowId, input)
  return { ...start, workflowIdReusePolicy: REUSE[type], memo: { ...start.memo, ...memo } }
}

/** The latest run of an id, as the result of a start that started nothing. */
export async function latestRun(client: Client, workflowId: string): Promise<StartedRun> {
  const { runId, status } = await client.workflow.getHandle(workflowId).describe()
  return { workflowId, runId, status: runStatusOf(status.name), started: false }
}

/** @param call calls the server within the time limit; turns failures into errors of the service */
export const startCalls = (
  call: <T>(work: (client: Client) => Promise<T>, workflowId: string) => Promise<T>,
): StartCalls => ({
  start: (request) =>
    call(async (client) => {
      const { type, workflowId } = request
      try {
        const handle = await client.workflow.start(type, startOptions(request, {}))
        return { workflowId, runId: handle.firstExecutionRunId, status: 'running', started: true }
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return await latestRun(client, workflowId)
        throw error
      }
    }, request.workflowId),

  startAgain: (request, startId) =>
    call(async (client) => {
      const { type, workflowId } = request
      try {
        const options = { ...startOptions(request, { startId }), workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const }
        const handle = await client.workflow.start(type, options)
        return { workflowId, runId: handle.firstExecutionRunId, status: 'running', started: true }
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
        const run = await client.workflow.getHandle(workflowId).describe()
        if (startIdOf(run) === startId) return { workflowId, runId: run.runId, status: 'running', started: false }
        throw new ServiceError('workflow_not_retryable', `workflow ${workflowId} runs already`, { cause: error })
      }
    }, request.workflowId),

  signalWithStart: (request) =>
    call(async (client) => {
      const { type, workflowId, signal } = request
      try {
        // The response does not show whether the call started a run. The memo of the run does.
        const startId = crypto.randomUUID()
        const handle = await client.workflow.signalWithStart(type, {
          ...startOptions(request, { startId }),
          signal,
          signalArgs: [],
        })
        const run = await handle.describe()
        return { workflowId, runId: run.runId, status: 'running', started: startIdOf(run) === startId }
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return await latestRun(client, workflowId)
        throw error
      }
    }, request.workflowId),
})
