import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdAnswer } from '../../domain/schema.ts'
import { ImportResult, ImportSims, SimWatchdogChange } from '../../domain/sim.ts'
import { importSims } from '../../operations/import-sims.ts'
import { setSimWatchdog } from '../../operations/set-sim-watchdog.ts'
import { inTenant } from '../../store/tenancy.ts'
import { onceInTenant } from '../once.ts'
import { SimParams } from '../params.ts'
import type { InternalOptions } from '../server.ts'
import { takeSimFiles } from '../sim-files.ts'

/** 100,000 SIMs with all their fields. */
const IMPORT_BYTES = 32 * 1024 * 1024

export const simRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { ground }) => {
  const tags = ['SIMs']

  const files: FastifyPluginAsyncTypebox = async (scope) => {
    takeSimFiles(scope)
    scope.post(
      '/sims',
      {
        bodyLimit: IMPORT_BYTES,
        schema: {
          operationId: 'importSims',
          summary: 'Take in SIMs as delivered: unprovisioned',
          tags,
          consumes: ['application/json', 'application/x-ndjson', 'text/csv'],
          body: ImportSims,
          response: { 200: ImportResult },
        },
      },
      (request, reply) => onceInTenant(ground, { request, reply }, (tx) => importSims(tx, request.body.sims)),
    )
  }
  await app.register(files)

  app.patch(
    '/sims/:id/watchdog',
    {
      schema: {
        operationId: 'setSimWatchdog',
        summary: "A SIM's own watchdog settings; null inherits the pool's",
        tags,
        params: SimParams,
        body: SimWatchdogChange,
        response: { 200: IdAnswer },
      },
    },
    ({ tenantId, params, body }) => inTenant(ground, tenantId, (tx) => setSimWatchdog(tx, { ...body, id: params.id })),
  )
}
