/** Activities that fail again and again: the list, and the reports of workers. */
import { strictObject } from '../../../domain/schema.ts'
import { TroubleQuery, TroubleReport, Troubles } from '../../../domain/workflows/trouble.ts'
import { listTroubles } from '../../../service/workflows/list-troubles.ts'
import { noteTroubles } from '../../../service/workflows/note-troubles.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { mustBeOwn } from './updates.ts'

const route = internalRoutes('Workflows')

export const troubleRoutes = [
  route('GET', '/workflows/troubles', {
    operationId: 'listTroubles',
    summary: 'Activities that fail again and again, the longest retried first',
    description:
      'An activity is listed from its third failed attempt on. Temporal is asked about each of the page: those that no longer retry are left out. `totalItems` counts the 1,000 longest retried at most.',
    query: TroubleQuery,
    response: { 200: Troubles },
    handle: (request, { store, workflowClient }) => listTroubles(store, workflowClient, request),
  }),
  route('POST', '/workflows/troubles', {
    operationId: 'noteTroubles',
    summary: 'Report activities that fail again and again, and those that have ended; sent by workers',
    problems: ['workflow_not_found'],
    idempotent: false,
    body: TroubleReport,
    response: { 200: strictObject({}) },
    change: async (tx, { tenantId, body }) => {
      for (const { workflowId } of [...body.failing, ...body.ended]) mustBeOwn(workflowId, tenantId)
      await noteTroubles(tx, body)
      return {}
    },
  }),
]
