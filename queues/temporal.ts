/** Workflows from the service's side: start, signal, cancel, look at and list them. */
import {
  Client,
  Connection,
  isGrpcServiceError,
  ScheduleNotFoundError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
} from '@temporalio/client'
import type { SearchAttributePair } from '@temporalio/common'
import { ServiceError } from '../domain/errors.ts'
import { TASK_QUEUE, type WorkflowRequest, type WorkflowType } from '../domain/lifecycle.ts'
import { ATTRIBUTES, addSearchAttributes } from './temporal-attributes.ts'
import { type LifecycleFilter, type LifecyclePage, listLifecycles } from './temporal-list.ts'
import { type Lifecycle, type LifecycleStatus, readLifecycle, statusOf } from './temporal-read.ts'
import { type MonthEndSchedule, scheduleCalls } from './temporal-schedules.ts'

export interface StartRequest {
  readonly type: WorkflowType
  readonly workflowId: string
  /** The workflow's input of domain/lifecycle.ts: one plain object. */
  readonly input: WorkflowInput
}
export interface WorkflowInput {
  readonly tenantId: string
  readonly simId?: number
  readonly poolId?: number
  readonly cycleKey?: string
}

export interface Started {
  readonly workflowId: string
  readonly runId: string
  readonly status: LifecycleStatus
  /** False where that id runs already, or may not run again. */
  readonly started: boolean
}

export type SignalWithStart = Extract<WorkflowRequest, { do: 'signalWithStart' }>

export interface LifecycleClient {
  /** Starts a workflow; a second start of the same id answers with the first. */
  start(request: StartRequest): Promise<Started>
  /** Signals a workflow, started if it does not run and may run; one that may not run again gets no signal. */
  signalWithStart(request: SignalWithStart): Promise<Started>
  /** @throws ServiceError `workflow_not_running`, `workflow_not_found` */
  signal(workflowId: string, name: string): Promise<void>
  /** Asks a workflow to cancel itself. @throws ServiceError `workflow_not_running`, `workflow_not_found` */
  cancel(workflowId: string): Promise<void>
  /** The latest run of an id. @throws ServiceError `workflow_not_found`, another tenant's included */
  describe(workflowId: string, tenantId: string): Promise<Lifecycle>
  list(filter: LifecycleFilter, page: { readonly page: number; readonly pageSize: number }): Promise<LifecyclePage>
  /** Creates a tenant's month-end Schedule where it is missing; false where it was there. */
  ensureSchedule(schedule: MonthEndSchedule): Promise<boolean>
  /** @throws ServiceError `not_found` where the tenant has no Schedule */
  pauseSchedule(tenantId: string, note: string): Promise<void>
  resumeSchedule(tenantId: string, note: string): Promise<void>
  describeSchedule(tenantId: string): Promise<ScheduleState>
  /** @throws ServiceError `unavailable` where the server does not answer */
  check(): Promise<void>
  close(): Promise<void>
}
export interface ScheduleState {
  readonly scheduleId: string
  readonly paused: boolean
  readonly note: string | null
  readonly nextAt: string | null
  readonly lastAt: string | null
}

/** Which ids may run again. Source: docs/workflows.md, table of ids. */
const REUSE = {
  'provision-and-activate': 'ALLOW_DUPLICATE',
  'suspend-on-overage': 'REJECT_DUPLICATE',
  'enforce-pool': 'REJECT_DUPLICATE',
  'month-end-reprovision': 'ALLOW_DUPLICATE_FAILED_ONLY',
  'month-end-plan': 'REJECT_DUPLICATE',
  'month-end-timer': 'ALLOW_DUPLICATE',
} as const satisfies Record<WorkflowType, WorkflowStartOptions['workflowIdReusePolicy']>

/** How long a call may take, in milliseconds: a server that is away must not hold up a request. */
const CALL_TIMEOUT_MS = 10_000

function attributesOf(input: WorkflowInput): SearchAttributePair[] {
  const { tenantId, simId, poolId, cycleKey } = input
  return [
    { key: ATTRIBUTES.tenant, value: tenantId },
    ...(simId === undefined ? [] : [{ key: ATTRIBUTES.simId, value: simId }]),
    ...(poolId === undefined ? [] : [{ key: ATTRIBUTES.poolId, value: poolId }]),
    ...(cycleKey === undefined ? [] : [{ key: ATTRIBUTES.cycle, value: cycleKey }]),
  ]
}

