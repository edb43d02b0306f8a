/** Stuck or failed workflows: their waits and their restart. */
import { Type } from 'typebox'
import { StartResponse, WorkflowPending } from '../../../domain/workflows/workflow.ts'
import { retryOf } from '../../../service/workflows/retry-of.ts'
import { noteChange } from '../../../store/audit.ts'
import { releaseRun } from '../../../store/outbox.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { idempotentElsewhere } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'

const WorkflowId = Type.Object({ workflowId: Type.String({ maxLength: 300, description: 'Id of the workflow' }) })

const route = declareRoutes<InternalOptions>('Workflows')

export const workflowRetryRoutes = [
  route('GET', '/workflows/:workflowId/pending', {
    operationId: 'readPending',
    summary: "A workflow's pending work at Temporal: activities with their attempts and failures, workers",
    description: "Needs no worker. The workflow's own view of its waits is in its `state`.",
    problems: ['workflow_not_found'],
    params: WorkflowId,
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
    params: WorkflowId,
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
            // A repeated request whose response was not kept. The workflow is already started, and the audit trail has
            // it.
            if (last.startId === key) return
            retryOf(last)
            const after = { retry: true, after: last.runId }
            await noteChange(tx, { subject: 'workflow', id: workflowId, before: null, after })
            await releaseRun(tx, workflowId)
          },
          ask: async (key) => {
            const { runId, status } = last.startId === key ? last : await workflowClient.startAgain(retryOf(last), key)
            return { workflowId, runId, status }
          },
        },
        { status: 202 },
      )
    },
  }),
]
