/** Requests to running, stuck and failed workflows. */
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ServiceError } from '../../../domain/errors.ts'
import { tenantOfWorkflow, workflowTypeOf } from '../../../domain/temporal/ids.ts'
import { UpdateArgs, UpdateResponse, WORKFLOW_UPDATES, type WorkflowUpdate } from '../../../domain/workflows/updates.ts'
import { StartResponse, WorkflowPending } from '../../../domain/workflows/workflow.ts'
import { retryOf } from '../../../service/workflows/retry-of.ts'
import { noteChange } from '../../../store/audit.ts'
import { releaseRun } from '../../../store/outbox.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { idempotentElsewhere } from '../../http/idempotency.ts'
import { WorkflowParams } from '../../http/params.ts'
import { invalid } from '../../http/problems.ts'

const UpdateParams = Type.Object({
  ...WorkflowParams.properties,
  name: Type.String({ maxLength: 50, description: 'Name of an update of this type of workflow' }),
})

/**
 * Refuses requests about another tenant's workflow. Decides by the id alone, without a request to Temporal.
 *
 * @throws ServiceError `workflow_not_found`, as for a workflow that does not exist
 */
export function mustBeOwn(workflowId: string, tenantId: string): void {
  if (tenantOfWorkflow(workflowId) === tenantId) return
  throw new ServiceError('workflow_not_found', `there is no workflow ${workflowId}`)
}

/** Writes a request about a workflow to the audit trail. Call it before the request goes to Temporal. */
export const noteAsked = (tx: TenantTx, workflowId: string, after: object) =>
  noteChange(tx, { subject: 'workflow', id: workflowId, before: null, after })

/** The error for the name of an update or a signal that workflows of this type do not take. */
export function wrongName(kind: 'updates' | 'signals', name: string, taken: readonly string[]): ServiceError {
  const expected = taken.length === 0 ? `none: this workflow takes no ${kind}` : taken.join(', ')
  const detail = `got '${name}', expected ${expected}`
  return new ServiceError('invalid_request', `name: ${detail}`, { errors: [{ parameter: 'name', detail }] })
}

/** The update of this name. @throws ServiceError invalid_request if the workflow's type has no such update */
function updateNamed(workflowId: string, name: string): WorkflowUpdate {
  const taken = WORKFLOW_UPDATES[workflowTypeOf(workflowId) ?? ''] ?? {}
  const update = Object.hasOwn(taken, name) ? taken[name] : undefined
  if (update === undefined) throw wrongName('updates', name, Object.keys(taken))
  return update
}

/**
 * Checks the arguments of an update.
 *
 * @throws ServiceError invalid_request if they do not fit its schema, or if not exactly one of `oneOf` is given
 */
function mustFit(request: FastifyRequest, { args, oneOf }: WorkflowUpdate): void {
  const fits = request.compileValidationSchema(args, 'body')
  if (!fits(request.body)) throw invalid(fits.errors ?? [], 'body')
  if (oneOf === undefined) return
  const given = oneOf.filter((name) => Object(request.body)[name] != null)
  if (given.length === 1) return
  const detail = `give one of ${oneOf.join(', ')}; got ${given.length === 0 ? 'none' : given.join(' and ')}`
  throw new ServiceError('invalid_request', detail, { errors: [{ pointer: '', detail }] })
}

const route = internalRoutes('Workflows')

export const workflowUpdateRoutes = [
  route('POST', '/workflows/:workflowId/updates/:name', {
    operationId: 'updateWorkflow',
    summary: 'Send an update to a running workflow, which accepts or refuses it',
    description:
      'suspend-on-overage takes `resume` `{}`, `keepSuspended` `{until?}` and `extendGrace` `{by}` or ' +
      '`{until}`; month-end-reprovision `retryFailedChanges` `{}`. With an `Idempotency-Key`, a request ' +
      'without an answer can be sent again: the workflow applies it once.',
    problems: ['workflow_not_found', 'workflow_not_running', 'update_refused'],
    also: { parameters: { name: { enum: Object.values(WORKFLOW_UPDATES).flatMap(Object.keys) } } },
    params: UpdateParams,
    body: UpdateArgs,
    response: { 200: UpdateResponse },
    handle: async (request, { store, workflowClient, reply }) => {
      const { tenantId } = request
      const { workflowId, name } = request.params
      const body: UpdateArgs = Object(request.body)
      mustBeOwn(workflowId, tenantId)
      mustFit(request, updateNamed(workflowId, name))
      return idempotentElsewhere(
        store,
        { request, reply },
        {
          before: (tx) => noteAsked(tx, workflowId, { update: name, ...body }),
          ask: (key) => workflowClient.update(workflowId, name, body, key),
        },
      )
    },
  }),
  route('GET', '/workflows/:workflowId/pending', {
    operationId: 'readPending',
    summary: "A workflow's pending work at Temporal: activities with their attempts and failures, workers",
    description: "Needs no worker. The workflow's own view of its waits is in its `state`.",
    problems: ['workflow_not_found'],
    params: WorkflowParams,
    response: { 200: WorkflowPending },
    handle: async ({ tenantId, params }, { workflowClient }) => {
      const pending = await workflowClient.pending(params.workflowId, tenantId)
      return { ...pending, activities: [...pending.activities], children: [...pending.children] }
    },
  }),
  route('POST', '/workflows/:workflowId/retry', {
    operationId: 'retryWorkflow',
    summary: 'Restart a failed workflow, with its id and input',
    description:
      'For runs that failed, were cancelled, were terminated at Temporal or timed out, or ended with the ' +
      'outcome failed, compensated, cancelled or doneWithFailures; even if the id cannot be started again ' +
      'otherwise. A suspension continues with the SIM in its present state; a month end starts again and skips ' +
      'finished steps. Not for a month-end-batch, nor for a provision-in-bulk with a finished list.',
    problems: ['workflow_not_found', 'workflow_not_retryable'],
    params: WorkflowParams,
    response: { 202: StartResponse },
    handle: async (request, { store, workflowClient, reply }) => {
      const { tenantId } = request
      const { workflowId } = request.params
      const last = await workflowClient.look(workflowId, tenantId)
      return idempotentElsewhere(
        store,
        { request, reply },
        {
          before: async (tx, key) => {
            // A repeated request whose response was not kept. The workflow is already started, and the audit trail has it.
            if (last.startId === key) return
            retryOf(last)
            await noteAsked(tx, workflowId, { retry: true, after: last.runId })
            await releaseRun(tx, workflowId)
          },
          ask: async (key) => {
            const { runId, status } = last.startId === key ? last : await workflowClient.startAgain(retryOf(last), key)
            return { workflowId, runId, status }
          },
        },
      )
    },
  }),
]
