import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { pageQuery } from '../../../domain/page.ts'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { NEW_TARIFF, OFFER } from './acts.ts'
import { tariffsPage } from './list.ts'

const Query = Type.Object({ page: pageQuery.page, ...Done.properties })

/** The pages of tariffs. @param clock epoch milliseconds */
export function tariffRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: Static<typeof Query> }>(
    '/t/:tenant/tariffs',
    { schema: { querystring: Query } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const said = doneNotice(request, [NEW_TARIFF, OFFER])
      const main = await tariffsPage(calls, `/t/${tenant.id}/tariffs`, request.query.page ?? 1, said)
      return sendPage(reply, { title: 'Tariffs', main, tenant, current: 'tariffs' })
    },
  )
  actRoutes(app, doors, clock, NEW_TARIFF)
  actRoutes(app, doors, clock, OFFER)
}
