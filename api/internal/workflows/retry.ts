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
    summary: 'What a workflow waits for at Temporal: activities with their attempts and failures, workers',
    description: "Answers without a worker too. What it waits for in its own words is in the workflow's `state`.",
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
    summary: 'Start a workflow that has failed again, under its id and with its input',
    description:
      'For a run that failed, was cancelled, was stopped at Temporal or timed out, and for one that ended with ' +
      'the outcome failed, compensated, cancelled or doneWithFailures. Also where its id may not run again ' +
      'otherwise. A suspension takes over its SIM as the run before has left it; a month end begins anew and finds ' +
      'done what is done. Not for a month-end-batch, nor for a provision-in-bulk that is through its list.',
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
