import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { WorkflowClient } from '../../../adapters/temporal/client.ts'
import type { StartedRun } from '../../../adapters/temporal/start-calls.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { pageOf, pageRequest, toPage } from '../../../domain/page.ts'
import { strictObject } from '../../../domain/schema.ts'
import { monthEndId, provisionAndActivateId, workflowTypeOf } from '../../../domain/temporal/ids.ts'
import { WORKFLOW_SIGNALS } from '../../../domain/temporal/signals.ts'
import { ASSIGNMENT_PROBLEMS } from '../../../domain/tickets/decisions.ts'
import {
  StartMonthEnd,
  StartProvision,
  StartResponse,
  StartSuspend,
  WorkflowInfo,
  WorkflowQuery,
} from '../../../domain/workflows/workflow.ts'
import { takeSuspendStart } from '../../../service/enforcement/start-suspension.ts'
import { monthEndInput } from '../../../service/month-end/steps.ts'
import { provisionInput, simNamed } from '../../../service/workflows/provision-input.ts'
import { endOwnStart, forgetRefusal } from '../../../store/outbox.ts'
import { inTenant, type Store } from '../../../store/tenancy.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { idempotentElsewhere } from '../../http/idempotency.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'
import { WorkflowParams } from '../../http/params.ts'
import { eitherOf } from '../../openapi/together.ts'
import { mustBeOwn, noteAsked, wrongName } from './updates.ts'

const SignalParams = Type.Object({
  ...WorkflowParams.properties,
  name: Type.String({ maxLength: 50, description: 'Name of a signal of this type of workflow' }),
})

/** Responds 202 to a start, and 200 if the id is running or may not run again. */
export function answerStart(reply: FastifyReply, { workflowId, runId, status, started }: StartedRun) {
  reply.code(started ? 202 : 200)
  return { workflowId, runId, status }
}
export const START_RESPONSES = { 200: StartResponse, 202: StartResponse }

/** The latest run of an id; undefined if Temporal knows none. */
export async function findRun(workflowClient: WorkflowClient, workflowId: string, tenantId: string) {
  try {
    return await workflowClient.look(workflowId, tenantId)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'workflow_not_found') return undefined
    throw error
  }
}

const noteStart = (store: Store, request: FastifyRequest, workflowId: string, after: object) =>
  inTenant(onBehalfOf(store, request), request.tenantId, (tx) => noteAsked(tx, workflowId, after))

const route = internalRoutes('Workflows')

