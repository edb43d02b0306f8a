import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { overviewPage } from './show.ts'

/** The first page of a tenant. @param clock epoch milliseconds */
export function overviewRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams }>('/t/:tenant', async (request, reply) => {
    const { calls, tenant } = await callsFor(request, doors)
    const main = await overviewPage(calls, tenant, clock())
    return sendPage(reply, { title: 'Overview', main, tenant, current: '' })
  })
}
