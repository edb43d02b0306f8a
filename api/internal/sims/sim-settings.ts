import { IdResponse } from '../../../domain/schema.ts'
import { SimWatchdogChange } from '../../../domain/sims/sim.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { byId, declareRoutes } from '../../http/declare-routes.ts'
import { SimParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('SIMs')

export const simSettingsRoutes = [
  route('PATCH', '/sims/:id/watchdog', {
    operationId: 'setSimWatchdog',
    summary: "Change a SIM's own watchdog settings; null inherits the pool's",
    problems: ['sim_not_found'],
    params: SimParams,
    body: SimWatchdogChange,
    response: { 200: IdResponse },
    resource: byId('sim'),
    change: (tx, { params, body }) => setSimWatchdog(tx, { ...body, id: params.id }),
  }),
]
