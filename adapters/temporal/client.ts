/** The service's client for workflows: start, signal, update, cancel, read and list them. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Client,
  Connection,
  isGrpcServiceError,
  ScheduleNotFoundError,
  type WorkflowHandle,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import { ServiceError } from '../../domain/errors.ts'
import type { PageRequest } from '../../domain/page.ts'
import type { RunStatus, WorkflowPending } from '../../domain/workflows/workflow.ts'
import { addSearchAttributes } from './add-search-attributes.ts'
import { listWorkflows, type WorkflowFilter, type WorkflowPage } from './list-workflows.ts'
import { type Retry, readPending, readRetries } from './read-pending.ts'
import { type LatestRun, readLatestRun, readRun } from './read-run.ts'
import { type ScheduleCalls, scheduleCalls } from './schedule-calls.ts'
import { latestRun, type StartCalls, startCalls } from './start-calls.ts'

export interface WorkflowClient extends StartCalls, ScheduleCalls {
  /**
   * @param args the signal's arguments; default: none
   * @throws ServiceError `workflow_not_running`, `workflow_not_found`
   */
  signal(workflowId: string, name: string, args?: readonly unknown[]): Promise<void>
  /**
   * Sends an update to a running workflow and waits for its result.
   *
   * @param args the update's only argument
   * @param updateId repeated for the same run, it gets the first result and has no further effect
   * @throws ServiceError `update_refused` with the workflow's message, `workflow_not_running`, `workflow_not_found`,
   * `unavailable` if no worker takes it in time: it may still be taken later
   */
  update(workflowId: string, name: string, args: object, updateId: string): Promise<object>
  /** Asks a workflow to cancel itself. @throws ServiceError `workflow_not_running`, `workflow_not_found` */
  cancel(workflowId: string): Promise<void>
  /** The latest run of an id, with its state if a worker answers in 3 s. @throws ServiceError `workflow_not_found` */
  describe(workflowId: string, tenantId: string): Promise<LatestRun>
  /** As {@link describe}, without a query: its state is the word that lists show. */
  look(workflowId: string, tenantId: string): Promise<LatestRun>
  /** Why the latest run of an id does not go on. @throws ServiceError `workflow_not_found`, also for others' */
  pending(workflowId: string, tenantId: string): Promise<WorkflowPending>
  /**
   * Activities of these workflows with failed attempts. A workflow that has ended, or is another tenant's, has none.
   *
   * @throws ServiceError `unavailable` if the server does not answer within {@link SOON_MS}
   */
  retries(workflowIds: readonly string[], tenantId: string): Promise<readonly Retry[]>
  list(filter: WorkflowFilter, page: PageRequest): Promise<WorkflowPage>
  /** @throws ServiceError `unavailable` if the server does not respond, or if its namespace lacks search attributes */
  check(): Promise<void>
  close(): Promise<void>
}

/** How long a call may take, in milliseconds. An unreachable server must not delay a request. */
const CALL_TIMEOUT_MS = 10_000
/** The same for what a page can do without. */
const SOON_MS = 1500

/**
 * Makes a client that connects when it is first used. After a failed attempt it tries again at the next call.
 *
 * Every call throws ServiceError `unavailable` if the Temporal server does not respond. It throws the error itself if a
 * repetition cannot help.
 */
export function openWorkflowClient({ address, namespace }: { address: string; namespace: string }): WorkflowClient {
  const connection = connectLazily(address, namespace)

  /** Calls the server within the time limit. Turns failures into errors of the service. */
  const call = async <T>(work: (client: Client) => Promise<T>, workflowId = ''): Promise<T> => {
    try {
      const client = await connection.connected()
      return await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => work(client))
    } catch (error) {
      throw asServiceError(error, address, workflowId)
    }
  }

  /** Does something with a workflow, required to run. Otherwise throws whether it is unknown or has ended. */
  const onRunning = <T>(workflowId: string, act: (client: Client) => Promise<T>): Promise<T> =>
    call(async (client) => {
      try {
        return await act(client)
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error
        throw notRunning(workflowId, (await latestRun(client, workflowId)).status)
      }
    }, workflowId)

  return {
    ...startCalls(call),
    signal: (workflowId, name, args = []) =>
      onRunning(workflowId, (client) => client.workflow.getHandle(workflowId).signal(name, ...args)),
    cancel: (workflowId) =>
      onRunning(workflowId, async (client) => {
        const { status } = await latestRun(client, workflowId)
        // Temporal accepts a cancel of an ended run. Sent again after its effect, it is accepted here too.
        if (status !== 'running' && status !== 'cancelled') throw notRunning(workflowId, status)
        await client.workflow.getHandle(workflowId).cancel()
      }),
    update: (workflowId, name, args, updateId) =>
      onRunning(workflowId, (client) =>
        sendUpdate(client.workflow.getHandle(workflowId), name, { args: [args], updateId }),
      ),
    describe: (workflowId, tenantId) => call((client) => readRun(client, workflowId, tenantId), workflowId),
    look: (workflowId, tenantId) => call((client) => readLatestRun(client, workflowId, tenantId), workflowId),
    pending: (workflowId, tenantId) => call((client) => readPending(client, workflowId, tenantId), workflowId),
    retries: (workflowIds, tenantId) =>
      Promise.race([call((client) => readRetries(client, workflowIds, tenantId)), refuseSoon(address)]),
    list: (filter, page) => call((client) => listWorkflows(client, filter, page)),
    ...scheduleCalls(call),
    check: () =>
      call(async (client) => {
        await client.workflowService.getSystemInfo({})
        const missing = await connection.missingAttributes()
        if (missing.length === 0) return
        const detail = `namespace ${namespace} lacks search attributes, which its owner has to add: ${missing.join(', ')}`
        throw new ServiceError('unavailable', detail)
      }),
    close: connection.close,
  }
}