export const workflowRoutes = [
  route('POST', '/workflows/provision-and-activate', {
    operationId: 'startProvisionAndActivate',
    summary: 'Provision and activate a SIM',
    problems: [...ASSIGNMENT_PROBLEMS, 'sim_already_assigned', 'sim_state_conflict'],
    idempotent: false,
    also: { body: eitherOf('simId', 'iccid'), needed: true },
    body: StartProvision,
    response: START_RESPONSES,
    handle: async (request, { store, workflowClient, reply }) => {
      const { tenantId, body } = request
      const simId = await inTenant(store, tenantId, (tx) => simNamed(tx, body))
      const workflowId = provisionAndActivateId(tenantId, simId)
      const run = await findRun(workflowClient, workflowId, tenantId)
      if (run?.status === 'running') return answerStart(reply, { ...run, started: false })
      const input = await inTenant(store, tenantId, (tx) => provisionInput(tx, simId, body))
      await noteStart(store, request, workflowId, input)
      return answerStart(reply, await workflowClient.start({ type: 'provision-and-activate', workflowId, input }))
    },
  }),
  route('POST', '/workflows/suspend-on-overage', {
    operationId: 'startSuspendOnOverage',
    summary: 'Suspend a SIM above its limit; once for each SIM and cycle',
    problems: ['sim_not_found', 'cycle_not_found', 'sim_state_conflict'],
    idempotent: false,
    body: StartSuspend,
    response: START_RESPONSES,
    handle: async (request, { store, workflowClient, reply }) => {
      const { tenantId, body } = request
      const start = await inTenant(onBehalfOf(store, request), tenantId, (tx) => takeSuspendStart(tx, body))
      const { workflowId } = start
      if (start.do === 'answer') {
        const { before, input } = start
        const run = await findRun(workflowClient, workflowId, tenantId)
        if (run !== undefined || before.isComing) {
          return { workflowId, runId: run?.runId ?? '', status: run?.status ?? 'running' }
        }
        if (before.held) {
          const detail = `A person has ended enforcement on SIM ${input.simId} for cycle ${input.cycleKey}.`
          throw new ServiceError('sim_state_conflict', detail)
        }
        // It has run in this cycle and may not run again, but Temporal no longer lists it.
        return { workflowId, runId: '', status: 'completed' as const }
      }
      try {
        const run = await workflowClient.signalWithStart(start.request)
        await inTenant(store, tenantId, (tx) => endOwnStart(tx, start.requestId))
        return answerStart(reply, run)
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'unavailable') throw error
        // The request is accepted: the outbox sends it as soon as Temporal is reachable.
        return answerStart(reply, { workflowId, runId: '', status: 'running', started: true })
      }
    },
  }),
  route('POST', '/workflows/month-end-reprovision', {
    operationId: 'startMonthEnd',
    summary: 'End a billing cycle: apply queued changes, reactivate SIMs, close; once for each cycle',
    problems: ['cycle_not_found', 'cycle_open'],
    idempotent: false,
    body: StartMonthEnd,
    response: START_RESPONSES,
    handle: async (request, { store, workflowClient, workflowOptions, reply }) => {
      const { tenantId, body } = request
      const input = await inTenant(store, tenantId, (tx) => monthEndInput(tx, body, workflowOptions))
      const workflowId = monthEndId(tenantId, input.cycleKey)
      await noteStart(store, request, workflowId, input)
      return answerStart(reply, await workflowClient.start({ type: 'month-end-reprovision', workflowId, input }))
    },
  }),
  route('GET', '/workflows', {
    operationId: 'listWorkflows',
    summary: 'Workflows of a tenant, newest first',
    query: WorkflowQuery,
    response: { 200: pageOf(WorkflowInfo) },
    handle: async ({ tenantId, query: { page: _page, pageSize: _pageSize, ...filter }, query }, { workflowClient }) => {
      const page = pageRequest(query)
      const { items, totalItems } = await workflowClient.list({ tenantId, ...filter }, page)
      return toPage(page, totalItems, [...items])
    },
  }),
  route('GET', '/workflows/:workflowId', {
    operationId: 'readWorkflow',
    summary: 'A workflow, with its state, input and result',
    description:
      "If the address of Temporal's web page is configured, the header `Link` (rel=history) leads to the run's history.",
    problems: ['workflow_not_found'],
    params: WorkflowParams,
    response: { 200: WorkflowInfo },
    handle: async ({ tenantId, params }, { workflowClient, historyUrl, reply }) => {
      const { startId: _startId, ...run } = await workflowClient.describe(params.workflowId, tenantId)
      if (historyUrl != null) reply.header('link', `<${historyUrl(run)}>; rel="history"`)
      return run
    },
  }),
  route('POST', '/workflows/:workflowId/signals/:name', {
    operationId: 'signalWorkflow',
    summary: 'Signal a running workflow',
    problems: ['workflow_not_found', 'workflow_not_running'],
    idempotent: false,
    also: { parameters: { name: { enum: [...new Set(Object.values(WORKFLOW_SIGNALS).flat())] } } },
    params: SignalParams,
    response: { 202: strictObject({}) },
    handle: async (request, { store, workflowClient }) => {
      const { tenantId } = request
      const { workflowId, name } = request.params
      mustBeOwn(workflowId, tenantId)
      const taken = WORKFLOW_SIGNALS[workflowTypeOf(workflowId) ?? ''] ?? []
      if (!taken.includes(name)) throw wrongName('signals', name, taken)
      await inTenant(onBehalfOf(store, request), tenantId, async (tx) => {
        await noteAsked(tx, workflowId, { signal: name })
        if (name === 'overLimit') await forgetRefusal(tx, workflowId)
      })
      await workflowClient.signal(workflowId, name)
      return {}
    },
  }),
  route('POST', '/workflows/:workflowId/cancel', {
    operationId: 'cancelWorkflow',
    summary: 'Request the cancellation of a running workflow',
    problems: ['workflow_not_found', 'workflow_not_running'],
    params: WorkflowParams,
    response: { 202: strictObject({}) },
    handle: async (request, { store, workflowClient, reply }) => {
      const { workflowId } = request.params
      mustBeOwn(workflowId, request.tenantId)
      return idempotentElsewhere(
        store,
        { request, reply },
        {
          before: (tx) => noteAsked(tx, workflowId, { cancel: true }),
          ask: async () => {
            await workflowClient.cancel(workflowId)
            return {}
          },
        },
      )
    },
  }),
]
