import { Type } from 'typebox'
import {
  ActionRequest,
  PoolEnforcement,
  SimEnforcement,
  SuspensionChange,
} from '../../../domain/enforcement/enforcement.ts'
import { IdResponse, strictObject } from '../../../domain/schema.ts'
import { ArmedQuery, ArmedSims } from '../../../domain/workflows/workflow.ts'
import { armedSims } from '../../../service/enforcement/arm-sims.ts'
import { logAction } from '../../../service/enforcement/log-action.ts'
import { poolEnforcement, simEnforcement } from '../../../service/enforcement/read-enforcement.ts'
import { setSuspensionUntil } from '../../../service/enforcement/set-suspension-until.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { PoolParams, SimParams } from '../../http/params.ts'
import { actionOf } from '../../openapi/together.ts'

const Cycle = Type.String({ minLength: 1, maxLength: 32, description: 'Key of the cycle' })
const Rule = Type.String({ minLength: 1, maxLength: 100, description: 'The requesting rule' })

const route = internalRoutes('Enforcement')

/** Routes of the enforcing workflows: state to read before they act, and reports of their actions. */
export const enforcementRoutes = [
  route('GET', '/sims/:id/enforcement', {
    operationId: 'readSimEnforcement',
    summary: 'State of a SIM for enforcement; default: the running cycle',
    problems: ['sim_not_found', 'cycle_not_found'],
    params: SimParams,
    query: Type.Object({ cycle: Type.Optional(Cycle), rule: Type.Optional(Rule) }),
    response: { 200: SimEnforcement },
    read: (tx, { params, query }) => simEnforcement(tx, params.id, query.cycle ?? null, query.rule ?? null),
  }),
  route('GET', '/pools/:id/enforcement', {
    operationId: 'readPoolEnforcement',
    summary: 'State of a pool for enforcement, with its SIMs to pick from',
    problems: ['pool_not_found', 'cycle_not_found'],
    params: PoolParams,
    query: Type.Object({ cycle: Cycle, rule: Rule }),
    response: { 200: PoolEnforcement },
    read: (tx, { params, query }) => poolEnforcement(tx, params.id, query.cycle, query.rule),
  }),
  route('GET', '/pools/:id/armed-sims', {
    operationId: 'listArmedSims',
    summary: "SIMs armed by a pool's enforcement in a cycle, until it is closed",
    problems: ['pool_not_found', 'cycle_not_found'],
    params: PoolParams,
    query: ArmedQuery,
    response: { 200: ArmedSims },
    read: (tx, { params, query }) => armedSims(tx, params.id, query),
  }),
  route('POST', '/watchdog/actions', {
    operationId: 'logAction',
    summary: 'Log an action of enforcement, once',
    problems: ['sim_not_found', 'pool_not_found'],
    also: { body: actionOf('tooLittleToPick') },
    body: ActionRequest,
    response: { 200: strictObject({ logged: Type.Boolean({ description: 'False: logged before' }) }) },
    change: (tx, { body }) => logAction(tx, body),
  }),
  route('PATCH', '/sims/:id/suspension', {
    operationId: 'setSuspensionUntil',
    summary: "Change the end of a suspension by the watchdog; sent by its workflow after a person's update",
    problems: ['sim_not_found', 'sim_state_conflict'],
    params: SimParams,
    body: SuspensionChange,
    response: { 200: IdResponse },
    change: (tx, { params, body }) => setSuspensionUntil(tx, { ...body, id: params.id }),
  }),
]