const startOptions = ({ type, workflowId, input }: StartRequest, memo: object) => ({
  workflowId,
  taskQueue: TASK_QUEUE,
  args: [input],
  workflowIdReusePolicy: REUSE[type],
  typedSearchAttributes: attributesOf(input),
  memo: { input, ...memo },
})

/**
 * Makes a client that connects when it is first used, and again after it could not.
 *
 * Every call throws ServiceError `unavailable` where the Temporal server does not answer.
 */
export function lifecycleClient({ address, namespace }: { address: string; namespace: string }): LifecycleClient {
  let connecting: Promise<Client> | undefined
  const connect = async () => {
    const connection = await Connection.connect({ address, connectTimeout: '5 seconds' })
    await addSearchAttributes(connection, namespace)
    return new Client({ connection, namespace })
  }
  const connected = () => {
    connecting ??= connect().catch((error: unknown) => {
      connecting = undefined
      throw error
    })
    return connecting
  }

  /** Runs calls against the server, each within the time limit; failures become errors of the service. */
  const call = async <T>(work: (client: Client) => Promise<T>, workflowId = ''): Promise<T> => {
    try {
      const client = await connected()
      return await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => work(client))
    } catch (error) {
      throw asServiceError(error, address, workflowId)
    }
  }

  const existing = async (client: Client, workflowId: string): Promise<Started> => {
    const { runId, status } = await client.workflow.getHandle(workflowId).describe()
    return { workflowId, runId, status: statusOf(status.name), started: false }
  }

  /** Runs something on a workflow that has to run; says whether it is unknown or has ended where it does not. */
  const onRunning = (workflowId: string, act: (client: Client) => Promise<unknown>) =>
    call(async (client) => {
      try {
        await act(client)
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error
        const { status } = await existing(client, workflowId)
        throw new ServiceError(
          'workflow_not_running',
          `workflow ${workflowId} is ${status}; only a running one takes this`,
        )
      }
    }, workflowId)

  return {
    start: (request) =>
      call(async (client) => {
        const { type, workflowId } = request
        try {
          const handle = await client.workflow.start(type, startOptions(request, {}))
          return { workflowId, runId: handle.firstExecutionRunId, status: 'running', started: true }
        } catch (error) {
          if (error instanceof WorkflowExecutionAlreadyStartedError) return await existing(client, workflowId)
          throw error
        }
      }, request.workflowId),

    signalWithStart: (request) =>
      call(async (client) => {
        const { type, workflowId, signal } = request
        try {
          // The answer does not say whether it started one; the memo of the run does.
          const startId = crypto.randomUUID()
          const handle = await client.workflow.signalWithStart(type, {
            ...startOptions(request, { startId }),
            signal,
            signalArgs: [],
          })
          const { memo, runId } = await handle.describe()
          return { workflowId, runId, status: 'running', started: memo?.['startId'] === startId }
        } catch (error) {
          if (error instanceof WorkflowExecutionAlreadyStartedError) return await existing(client, workflowId)
          throw error
        }
      }, request.workflowId),

    signal: (workflowId, name) => onRunning(workflowId, (client) => client.workflow.getHandle(workflowId).signal(name)),
    cancel: (workflowId) => onRunning(workflowId, (client) => client.workflow.getHandle(workflowId).cancel()),
    describe: (workflowId, tenantId) => call((client) => readLifecycle(client, workflowId, tenantId), workflowId),
    list: (filter, page) => call((client) => listLifecycles(client, filter, page)),
    ...scheduleCalls(call),
    check: () => call(async (client) => void (await client.workflowService.getSystemInfo({}))),
    async close() {
      const client = await connecting?.catch(() => undefined)
      connecting = undefined
      await client?.connection.close()
    },
  }
}

function asServiceError(error: unknown, address: string, workflowId: string): unknown {
  if (error instanceof ServiceError) return error
  if (error instanceof WorkflowNotFoundError) {
    return new ServiceError('workflow_not_found', `there is no workflow ${workflowId}`)
  }
  if (error instanceof ScheduleNotFoundError)
    return new ServiceError('not_found', 'the tenant has no month-end schedule')
  const why = isGrpcServiceError(error) ? error.details : error instanceof Error ? error.message : String(error)
  return new ServiceError('unavailable', `the Temporal server at ${address} does not take the call: ${why}`, {
    cause: error,
  })
}
