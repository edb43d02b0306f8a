import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { REPLAY, WEBHOOK_ACTS } from './acts.ts'
import { WebhookPageQuery, webhookPage, webhooksPage } from './show.ts'

/** The pages of webhooks. @param clock epoch milliseconds */
export function webhookRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams }>('/t/:tenant/webhooks', async (request, reply) => {
    const { calls, tenant } = await callsFor(request, doors)
    const main = await webhooksPage(calls, tenant.id, clock())
    return sendPage(reply, { title: 'Webhooks', main, tenant, current: 'webhooks' })
  })
  app.get<{ Params: ObjectParams; Querystring: WebhookPageQuery }>(
    '/t/:tenant/webhooks/:id',
    { schema: { params: OBJECT_PATHS.webhooks, querystring: WebhookPageQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { id } = request.params
      const said = doneNotice(request, [...WEBHOOK_ACTS, REPLAY])
      const main = await webhookPage(calls, tenant.id, id, { query: request.query, now: clock(), said })
      return sendPage(reply, { title: `Webhook ${id}`, main, tenant, current: 'webhooks' })
    },
  )
  for (const act of WEBHOOK_ACTS) actRoutes(app, doors, clock, act)
  actRoutes(app, doors, clock, REPLAY)
}
