import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { RETRY, SCHEDULE_ACTS, START } from './acts.ts'
import { CyclesQuery, cyclesPage } from './list.ts'
import { cyclePage } from './show.ts'

/** The pages of month ends. @param clock epoch milliseconds */
export function monthRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: CyclesQuery }>(
    '/t/:tenant/month',
    { schema: { querystring: CyclesQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const said = doneNotice(request, SCHEDULE_ACTS)
      const main = await cyclesPage(calls, tenant.id, { ...request.query, now: clock(), said })
      return sendPage(reply, { title: 'Month end', main, tenant, current: 'month' })
    },
  )
  app.get<{ Params: ObjectParams<string>; Querystring: Done }>(
    '/t/:tenant/month/:id',
    { schema: { params: OBJECT_PATHS.month, querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { id } = request.params
      const main = await cyclePage(calls, tenant.id, id, { now: clock(), said: doneNotice(request, [RETRY]) })
      return sendPage(reply, { title: `Cycle ${id}`, main, tenant, current: 'month' })
    },
  )
  for (const act of SCHEDULE_ACTS) actRoutes(app, doors, clock, act)
  actRoutes(app, doors, clock, START)
  actRoutes(app, doors, clock, RETRY)
}
