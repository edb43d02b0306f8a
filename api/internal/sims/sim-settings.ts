import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdResponse } from '../../../domain/schema.ts'
import { SimWatchdogChange } from '../../../domain/sims/sim.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { changeInTenant } from '../../http/change.ts'
import { SimParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

export const simSettingsRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.patch(
    '/sims/:id/watchdog',
    {
      config: { problems: ['sim_not_found'], versioned: true },
      schema: {
        operationId: 'setSimWatchdog',
        summary: "A SIM's own watchdog settings; null inherits the pool's",
        tags: ['SIMs'],
        params: SimParams,
        body: SimWatchdogChange,
        response: { 200: IdResponse },
      },
    },
    (request) => {
      const { id } = request.params
      return changeInTenant(store, request, (tx) => setSimWatchdog(tx, { ...request.body, id }), { kind: 'sim', id })
    },
  )
}
