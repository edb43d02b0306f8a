import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { SuspensionChange } from '../../../domain/enforcement/enforcement.ts'
import { IdResponse } from '../../../domain/schema.ts'
import { setSuspensionUntil } from '../../../service/enforcement/set-suspension-until.ts'
import { changeInTenant } from '../../http/change.ts'
import { SimParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

export const suspensionRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.patch(
    '/sims/:id/suspension',
    {
      config: { problems: ['sim_not_found', 'sim_state_conflict'] },
      schema: {
        operationId: 'setSuspensionUntil',
        summary:
          'How long a suspension by the watchdog lasts; asked for by its workflow, which a person asks by an update',
        tags: ['Enforcement'],
        params: SimParams,
        body: SuspensionChange,
        response: { 200: IdResponse },
      },
    },
    (request) =>
      changeInTenant(store, request, (tx) => setSuspensionUntil(tx, { ...request.body, id: request.params.id })),
  )
}
