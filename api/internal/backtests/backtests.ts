import { Type } from 'typebox'
import { Backtest, BacktestDetail, BacktestQuery, MOST_CYCLES } from '../../../domain/backtests/backtest.ts'
import { pageOf } from '../../../domain/page.ts'
import { RuleVersion } from '../../../domain/rules/rule-change.ts'
import { Id, IdResponse, strictObject, Text } from '../../../domain/schema.ts'
import { askBacktest, checkQuestion } from '../../../service/backtests/ask-backtest.ts'
import { deleteBacktest, findBacktest, pageOfBacktests } from '../../../service/backtests/rows/backtests.ts'
import { takeNoBody } from '../../http/app.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { idempotentInPlatform } from '../../http/idempotency.ts'
import { mustBeFound } from '../../http/problems.ts'
import { filesOfSet, RULES_BYTES } from '../rules/rules.ts'

const NewBacktest = strictObject({
  tenantId: Text('Tenant id', 'tf622080bc0a0', { minLength: 1, maxLength: 60 }),
  version: Type.Optional(RuleVersion),
  files: Type.Optional(filesOfSet('A whole unstored set, in place of a version')),
  cycles: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MOST_CYCLES,
      default: 1,
      description: 'Number of ended billing cycles, the latest ones',
    }),
  ),
})
const OneBacktest = Type.Object({ id: Id('Backtest') })

const route = internalRoutes('Rules', { tenant: 'none' })

/** Backtests that a worker does: what rules would have done in a tenant's past. */
export const backtestRoutes = [
  route('GET', '/rules/backtests', {
    operationId: 'listBacktests',
    summary: 'Backtests, newest first',
    description: 'Without their reports. Ended backtests are kept for 30 days, 200 at most.',
    query: BacktestQuery,
    response: { 200: pageOf(Backtest) },
    readPlatform: (tx, { query }) => pageOfBacktests(tx, query),
  }),
  route('POST', '/rules/backtests', {
    operationId: 'askBacktest',
    summary: 'Request a backtest of rules over a tenant’s past billing cycles',
    description:
      'Takes a version, or files, or neither for the rules in force. The rules are checked at once. A worker runs one backtest at a time, and changes no data of the tenant; read the backtest for its progress.',
    problems: ['tenant_not_found', 'rules_version_not_found', 'rules_rejected', 'backtest_limit'],
    body: NewBacktest,
    response: { 202: Backtest },
    bodyLimit: RULES_BYTES,
    handle: async (request, { store, reply }) => {
      const question = { ...request.body, cycles: request.body.cycles ?? 1 }
      const checked = await checkQuestion(question)
      return idempotentInPlatform(store, { request, reply }, (tx) => askBacktest(tx, question, checked))
    },
  }),
  route('GET', '/rules/backtests/:id', {
    operationId: 'getBacktest',
    summary: 'A backtest with its progress, and its report once done',
    problems: ['backtest_not_found'],
    params: OneBacktest,
    response: { 200: BacktestDetail },
    readPlatform: async (tx, { params: { id } }) =>
      mustBeFound(await findBacktest(tx, id), 'backtest_not_found', `backtest ${id}`),
  }),
  route('DELETE', '/rules/backtests/:id', {
    operationId: 'removeBacktest',
    summary: 'Remove a backtest; stops a running one',
    problems: ['backtest_not_found'],
    bodies: takeNoBody,
    params: OneBacktest,
    response: { 200: IdResponse },
    changePlatform: async (tx, { params: { id } }) => {
      mustBeFound((await deleteBacktest(tx, id)) || undefined, 'backtest_not_found', `backtest ${id}`)
      return { id }
    },
  }),
]
