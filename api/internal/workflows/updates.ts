import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ServiceError } from '../../../domain/errors.ts'
import { workflowTypeOf } from '../../../domain/temporal/ids.ts'
import { UpdateArgs, UpdateResponse, WORKFLOW_UPDATES, type WorkflowUpdate } from '../../../domain/workflows/updates.ts'
import { noteChange } from '../../../store/audit.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { idempotentElsewhere } from '../../http/idempotency.ts'
import { invalid } from '../../http/problems.ts'
import type { InternalOptions } from '../../options.ts'
import { mustBeOwn } from './own-workflow.ts'

const UpdateParams = Type.Object({
  workflowId: Type.String({ maxLength: 300, description: 'Id of the workflow' }),
  name: Type.String({
    maxLength: 50,
    description: 'Name of an update of this type of workflow',
  }),
})

/**
 * The update of this name.
 *
 * @throws ServiceError invalid_request if the workflow's type has no such update
 */
function updateNamed(workflowId: string, name: string): WorkflowUpdate {
  const taken = WORKFLOW_UPDATES[workflowTypeOf(workflowId) ?? ''] ?? {}
  const update = Object.hasOwn(taken, name) ? taken[name] : undefined
  if (update !== undefined) return update
  const names = Object.keys(taken)
  const expected = names.length === 0 ? 'none: this workflow takes no updates' : names.join(', ')
  const detail = `got '${name}', expected ${expected}`
  throw new ServiceError('invalid_request', `name: ${detail}`, { errors: [{ parameter: 'name', detail }] })
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

const route = declareRoutes<InternalOptions>('Workflows')

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
          before: (tx) =>
            noteChange(tx, { subject: 'workflow', id: workflowId, before: null, after: { update: name, ...body } }),
          ask: (key) => workflowClient.update(workflowId, name, body, key),
        },
      )
    },
  }),
]
