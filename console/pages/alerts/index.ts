import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { ALERT_ACTS, readAlert } from './acts.ts'
import { AlertsQuery, alertsPage } from './list.ts'
import { alertPage } from './show.ts'

/** The pages of alerts. @param clock epoch milliseconds */
export function alertRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: AlertsQuery }>(
    '/t/:tenant/alerts',
    { schema: { querystring: AlertsQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await alertsPage(calls, tenant, request.query, clock())
      return sendPage(reply, {
        title: 'Alerts',
        main,
        tenant,
        current: 'alerts',
      })
    },
  )
  app.get<{ Params: ObjectParams; Querystring: Done }>(
    '/t/:tenant/alerts/:id',
    { schema: { params: OBJECT_PATHS.alerts, querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const alert = await readAlert(calls, request.params.id)
      const main = await alertPage(calls, tenant, alert, { now: clock(), said: doneNotice(request, ALERT_ACTS) })
      return sendPage(reply, {
        title: alert.rule,
        main,
        tenant,
        current: 'alerts',
      })
    },
  )
  for (const act of ALERT_ACTS) actRoutes(app, doors, clock, act)
}
