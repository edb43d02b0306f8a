import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import {
  EnforcementChange,
  EnforcementSettings,
  Hold,
  HoldQuery,
  HoldResponse,
  PermitRequest,
  PermitResponse,
} from '../../../domain/enforcement/guard.ts'
import { pageOf } from '../../../domain/page.ts'
import { Id, strictObject } from '../../../domain/schema.ts'
import { ArmRequest } from '../../../domain/workflows/workflow.ts'
import { armSims } from '../../../service/enforcement/arm-sims.ts'
import { askPermits } from '../../../service/enforcement/ask-permits.ts'
import { changeEnforcement } from '../../../service/enforcement/change-settings.ts'
import { decideHold } from '../../../service/enforcement/decide-hold.ts'
import { pageOfHolds } from '../../../service/enforcement/rows/guard-holds.ts'
import { readEnforcementSettings } from '../../../service/enforcement/rows/guard-settings.ts'
import { readsUsage, rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { changeInTenant, onBehalfOf } from '../../http/change.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'

const HoldParams = Type.Object({ id: Id('Hold') })

/** How much the watchdog may suspend: the tenant's switch, the guard and its holds, and the arming of SIMs. */
export const guardRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const tags = ['Enforcement']
  const ofUsage = readsUsage(rulesInForce())

  app.get(
    '/tenant/enforcement',
    {
      schema: {
        operationId: 'readEnforcement',
        summary: 'Whether the watchdog may suspend, and how many at once',
        tags,
        response: { 200: EnforcementSettings },
      },
    },
    ({ tenantId }) => inTenant(reading(store), tenantId, readEnforcementSettings),
  )

  app.patch(
    '/tenant/enforcement',
    {
      config: { problems: ['tenant_not_found'] },
      schema: {
        operationId: 'changeEnforcement',
        summary: 'Switch enforcement off or on, or change the limits of the guard',
        description:
          'Switched off, every run stands down: what is suspended stays so until its cycle is renewed. What is left out stays.',
        tags,
        body: EnforcementChange,
        response: { 200: EnforcementSettings },
      },
    },
    (request) => changeInTenant(store, request, (tx) => changeEnforcement(tx, request.body)),
  )

  app.post(
    '/enforcement/permits',
    {
      config: {
        problems: ['sim_not_found', 'pool_not_found', 'cycle_not_found', 'sim_state_conflict'],
        idempotent: false,
      },
      schema: {
        operationId: 'askPermits',
        summary: 'Ask whether a rule may suspend SIMs now',
        description:
          'Asked by the workflows before they suspend. Beyond what the settings let through in an hour the rest is held, until a person releases or discards it. While the usage feed is stale, rules that read usage get no permit. Asked again, the answer is the same until the alert has cleared.',
        tags,
        body: PermitRequest,
        response: { 200: PermitResponse },
      },
    },
    (request) => inTenant(onBehalfOf(store, request), request.tenantId, (tx) => askPermits(tx, request.body, ofUsage)),
  )

  app.get(
    '/enforcement/holds',
    {
      schema: {
        operationId: 'listHolds',
        summary: 'What the guard holds or has held, the newest first',
        tags,
        querystring: HoldQuery,
        response: { 200: pageOf(Hold) },
      },
    },
    ({ tenantId, query }) => inTenant(reading(store), tenantId, (tx) => pageOfHolds(tx, query)),
  )

  for (const [name, decision, summary] of [
    ['release', 'released', 'Let what is held be suspended, or told; the count begins anew'],
    ['discard', 'discarded', 'Leave what is held alone, until its alert has cleared'],
  ] as const) {
    app.post(
      `/enforcement/holds/:id/${name}`,
      {
        config: { problems: ['hold_not_found', 'hold_not_open'] },
        schema: {
          operationId: `${name}Hold`,
          summary,
          tags,
          params: HoldParams,
          response: { 200: HoldResponse },
        },
      },
      (request, reply) =>
        idempotentInTenant(store, { request, reply }, (tx) => decideHold(tx, request.params.id, decision)),
    )
  }

  app.post(
    '/workflows/enforce-pool/arm',
    {
      config: {
        problems: ['sim_not_found', 'pool_not_found', 'cycle_not_found', 'sim_state_conflict'],
        idempotent: false,
      },
      schema: {
        operationId: 'armSuspensions',
        summary: "Tell SIMs' suspend-on-overage that their pool's rule stops them, or no longer does",
        description: 'The workflows are told after the answer. Only overLimit starts one.',
        tags,
        body: ArmRequest,
        response: {
          200: strictObject({
            told: Type.Integer({ minimum: 0, description: 'Workflows that are told' }),
            started: Type.Integer({ minimum: 0, description: 'Of these, those that are started' }),
            armed: Type.Integer({ minimum: 0, description: 'SIMs that the pool had not armed before in the cycle' }),
          }),
        },
      },
    },
    (request) => inTenant(onBehalfOf(store, request), request.tenantId, (tx) => armSims(tx, request.body)),
  )
}
