import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { DELETE, RUN, readBacktest } from './acts.ts'
import { BacktestsQuery, backtestsPage } from './list.ts'
import { backtestWords } from './marks.ts'
import { backtestPage, ShownQuery } from './show.ts'

/** The pages of backtests. @param clock epoch milliseconds */
export function backtestRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  const current = 'backtests'
  app.get<{ Params: TenantParams; Querystring: BacktestsQuery }>(
    '/t/:tenant/backtests',
    { schema: { querystring: BacktestsQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const seen = { page: request.query.page, now: clock(), said: doneNotice(request, [DELETE]) }
      const main = await backtestsPage(calls, tenant.id, seen)
      return sendPage(reply, { title: 'Backtests', main, tenant, current })
    },
  )
  app.get<{ Params: ObjectParams; Querystring: ShownQuery }>(
    '/t/:tenant/backtests/:id',
    { schema: { params: OBJECT_PATHS.backtests, querystring: ShownQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const backtest = await readBacktest(calls, tenant.id, request.params.id)
      const seen = { query: request.query, said: doneNotice(request, [RUN]) }
      const main = await backtestPage(calls, tenant.id, backtest, seen)
      return sendPage(reply, { title: backtestWords(backtest), main, tenant, current })
    },
  )
  actRoutes(app, doors, clock, RUN)
  actRoutes(app, doors, clock, DELETE)
}
