import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { POOL_ACTS, readPool } from './acts.ts'
import { PoolsQuery, poolsPage } from './list.ts'
import { poolPage } from './show.ts'

/** The pages of pools. @param clock epoch milliseconds */
export function poolRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: PoolsQuery }>(
    '/t/:tenant/pools',
    { schema: { querystring: PoolsQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await poolsPage(calls, tenant, request.query)
      return sendPage(reply, { title: 'Pools', main, tenant, current: 'pools' })
    },
  )
  app.get<{ Params: ObjectParams; Querystring: Done }>(
    '/t/:tenant/pools/:id',
    { schema: { params: OBJECT_PATHS.pools, querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { pool } = await readPool(calls, request.params.id)
      const main = await poolPage(calls, tenant, pool, { now: clock(), said: doneNotice(request, POOL_ACTS) })
      return sendPage(reply, { title: pool.name, main, tenant, current: 'pools' })
    },
  )
  for (const act of POOL_ACTS) actRoutes(app, doors, clock, act)
}
