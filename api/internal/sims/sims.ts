import { Type } from 'typebox'
import { ImportPreview, ImportQuery, ImportResult, ImportSims } from '../../../domain/sims/sim-import.ts'
import { importSims, previewSimImport } from '../../../service/sims/import-sims.ts'
import { prepareSoFar } from '../../../service/usage/used-so-far.ts'
import { inTenant, withLongTimeout } from '../../../store/tenancy.ts'
import { SIM_FILES } from '../../files/sim-files.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import { whileThere } from '../../http/left.ts'
import type { InternalOptions } from '../../options.ts'

/** Limit for a body, in bytes. Enough for 100,000 SIMs with all their fields. */
const IMPORT_BYTES = 64 * 1024 * 1024

const route = declareRoutes<InternalOptions>('SIMs')

export const internalSimRoutes = [
  route('POST', '/sims', {
    operationId: 'importSims',
    summary: 'Import SIMs, as delivered or in their present state at the carrier',
    ...SIM_FILES,
    query: ImportQuery,
    body: ImportSims,
    response: { 200: Type.Union([ImportResult, ImportPreview]) },
    bodyLimit: IMPORT_BYTES,
    handle: async (request, { store, reply }) => {
      const { sims } = request.body
      const lines = request.recordLines ?? undefined
      const there = whileThere(withLongTimeout(store), request)
      // A dry run leaves nothing behind, not even a response kept under an Idempotency-Key. The key stays free for
      // the real run.
      if (request.query.dryRun === true) {
        return inTenant(there, request.tenantId, (tx) => previewSimImport(tx, sims, lines))
      }
      await prepareSoFar(store, request.tenantId)
      return idempotentInTenant(there, { request, reply }, (tx) => importSims(tx, sims, lines))
    },
  }),
]
