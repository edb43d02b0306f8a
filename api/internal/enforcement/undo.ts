import { Type } from 'typebox'
import { PassOver, StartUndo, UndoPage, UndoQuery } from '../../../domain/enforcement/undo.ts'
import { strictObject } from '../../../domain/schema.ts'
import { StartResponse } from '../../../domain/workflows/workflow.ts'
import { passOverSims, undoInput, undoPage } from '../../../service/enforcement/undo-suspensions.ts'
import { noteChange } from '../../../store/audit.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Enforcement')
const workflowRoute = declareRoutes<InternalOptions>('Workflows')

/** Undoes the suspensions of one rule. */
export const undoRoutes = [
  workflowRoute('POST', '/workflows/undo-suspensions', {
    operationId: 'startUndoSuspensions',
    summary: 'Bring back all that one rule has suspended since a time',
    description:
      'SIMs that it is about to suspend are left alone too. The watchdog suspends none of them again in this cycle. What a person has suspended stays. A pool that stays over picks others: take the rule out, or switch enforcement off, before.',
    idempotent: false,
    body: StartUndo,
    response: { 200: StartResponse, 202: StartResponse },
    handle: async (request, { store, workflowClient, reply }) => {
      const { workflowId, input } = await inTenant(onBehalfOf(store, request), request.tenantId, async (tx) => {
        const start = undoInput(tx, request.body)
        await noteChange(tx, { subject: 'workflow', id: start.workflowId, before: null, after: start.input })
        return start
      })
      const run = await workflowClient.start({ type: 'undo-suspensions', workflowId, input })
      reply.code(run.started ? 202 : 200)
      return { workflowId, runId: run.runId, status: run.status }
    },
  }),
  route('GET', '/enforcement/suspensions', {
    operationId: 'listSuspensionsOfRule',
    summary: 'What a rule has suspended in a span of time, and what it is about to suspend',
    query: UndoQuery,
    response: { 200: UndoPage },
    read: (tx, { query }) => undoPage(tx, query),
  }),
  route('POST', '/enforcement/pass-over', {
    operationId: 'passOverSims',
    summary: 'Have the watchdog suspend none of these SIMs again until a cycle ends',
    problems: ['sim_not_found', 'cycle_not_found'],
    idempotent: false,
    body: PassOver,
    response: { 200: strictObject({ passedOver: Type.Integer({ minimum: 0, description: 'SIMs' }) }) },
    change: (tx, { body }) => passOverSims(tx, body),
  }),
]
