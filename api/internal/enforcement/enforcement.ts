import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { ActionRequest, PoolEnforcement, SimEnforcement } from '../../../domain/enforcement/enforcement.ts'
import { strictObject } from '../../../domain/schema.ts'
import { ArmedQuery, ArmedSims } from '../../../domain/workflows/workflow.ts'
import { armedSims } from '../../../service/enforcement/arm-sims.ts'
import { logAction } from '../../../service/enforcement/log-action.ts'
import { poolEnforcement, simEnforcement } from '../../../service/enforcement/read-enforcement.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import { PoolParams, SimParams } from '../../http/params.ts'
import { actionOf } from '../../openapi/together.ts'
import type { InternalOptions } from '../../options.ts'

const Cycle = Type.String({ minLength: 1, maxLength: 32, description: 'Key of the cycle' })
const Rule = Type.String({ minLength: 1, maxLength: 100, description: 'Rule that asks to suspend' })

/** Routes of the enforcing workflows: state to read before they act, and logging of their actions. */
export const enforcementRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const tags = ['Enforcement']

  app.get(
    '/sims/:id/enforcement',
    {
      config: { problems: ['sim_not_found', 'cycle_not_found'] },
      schema: {
        operationId: 'readSimEnforcement',
        summary: 'A SIM as enforcement sees it; without a cycle in the running one',
        tags,
        params: SimParams,
        querystring: Type.Object({ cycle: Type.Optional(Cycle), rule: Type.Optional(Rule) }),
        response: { 200: SimEnforcement },
      },
    },
    ({ tenantId, params, query }) =>
      inTenant(reading(store), tenantId, (tx) =>
        simEnforcement(tx, params.id, query.cycle ?? null, query.rule ?? null),
      ),
  )

  app.get(
    '/pools/:id/enforcement',
    {
      config: { problems: ['pool_not_found', 'cycle_not_found'] },
      schema: {
        operationId: 'readPoolEnforcement',
        summary: 'A pool as enforcement sees it, and whom to pick from',
        tags,
        params: PoolParams,
        querystring: Type.Object({ cycle: Cycle, rule: Rule }),
        response: { 200: PoolEnforcement },
      },
    },
    ({ tenantId, params, query }) =>
      inTenant(reading(store), tenantId, (tx) => poolEnforcement(tx, params.id, query.cycle, query.rule)),
  )

  app.get(
    '/pools/:id/armed-sims',
    {
      config: { problems: ['pool_not_found', 'cycle_not_found'] },
      schema: {
        operationId: 'listArmedSims',
        summary: 'SIMs that the enforcement of a pool has armed in a cycle, until that is closed',
        tags,
        params: PoolParams,
        querystring: ArmedQuery,
        response: { 200: ArmedSims },
      },
    },
    ({ tenantId, params, query }) => inTenant(reading(store), tenantId, (tx) => armedSims(tx, params.id, query)),
  )

  app.post(
    '/watchdog/actions',
    {
      config: { problems: ['sim_not_found', 'pool_not_found'], also: { body: actionOf('tooLittleToPick') } },
      schema: {
        operationId: 'logAction',
        summary: 'Log what enforcement did, once',
        tags,
        body: ActionRequest,
        response: { 200: strictObject({ logged: Type.Boolean({ description: 'False where it was logged before' }) }) },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => logAction(tx, request.body)),
  )
}
