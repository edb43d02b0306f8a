import { Type } from 'typebox'
import { PassOver, StartUndo, SuspendingRules, UndoPage, UndoQuery } from '../../../domain/enforcement/undo.ts'
import { strictObject } from '../../../domain/schema.ts'
import { readSuspendingRules } from '../../../service/enforcement/rows/undo.ts'
import { passOverSims, undoInput, undoPage } from '../../../service/enforcement/undo-suspensions.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'
import { noteAsked } from '../workflows/updates.ts'
import { answerStart, START_RESPONSES } from '../workflows/workflows.ts'

const route = internalRoutes('Enforcement')
const workflowRoute = internalRoutes('Workflows')

/** Undoes the suspensions of one rule. */
export const undoRoutes = [
  workflowRoute('POST', '/workflows/undo-suspensions', {
    operationId: 'startUndoSuspensions',
    summary: 'Undo the suspensions of one rule since a time',
    description:
      'Also covers SIMs about to be suspended. The watchdog does not suspend any of them again in this cycle. Suspensions by a person stay. A pool still above its limit picks other SIMs: first remove the rule, or switch enforcement off.',
    idempotent: false,
    body: StartUndo,
    response: START_RESPONSES,
    handle: async (request, { store, workflowClient, reply }) => {
      const { workflowId, input } = await inTenant(onBehalfOf(store, request), request.tenantId, async (tx) => {
        const start = undoInput(tx, request.body)
        await noteAsked(tx, start.workflowId, start.input)
        return start
      })
      return answerStart(reply, await workflowClient.start({ type: 'undo-suspensions', workflowId, input }))
    },
  }),
  route('GET', '/enforcement/suspensions', {
    operationId: 'listSuspensionsOfRule',
    isOpenTo: 'read',
    summary: 'SIMs suspended by a rule in a time span, or about to be',
    query: UndoQuery,
    response: { 200: UndoPage },
    read: (tx, { query }) => undoPage(tx, query),
  }),
  route('GET', '/enforcement/suspending-rules', {
    operationId: 'listSuspendingRules',
    isOpenTo: 'read',
    summary: 'Rules that have SIMs suspended now, with their number',
    response: { 200: SuspendingRules },
    read: readSuspendingRules,
  }),
  route('POST', '/enforcement/pass-over', {
    operationId: 'passOverSims',
    summary: 'Exclude SIMs from enforcement until a cycle ends',
    problems: ['sim_not_found', 'cycle_not_found'],
    idempotent: false,
    body: PassOver,
    response: { 200: strictObject({ passedOver: Type.Integer({ minimum: 0, description: 'SIMs' }) }) },
    change: (tx, { body }) => passOverSims(tx, body),
  }),
]
