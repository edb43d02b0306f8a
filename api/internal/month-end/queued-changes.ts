/** Changes queued for the end of the billing cycle. Queued by tickets; taken back here. */
import { IdResponse } from '../../../domain/schema.ts'
import { takeBackChange } from '../../../service/month-end/queue-change.ts'
import { takeNoBody } from '../../http/app.ts'
import { byId, declareRoutes } from '../../http/declare-routes.ts'
import { SimParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('SIMs')

export const queuedChangeRoutes = [
  route('DELETE', '/sims/:id/queued-change', {
    operationId: 'takeBackQueuedChange',
    summary: 'Cancel the change of pool, tariff or provisioning queued for the end of the billing cycle',
    description:
      'Has no effect if no change is queued. After a month end has opened a ticket for the change, cancel that ' +
      'ticket while it is pending.',
    problems: ['sim_not_found', 'sim_state_conflict'],
    bodies: takeNoBody,
    params: SimParams,
    response: { 200: IdResponse },
    resource: byId('sim'),
    change: (tx, { params }) => takeBackChange(tx, params.id),
  }),
]
