import { Type } from 'typebox'
import {
  DecisionQuery,
  EnforcementChange,
  EnforcementSettings,
  Hold,
  HoldQuery,
  HoldResponse,
  PermitRequest,
  PermitResponse,
} from '../../../domain/enforcement/guard.ts'
import { PageQuery, pageOf } from '../../../domain/page.ts'
import { Id, strictObject } from '../../../domain/schema.ts'
import { SimSummary } from '../../../domain/sims/sim.ts'
import { ArmRequest } from '../../../domain/workflows/workflow.ts'
import { armSims } from '../../../service/enforcement/arm-sims.ts'
import { askPermits } from '../../../service/enforcement/ask-permits.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { decideHold } from '../../../service/enforcement/decide-hold.ts'
import { pageOfHeldSims } from '../../../service/enforcement/page-of-held-sims.ts'
import { pageOfHolds, readEnforcementSettings, readHold } from '../../../service/enforcement/rows/guard.ts'
import { readsUsage } from '../../../service/rules/rules-in-force.ts'
import { internalRoutes } from '../../http/declare-routes.ts'

const HoldParams = Type.Object({ id: Id('Hold') })

const route = internalRoutes('Enforcement')

/** How much the watchdog may suspend: the tenant's switch, the guard and its holds, and the arming of SIMs. */
export const guardRoutes = [
  route('GET', '/tenant/enforcement', {
    operationId: 'readEnforcement',
    summary: 'Whether the watchdog may suspend, and the limits of the guard',
    response: { 200: EnforcementSettings },
    read: readEnforcementSettings,
  }),
  route('PATCH', '/tenant/enforcement', {
    operationId: 'changeEnforcement',
    summary: 'Switch enforcement off or on, or change the limits of the guard',
    description:
      'Switched off, every run stops: suspended SIMs stay suspended until the renewal of their cycle. Omitted fields stay unchanged.',
    body: EnforcementChange,
    response: { 200: EnforcementSettings },
    change: (tx, { body }) => changeEnforcement(tx, body),
  }),
  route('POST', '/enforcement/permits', {
    operationId: 'askPermits',
    summary: 'Ask whether a rule may suspend SIMs now',
    description:
      'Called by workflows before they suspend. SIMs above the hourly limit are held until a person releases or discards them. While the usage feed is stale, rules that read usage get no permit. A repeated request gets the same answer until the alert has cleared.',
    problems: ['sim_not_found', 'pool_not_found', 'cycle_not_found', 'sim_state_conflict'],
    idempotent: false,
    body: PermitRequest,
    response: { 200: PermitResponse },
    change: (tx, { body }, { rules }) => askPermits(tx, body, readsUsage(rules)),
  }),
  route('GET', '/enforcement/holds', {
    operationId: 'listHolds',
    summary: 'Holds of the guard, newest first',
    query: HoldQuery,
    response: { 200: pageOf(Hold) },
    read: (tx, { query }) => pageOfHolds(tx, query),
  }),
  route('GET', '/enforcement/holds/:id', {
    operationId: 'getHold',
    summary: 'A hold of the guard',
    problems: ['hold_not_found'],
    params: HoldParams,
    response: { 200: Hold },
    read: (tx, { params }) => readHold(tx, params.id),
  }),
  route('GET', '/enforcement/holds/:id/sims', {
    operationId: 'listHeldSims',
    summary:
      'SIMs of a hold of suspensions, in the order in which they were held; with their usage in the running cycle',
    description:
      'Those that wait; after a decision, those decided about. Alerts of a hold: `GET /internal/alerts?holdId=`.',
    problems: ['hold_not_found'],
    params: HoldParams,
    query: PageQuery,
    response: { 200: pageOf(SimSummary) },
    read: (tx, { params, query }) => pageOfHeldSims(tx, params.id, query),
  }),
  ...(
    [
      ['release', 'released', 'Release a hold: its SIMs may be suspended, its alerts mailed; the count starts again'],
      ['discard', 'discarded', 'Discard a hold: its SIMs or alerts stay untouched until the alert has cleared'],
    ] as const
  ).map(([name, decision, summary]) =>
    route('POST', `/enforcement/holds/:id/${name}`, {
      operationId: `${name}Hold`,
      summary,
      problems: ['hold_not_found', 'hold_not_open', 'hold_grown'],
      params: HoldParams,
      query: DecisionQuery,
      response: { 200: HoldResponse },
      change: (tx, { params, query }) => decideHold(tx, params.id, decision, query.expect),
    }),
  ),
  route('POST', '/workflows/enforce-pool/arm', {
    operationId: 'armSuspensions',
    summary: "Signal the suspend-on-overage workflows of a pool's SIMs",
    description: 'The workflows get the signal after the answer. Only overLimit starts a workflow.',
    problems: ['sim_not_found', 'pool_not_found', 'cycle_not_found', 'sim_state_conflict'],
    idempotent: false,
    body: ArmRequest,
    response: {
      200: strictObject({
        told: Type.Integer({ minimum: 0, description: 'Signalled workflows' }),
        started: Type.Integer({ minimum: 0, description: 'Started workflows among them' }),
        armed: Type.Integer({ minimum: 0, description: 'SIMs armed by the pool for the first time in the cycle' }),
      }),
    },
    change: (tx, { body }) => armSims(tx, body),
  }),
]
