import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { allows } from '../../../domain/tenants/tenant.ts'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { actsOn, STATE_ACTS } from './acts.ts'
import { historyPage } from './history.ts'
import { SimsQuery, simsPage } from './list.ts'
import { MORE_ACTS, MOVE, SHOW_CODE } from './more-acts.ts'
import { simPage } from './show.ts'
import { readSimNamed } from './sim-act.ts'

const SimPath = Type.Object({ tenant: Type.String(), sim: Type.String() })

/** The pages of SIMs. @param clock epoch milliseconds */
export function simRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: SimsQuery }>(
    '/t/:tenant/sims',
    { schema: { querystring: SimsQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const isOperator = request.session?.tenantId === null
      const main = await simsPage(calls, tenant, request.query, { now: clock(), isOperator })
      return sendPage(reply, { title: 'SIMs', main, tenant, current: 'sims' })
    },
  )
  app.get<{ Params: Static<typeof SimPath>; Querystring: Done }>(
    '/t/:tenant/sims/:sim',
    { schema: { params: SimPath, querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const sim = await readSimNamed(calls, request.params.sim)
      const isOperator = request.session?.tenantId === null
      // A new state is said until it is carried out: then its badge says so.
      const said = doneNotice(request, [...actsOn(sim), ...MORE_ACTS, MOVE])
      const seesCodes = allows(request.session?.scopes ?? [], 'esim')
      const main = await simPage(calls, tenant, sim, { now: clock(), said, isOperator, seesCodes })
      const title = sim.tag || sim.iccid
      return sendPage(reply, { title, main, tenant, current: 'sims' })
    },
  )
  app.get<{ Params: Static<typeof SimPath> }>(
    '/t/:tenant/sims/:sim/history',
    { schema: { params: SimPath } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const sim = await readSimNamed(calls, request.params.sim)
      const main = await historyPage(calls, tenant, sim, clock())
      return sendPage(reply, { title: `History of ${sim.tag || sim.iccid}`, main, tenant, current: 'sims' })
    },
  )
  for (const act of [...STATE_ACTS, ...MORE_ACTS]) actRoutes(app, doors, clock, act)
  actRoutes(app, doors, clock, MOVE)
  actRoutes(app, doors, clock, SHOW_CODE)
}
