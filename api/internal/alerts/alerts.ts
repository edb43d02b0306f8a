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
    summary: 'Alerts that have not ended, by rule and subject',
    description:
      'What has resolved is in the watchdog log. An alert that fires and is neither logged nor mailed belongs to a rule in stage shadow, or to one whose stage or mode does not mail.',
    query: AlertQuery,
    response: { 200: pageOf(Alert) },
    read: (tx, { query }, { rules }) => pageOfAlerts(tx, query, rules),
  }),
  route('POST', '/alerts/acknowledge', {
    operationId: 'acknowledgeAlert',
    summary: 'Acknowledge an alert that fires: it is not escalated',
    description:
      'Holds until the alert ends. Neither mails nor suspensions are held back: a silence does the one, an exemption the other.',
    problems: ['alert_not_found'],
    body: AlertNamed,
    response: { 200: AlertNamed },
    change: async (tx, { body }) => {
      await acknowledgeAlert(tx, body)
      return body
    },
  }),
]
