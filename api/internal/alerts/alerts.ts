import { Type } from 'typebox'
import { Alert, AlertDetail, AlertNamed, AlertQuery } from '../../../domain/alerts/alert.ts'
import { AlertCauses } from '../../../domain/alerts/cause.ts'
import { NewSilence, Silence, SilenceQuery } from '../../../domain/alerts/silence.ts'
import { pageOf } from '../../../domain/page.ts'
import { Id, IdResponse } from '../../../domain/schema.ts'
import { acknowledgeAlert } from '../../../service/alerts/acknowledge-alert.ts'
import { pageOfAlerts } from '../../../service/alerts/page-of-alerts.ts'
import { readCauses } from '../../../service/alerts/read-causes.ts'
import { pageOfSilences, readSilences } from '../../../service/alerts/rows/silences.ts'
import { addSilence, endSilence } from '../../../service/alerts/silence-alerts.ts'
import { readAlert } from '../../../service/watchdog/explain/read-alert.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { mustBeFound } from '../../http/problems.ts'

const route = internalRoutes('Alerts')

/** Open alerts, and silences of their mails. */
export const alertRoutes = [
  route('GET', '/alerts', {
    operationId: 'listAlerts',
    isOpenTo: 'billing',
    summary: 'Alerts that have not ended, or those that have; newest first',
    description:
      'A firing alert without log entry and mail belongs to a rule in stage shadow, or its stage or mode does not mail. A page looks at 5,000 alerts at most: `totalItems` counts those among them, and with filters a page may have less than `pageSize` items while the `Link` header leads on.',
    cursor: 'alerts',
    query: AlertQuery,
    response: { 200: pageOf(Alert) },
    walk: (tx, { query }, { rules }) => pageOfAlerts(tx, query, rules),
  }),
  route('GET', '/alerts/causes', {
    operationId: 'listAlertCauses',
    summary: 'Open alerts by their causes: the rules that they are of, each at a level',
    description:
      'The newest 5,000 are looked at. Read the alerts of a cause by `GET /internal/alerts` with its rule and level.',
    response: { 200: AlertCauses },
    read: (tx, _, { rules }) => readCauses(tx, rules),
  }),
  route('GET', '/alerts/:id', {
    operationId: 'getAlert',
    isOpenTo: 'billing',
    summary: 'An alert with its episodes: beginnings, ends, mails, holds and suspensions',
    problems: ['alert_not_found'],
    params: Type.Object({ id: Id('Alert') }),
    response: { 200: AlertDetail },
    read: (tx, { params }, { rules }) => readAlert(tx, params.id, rules),
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
  route('GET', '/silences', {
    operationId: 'listSilences',
    summary: 'Silences, newest first',
    query: SilenceQuery,
    response: { 200: pageOf(Silence) },
    read: (tx, { query }) => pageOfSilences(tx, query),
  }),
  route('GET', '/silences/:id', {
    operationId: 'readSilence',
    summary: 'A silence, open or ended',
    problems: ['silence_not_found'],
    params: Type.Object({ id: Id('Silence') }),
    response: { 200: Silence },
    read: async (tx, { params: { id } }) => {
      const [silence] = await readSilences(tx, [id])
      return mustBeFound(silence, 'silence_not_found', `silence ${id}`)
    },
  }),
  route('POST', '/silences', {
    operationId: 'addSilence',
    summary: 'Stop mails about a rule, SIM, pool, tag or level for some time',
    description:
      'Give at least one of rule, simId, poolId, tag and level; alerts are silenced if every given field matches. The log, events and suspensions continue. Alerts still firing at the end are mailed then, once; a resolution is mailed if the firing was.',
    problems: ['sim_not_found', 'pool_not_found', 'silence_limit'],
    body: NewSilence,
    response: { 200: IdResponse },
    change: (tx, { body }) => addSilence(tx, body),
  }),
  route('POST', '/silences/:id/end', {
    operationId: 'endSilence',
    summary: 'End a silence now',
    problems: ['silence_not_found'],
    params: Type.Object({ id: Id('Silence') }),
    response: { 200: IdResponse },
    change: (tx, { params }) => endSilence(tx, params.id),
  }),
]
