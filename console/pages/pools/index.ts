import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { Id } from '../../../domain/schema.ts'
import { mustAnswer } from '../../answers.ts'
import type { Doors } from '../../calls.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { PoolsQuery, poolsPage } from './list.ts'
import { poolPage } from './show.ts'

const PoolPath = Type.Object({ tenant: Type.String(), id: Id('Pool') })

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
  app.get<{ Params: TenantParams & { readonly id: number } }>(
    '/t/:tenant/pools/:id',
    { schema: { params: PoolPath } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const path = { id: request.params.id }
      const pool = await mustAnswer(calls.outside.GET('/api/pools/{id}', { params: { path } }))
      const main = await poolPage(calls, tenant, pool, clock())
      return sendPage(reply, { title: pool.name, main, tenant, current: 'pools' })
    },
  )
}
