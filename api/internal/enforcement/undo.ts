import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { PassOver, StartUndo, UndoPage, UndoQuery } from '../../../domain/enforcement/undo.ts'
import { strictObject } from '../../../domain/schema.ts'
import { StartResponse } from '../../../domain/workflows/workflow.ts'
import { passOverSims, undoInput, undoPage } from '../../../service/enforcement/undo-suspensions.ts'
import { noteChange } from '../../../store/audit.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { changeInTenant, onBehalfOf } from '../../http/change.ts'
import type { InternalOptions } from '../../options.ts'

/** Undoes the suspensions of one rule. */
export const undoRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store, workflowClient }) => {
  app.post(
    '/workflows/undo-suspensions',
    {
      config: { idempotent: false },
      schema: {
        operationId: 'startUndoSuspensions',
        summary: 'Bring back all that one rule has suspended since a time',
        description:
          'SIMs that it is about to suspend are left alone too. The watchdog suspends none of them again in this cycle. What a person has suspended stays. A pool that stays over picks others: take the rule out, or switch enforcement off, before.',
        tags: ['Workflows'],
        body: StartUndo,
        response: { 200: StartResponse, 202: StartResponse },
      },
    },
    async (request, reply) => {
      const { workflowId, input } = await inTenant(onBehalfOf(store, request), request.tenantId, async (tx) => {
        const start = undoInput(tx, request.body)
        await noteChange(tx, { subject: 'workflow', id: start.workflowId, before: null, after: start.input })
        return start
      })
      const run = await workflowClient.start({ type: 'undo-suspensions', workflowId, input })
      reply.code(run.started ? 202 : 200)
      return { workflowId, runId: run.runId, status: run.status }
    },
  )

  app.get(
    '/enforcement/suspensions',
    {
      schema: {
        operationId: 'listSuspensionsOfRule',
        summary: 'What a rule has suspended in a span of time, and what it is about to suspend',
        tags: ['Enforcement'],
        querystring: UndoQuery,
        response: { 200: UndoPage },
      },
    },
    ({ tenantId, query }) => inTenant(reading(store), tenantId, (tx) => undoPage(tx, query)),
  )

  app.post(
    '/enforcement/pass-over',
    {
      config: { problems: ['sim_not_found', 'cycle_not_found'], idempotent: false },
      schema: {
        operationId: 'passOverSims',
        summary: 'Have the watchdog suspend none of these SIMs again until a cycle ends',
        tags: ['Enforcement'],
        body: PassOver,
        response: { 200: strictObject({ passedOver: Type.Integer({ minimum: 0, description: 'SIMs' }) }) },
      },
    },
    (request) => changeInTenant(store, request, (tx) => passOverSims(tx, request.body)),
  )
}
