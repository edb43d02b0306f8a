import { Type } from 'typebox'
import { IdResponse, strictObject } from '../../../domain/schema.ts'
import { SimWatchdogChange } from '../../../domain/sims/sim.ts'
import { SimHistory } from '../../../domain/sims/sim-history.ts'
import { ImportPreview, ImportQuery, ImportResult, ImportSims } from '../../../domain/sims/sim-import.ts'
import { takeBackChange } from '../../../service/month-end/queue-change.ts'
import { importSims, previewSimImport } from '../../../service/sims/import-sims.ts'
import { readSimHistory } from '../../../service/sims/rows/sim-history.ts'
import { knownSim } from '../../../service/sims/rows/sims.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { prepareSoFar } from '../../../service/usage/used-so-far.ts'
import { inTenant, withLongTimeout } from '../../../store/tenancy.ts'
import { IGNORE_UNKNOWN, IGNORED } from '../../files/ignored-fields.ts'
import { SIM_FILES } from '../../files/sim-files.ts'
import { takeNoBody } from '../../http/app.ts'
import { byId, internalRoutes } from '../../http/declare-routes.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import { whileThere } from '../../http/left.ts'
import { SimParams } from '../../http/params.ts'

/** Limit for a body, in bytes. Enough for 100,000 SIMs with all their fields. */
const IMPORT_BYTES = 64 * 1024 * 1024

const route = internalRoutes('SIMs')

export const internalSimRoutes = [
  route('POST', '/sims', {
    operationId: 'importSims',
    summary: 'Import SIMs, as delivered or in their present state at the carrier',
    ...SIM_FILES,
    query: Type.Object({ ...ImportQuery.properties, ...IGNORE_UNKNOWN }),
    body: ImportSims,
    response: {
      200: Type.Union([
        strictObject({ ...ImportResult.properties, ...IGNORED }),
        strictObject({ ...ImportPreview.properties, ...IGNORED }),
      ]),
    },
    bodyLimit: IMPORT_BYTES,
    handle: async (request, { store, reply }) => {
      const { sims } = request.body
      const lines = request.recordLines ?? undefined
      const ignored = request.ignored?.names ?? []
      const there = whileThere(withLongTimeout(store), request)
      // A dry run leaves nothing behind, not even a response kept under an Idempotency-Key. The key stays free for
      // the real run.
      if (request.query.dryRun === true) {
        const preview = await inTenant(there, request.tenantId, (tx) => previewSimImport(tx, sims, lines))
        return { ...preview, ignored }
      }
      await prepareSoFar(store, request.tenantId)
      return idempotentInTenant(there, { request, reply }, async (tx) => ({
        ...(await importSims(tx, sims, lines)),
        ignored,
      }))
    },
  }),
  route('GET', '/sims/:id/history', {
    operationId: 'readSimHistory',
    summary: 'Pools and tariffs of a SIM over time, and its suspensions; newest first',
    problems: ['sim_not_found'],
    params: SimParams,
    response: { 200: SimHistory },
    read: async (tx, { params: { id } }) => {
      await knownSim(tx, id)
      return readSimHistory(tx, id)
    },
  }),
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
  route('DELETE', '/sims/:id/queued-change', {
    operationId: 'takeBackQueuedChange',
    summary: 'Cancel the change of pool, tariff or provisioning queued for the end of the billing cycle',
    description:
      'Has no effect without a queued change. Once a month end has opened its ticket, cancel that while it is pending.',
    problems: ['sim_not_found', 'sim_state_conflict'],
    bodies: takeNoBody,
    params: SimParams,
    response: { 200: IdResponse },
    resource: byId('sim'),
    change: (tx, { params }) => takeBackChange(tx, params.id),
  }),
]
