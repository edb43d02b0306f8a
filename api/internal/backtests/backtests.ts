import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { Backtest, BacktestDetail, MOST_CYCLES } from '../../../domain/backtests/backtest.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { PageQuery, pageOf } from '../../../domain/page.ts'
import { RuleVersion } from '../../../domain/rules/rule-change.ts'
import { Id, IdResponse, strictObject, Text } from '../../../domain/schema.ts'
import { askBacktest, checkQuestion } from '../../../service/backtests/ask-backtest.ts'
import { deleteBacktest, findBacktest, pageOfBacktests } from '../../../service/backtests/rows/backtests.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { takeNoBody } from '../../http/app.ts'
import { onBehalfOf } from '../../http/change.ts'
import { idempotentInPlatform } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'
import { filesOfSet, RULES_BYTES } from '../rules/rules.ts'

const NewBacktest = strictObject({
  tenantId: Text('Whose past', 'tf622080bc0a0', { minLength: 1, maxLength: 60 }),
  version: Type.Optional(RuleVersion),
  files: Type.Optional(filesOfSet('A whole set that is not stored, in place of a version')),
  cycles: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MOST_CYCLES,
      default: 1,
      description: 'How many of the billing cycles that ended last',
    }),
  ),
})
const OneBacktest = Type.Object({ id: Id('Backtest') })
const config = { tenant: 'none' } as const
const tags = ['Rules']

const notFound = (id: number) => new ServiceError('backtest_not_found', `There is no backtest ${id}.`)

/** Backtests that a worker does: what rules would have done in a tenant's past. */
export const backtestRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.get(
    '/rules/backtests',
    {
      config,
      schema: {
        operationId: 'listBacktests',
        summary: 'Backtests that were asked for, the newest first',
        description: 'Without their reports. Those that have ended are kept for 30 days, 200 at most.',
        tags,
        querystring: PageQuery,
        response: { 200: pageOf(Backtest) },
      },
    },
    ({ query }) => inPlatform(store, (tx) => pageOfBacktests(tx, query)),
  )

  app.post(
    '/rules/backtests',
    {
      bodyLimit: RULES_BYTES,
      config: {
        ...config,
        problems: ['tenant_not_found', 'rules_version_not_found', 'rules_rejected', 'backtest_limit'],
      },
      schema: {
        operationId: 'askBacktest',
        summary: 'Ask what rules would have done in a tenant’s past billing cycles',
        description:
          'A version, or files, or neither: what is in force now. The rules are checked at once. A worker does one backtest at a time, and changes nothing of the tenant; read it to see how far it is.',
        tags,
        body: NewBacktest,
        response: { 202: Backtest },
      },
    },
    async (request, reply) => {
      const question = { ...request.body, cycles: request.body.cycles ?? 1 }
      const checked = await checkQuestion(question)
      return idempotentInPlatform(store, { request, reply }, (tx) => askBacktest(tx, question, checked), {
        status: 202,
      })
    },
  )

  app.get(
    '/rules/backtests/:id',
    {
      config: { ...config, problems: ['backtest_not_found'] },
      schema: {
        operationId: 'getBacktest',
        summary: 'A backtest: how far it is, and its report once it is done',
        tags,
        params: OneBacktest,
        response: { 200: BacktestDetail },
      },
    },
    async ({ params }) => {
      const found = await inPlatform(store, (tx) => findBacktest(tx, params.id))
      if (found === undefined) throw notFound(params.id)
      return found
    },
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/rules/backtests/:id',
      {
        config: { ...config, problems: ['backtest_not_found'] },
        schema: {
          operationId: 'removeBacktest',
          summary: 'Remove a backtest; one that runs is stopped',
          tags,
          params: OneBacktest,
          response: { 200: IdResponse },
        },
      },
      async (request) => {
        const { id } = request.params
        if (!(await inPlatform(onBehalfOf(store, request), (tx) => deleteBacktest(tx, id)))) throw notFound(id)
        return { id }
      },
    )
  }
  await app.register(withoutBody)
}
