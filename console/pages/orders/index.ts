import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { pageQuery } from '../../../domain/page.ts'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { PAYMENT, readOrder, STEPS } from './acts.ts'
import { OrdersQuery, ordersPage } from './list.ts'
import { CHANGE_PRICES, NEW_ORDER } from './new.ts'
import { orderPage } from './show.ts'

const ListQuery = Type.Object({ ...OrdersQuery.properties, ...Done.properties })
const PageQuery = Type.Object({ page: pageQuery.page, ...Done.properties })

/** The pages of orders. @param clock epoch milliseconds */
export function orderRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: Static<typeof ListQuery> }>(
    '/t/:tenant/orders',
    { schema: { querystring: ListQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { done: _, ...query } = request.query
      const shown = { now: clock(), said: doneNotice(request, [CHANGE_PRICES]) }
      const main = await ordersPage(calls, `/t/${tenant.id}/orders`, query, shown)
      return sendPage(reply, { title: 'Orders', main, tenant, current: 'orders' })
    },
  )
  app.get<{ Params: ObjectParams; Querystring: Static<typeof PageQuery> }>(
    '/t/:tenant/orders/:id',
    { schema: { params: OBJECT_PATHS.orders, querystring: PageQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const order = await readOrder(calls, request.params.id)
      const shown = { page: request.query.page ?? 1, said: doneNotice(request, [...STEPS, PAYMENT, NEW_ORDER]) }
      const main = await orderPage(calls, `/t/${tenant.id}`, order, shown)
      return sendPage(reply, { title: `Order ${order.id}`, main, tenant, current: 'orders' })
    },
  )
  for (const step of STEPS) actRoutes(app, doors, clock, step)
  actRoutes(app, doors, clock, PAYMENT)
  actRoutes(app, doors, clock, NEW_ORDER)
  actRoutes(app, doors, clock, CHANGE_PRICES)
}
