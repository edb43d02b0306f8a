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
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { decideHold } from '../../../service/enforcement/decide-hold.ts'
import { pageOfHolds } from '../../../service/enforcement/rows/guard-holds.ts'
import { readEnforcementSettings } from '../../../service/enforcement/rows/guard-settings.ts'
import { readsUsage } from '../../../service/rules/rules-in-force.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const HoldParams = Type.Object({ id: Id('Hold') })

const route = declareRoutes<InternalOptions>('Enforcement')

/** How much the watchdog may suspend: the tenant's switch, the guard and its holds, and the arming of SIMs. */
export const guardRoutes = [
  route('GET', '/tenant/enforcement', {
    operationId: 'readEnforcement',
    summary: 'Whether the watchdog may suspend, and how many at once',
    response: { 200: EnforcementSettings },
    read: readEnforcementSettings,
  }),
  route('PATCH', '/tenant/enforcement', {
    operationId: 'changeEnforcement',
    summary: 'Switch enforcement off or on, or change the limits of the guard',
    description:
      'Switched off, every run stands down: what is suspended stays so until its cycle is renewed. What is left out stays.',
    problems: ['tenant_not_found'],
    body: EnforcementChange,
    response: { 200: EnforcementSettings },
    change: (tx, { body }) => changeEnforcement(tx, body),
  }),
  route('POST', '/enforcement/permits', {
    operationId: 'askPermits',
    summary: 'Ask whether a rule may suspend SIMs now',
    description:
      'Asked by the workflows before they suspend. Beyond what the settings let through in an hour the rest is held, until a person releases or discards it. While the usage feed is stale, rules that read usage get no permit. Asked again, the answer is the same until the alert has cleared.',
    problems: ['sim_not_found', 'pool_not_found', 'cycle_not_found', 'sim_state_conflict'],
    idempotent: false,
    body: PermitRequest,
    response: { 200: PermitResponse },
    change: (tx, { body }, { rules }) => askPermits(tx, body, readsUsage(rules)),
  }),
  route('GET', '/enforcement/holds', {
    operationId: 'listHolds',
    summary: 'What the guard holds or has held, the newest first',
    query: HoldQuery,
    response: { 200: pageOf(Hold) },
    read: (tx, { query }) => pageOfHolds(tx, query),
  }),
  ...(
    [
      ['release', 'released', 'Let what is held be suspended, or told; the count begins anew'],
      ['discard', 'discarded', 'Leave what is held alone, until its alert has cleared'],
    ] as const
  ).map(([name, decision, summary]) =>
    route('POST', `/enforcement/holds/:id/${name}`, {
      operationId: `${name}Hold`,
      summary,
      problems: ['hold_not_found', 'hold_not_open'],
      params: HoldParams,
      response: { 200: HoldResponse },
      change: (tx, { params }) => decideHold(tx, params.id, decision),
    }),
  ),
  route('POST', '/workflows/enforce-pool/arm', {
    operationId: 'armSuspensions',
    summary: "Tell SIMs' suspend-on-overage that their pool's rule stops them, or no longer does",
    description: 'The workflows are told after the answer. Only overLimit starts one.',
    problems: ['sim_not_found', 'pool_not_found', 'cycle_not_found', 'sim_state_conflict'],
    idempotent: false,
    body: ArmRequest,
    response: {
      200: strictObject({
        told: Type.Integer({ minimum: 0, description: 'Workflows that are told' }),
        started: Type.Integer({ minimum: 0, description: 'Of these, those that are started' }),
        armed: Type.Integer({ minimum: 0, description: 'SIMs that the pool had not armed before in the cycle' }),
      }),
    },
    change: (tx, { body }) => armSims(tx, body),
  }),
]
