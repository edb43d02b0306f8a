import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Alert, AlertNamed, AlertQuery } from '../../../domain/alerts/alert.ts'
import { pageOf } from '../../../domain/page.ts'
import { acknowledgeAlert } from '../../../service/alerts/acknowledge-alert.ts'
import { pageOfAlerts } from '../../../service/alerts/read-alerts.ts'
import { rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'

/** Open alerts. */
export const alertRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const rules = rulesInForce()
  app.get(
    '/alerts',
    {
      schema: {
        operationId: 'listAlerts',
        summary: 'Alerts that have not ended, by rule and subject',
        description:
          'What has resolved is in the watchdog log. An alert that fires and is neither logged nor mailed belongs to a rule in stage shadow, or to one whose stage or mode does not mail.',
        tags: ['Alerts'],
        querystring: AlertQuery,
        response: { 200: pageOf(Alert) },
      },
    },
    ({ tenantId, query }) => inTenant(reading(store), tenantId, (tx) => pageOfAlerts(tx, query, rules)),
  )

  app.post(
    '/alerts/acknowledge',
    {
      config: { problems: ['alert_not_found'] },
      schema: {
        operationId: 'acknowledgeAlert',
        summary: 'Acknowledge an alert that fires: it is not escalated',
        description:
          'Holds until the alert ends. Neither mails nor suspensions are held back: a silence does the one, an exemption the other.',
        tags: ['Alerts'],
        body: AlertNamed,
        response: { 200: AlertNamed },
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, async (tx) => {
        await acknowledgeAlert(tx, request.body)
        return request.body
      }),
  )
}
