import { Alert, AlertNamed, AlertQuery } from '../../../domain/alerts/alert.ts'
import { pageOf } from '../../../domain/page.ts'
import { acknowledgeAlert } from '../../../service/alerts/acknowledge-alert.ts'
import { pageOfAlerts } from '../../../service/alerts/page-of-alerts.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Alerts')

/** Open alerts. */
export const alertRoutes = [
  route('GET', '/alerts', {
    operationId: 'listAlerts',
    summary: 'Open alerts, by rule and subject',
    description:
      'Resolved alerts are in the watchdog log. A firing alert without log entry and mail belongs to a rule in stage shadow, or its stage or mode does not mail.',
    query: AlertQuery,
    response: { 200: pageOf(Alert) },
    read: (tx, { query }, { rules }) => pageOfAlerts(tx, query, rules),
  }),
  route('POST', '/alerts/acknowledge', {
    operationId: 'acknowledgeAlert',
    summary: 'Acknowledge a firing alert to prevent its escalation',
    description:
      'Valid until the alert ends. Mails and suspensions continue: stop mails by a silence, suspensions by an exemption.',
    problems: ['alert_not_found'],
    body: AlertNamed,
    response: { 200: AlertNamed },
    change: async (tx, { body }) => {
      await acknowledgeAlert(tx, body)
      return body
    },
  }),
]