/** @throws ServiceError `unavailable` after {@link SOON_MS} */
async function refuseSoon(address: string): Promise<never> {
  await sleep(SOON_MS, undefined, { ref: false })
  throw new ServiceError('unavailable', `the Temporal server at ${address} has not answered in ${SOON_MS / 1000} s`)
}

const notRunning = (workflowId: string, status: RunStatus): ServiceError =>
  new ServiceError('workflow_not_running', `workflow ${workflowId} is ${status}; only a running one takes this`)

/** Failure type of an update whose run accepted it, but ended before it had a result. */
const ENDED = 'AcceptedUpdateCompletedWorkflow'

/** Sends an update and waits for its result. Turns a refusal into an error of the service. */
async function sendUpdate(
  handle: WorkflowHandle,
  name: string,
  options: { args: [object]; updateId: string },
): Promise<object> {
  const { workflowId } = handle
  try {
    return await handle.executeUpdate<object, [object]>(name, options)
  } catch (error) {
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      const detail = `no worker has answered update ${name} of workflow ${workflowId} in time: it may be taken yet; ask again with the same Idempotency-Key`
      throw new ServiceError('unavailable', detail, { cause: error })
    }
    if (!(error instanceof WorkflowUpdateFailedError)) throw error
    const { cause } = error
    if (cause instanceof ApplicationFailure && cause.type === ENDED) {
      const detail = `workflow ${workflowId} has ended before it answered update ${name}`
      throw new ServiceError('workflow_not_running', detail)
    }
    throw new ServiceError('update_refused', cause?.message ?? error.message, { cause: error })
  }
}

/** The connection to the server, made at its first use. After a failed attempt the next use tries again. */
function connectLazily(address: string, namespace: string) {
  let connecting: Promise<Client> | undefined
  /** The search attributes that the namespace lacks. Checks again until it lacks none. */
  let missingAttributes: () => Promise<readonly string[]> = async () => []
  const connect = async () => {
    const connection = await Connection.connect({ address, connectTimeout: '5 seconds' }).catch((error: unknown) => {
      throw unavailable(error, address)
    })
    let missing = await addSearchAttributes(connection, namespace).catch(async (error: unknown) => {
      await connection.close()
      throw error
    })
    missingAttributes = async () => {
      if (missing.length > 0) missing = await addSearchAttributes(connection, namespace)
      return missing
    }
    return new Client({ connection, namespace })
  }
  return {
    connected: () => {
      connecting ??= connect().catch((error: unknown) => {
        connecting = undefined
        throw error
      })
      return connecting
    },
    missingAttributes: () => missingAttributes(),
    close: async () => {
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
  const status = grpcErrorOf(error)
  // A wrong request, or our own fault, stays wrong after any number of repetitions.
  return status === undefined || status.code === INVALID_ARGUMENT ? error : unavailable(error, address)
}

/** gRPC status of a request that the server cannot carry out, such as one with an unknown search attribute. */
const INVALID_ARGUMENT = 3

/** The gRPC error of the server or its connection. The SDK wraps it in its own errors. */
function grpcErrorOf(error: unknown): { readonly code: number; readonly details: string } | undefined {
  if (isGrpcServiceError(error)) return error
  return error instanceof Error && error.cause !== undefined ? grpcErrorOf(error.cause) : undefined
}

function unavailable(error: unknown, address: string): ServiceError {
  const why = grpcErrorOf(error)?.details ?? (error instanceof Error ? error.message : String(error))
  return new ServiceError('unavailable', `the Temporal server at ${address} does not take the call: ${why}`, {
    cause: error,
  })
}
