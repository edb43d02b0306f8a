import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { ImportPreview, ImportQuery, ImportResult, ImportSims, SimWatchdogChange } from '../../../domain/estate/sim.ts'
import { IdResponse } from '../../../domain/schema.ts'
import { importSims, previewSimImport } from '../../../operations/estate/import-sims.ts'
import { takeBackChange } from '../../../operations/month-end/queue-change.ts'
import { setSimWatchdog } from '../../../operations/watchdog/set-sim-watchdog.ts'
import { inTenant, slowly } from '../../../store/tenancy.ts'
import { SIM_FILES, takeSimFiles } from '../../files/sim-files.ts'
import { takeNoBody } from '../../http/app.ts'
import { changeInTenant } from '../../http/change.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import { SimParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

/** Limit for a body, in bytes. Enough for 100,000 SIMs with all their fields. */
const IMPORT_BYTES = 32 * 1024 * 1024

export const simRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const tags = ['SIMs']

  const files: FastifyPluginAsyncTypebox = async (scope) => {
    takeSimFiles(scope)
    scope.post(
      '/sims',
      {
        bodyLimit: IMPORT_BYTES,
        config: { files: SIM_FILES },
        schema: {
          operationId: 'importSims',
          summary: 'Take in SIMs as delivered: unprovisioned',
          tags,
          consumes: ['application/json', 'application/x-ndjson', 'text/csv'],
          querystring: ImportQuery,
          body: ImportSims,
          response: { 200: Type.Union([ImportResult, ImportPreview]) },
        },
      },
      async (request, reply) => {
        const { sims } = request.body
        const file = request.simFile ?? undefined
        // A dry run leaves nothing behind, not even a response kept under an Idempotency-Key. The key stays free for
        // the real run.
        if (request.query.dryRun === true) {
          return inTenant(slowly(store), request.tenantId, (tx) => previewSimImport(tx, sims, file))
        }
        return idempotentInTenant(slowly(store), { request, reply }, (tx) => importSims(tx, sims, file))
      },
    )
  }
  await app.register(files)

  app.patch(
    '/sims/:id/watchdog',
    {
      config: { problems: ['sim_not_found'], versioned: true },
      schema: {
        operationId: 'setSimWatchdog',
        summary: "A SIM's own watchdog settings; null inherits the pool's",
        tags,
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

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/sims/:id/queued-change',
      {
        config: { problems: ['sim_not_found', 'sim_state_conflict'], versioned: true },
        schema: {
          operationId: 'takeBackQueuedChange',
          summary: 'Take back what is queued for the end of the billing cycle: pool, tariff or unprovisioning',
          description:
            'With nothing queued nothing changes. What a month end has opened a ticket for is taken back by that ' +
            'ticket, while it is pending.',
          tags,
          params: SimParams,
          response: { 200: IdResponse },
        },
      },
      (request) => {
        const { id } = request.params
        return changeInTenant(store, request, (tx) => takeBackChange(tx, id), { kind: 'sim', id })
      },
    )
  }
  await app.register(withoutBody)
}
