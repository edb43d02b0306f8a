import { SubjectLogQuery, WatchdogLogEntry } from '../../domain/alerts/watchdog-log-entry.ts'
import { pageOf } from '../../domain/page.ts'
import { IdResponse } from '../../domain/schema.ts'
import {
  lookupOf,
  QueueReprovision,
  Sim,
  SimMetadata,
  SimQuery,
  simMetadata,
  TagChange,
} from '../../domain/sims/sim.ts'
import { ASSIGNMENT_PROBLEMS } from '../../domain/tickets/decisions.ts'
import { pageOfLog } from '../../service/alerts/rows/log.ts'
import { queueReprovision, queueUnprovision } from '../../service/month-end/queue-change.ts'
import { pageOfSims, readSim } from '../../service/sims/rows/sim-reads.ts'
import { simExists } from '../../service/sims/rows/sims.ts'
import { tagSim } from '../../service/sims/tag-sim.ts'
import { inTenant, readOnly } from '../../store/tenancy.ts'
import { takeNoBody } from '../http/app.ts'
import { byId, publicRoutes } from '../http/declare-routes.ts'
import { answersVersion } from '../http/etag.ts'
import { linked } from '../http/links.ts'
import { SimOrIccidParams, SimParams } from '../http/params.ts'
import { mustBeFound } from '../http/problems.ts'
import { showCodes, withPictures } from '../keys/esim-codes.ts'

const knownSim = <T>(which: string | number, sim: T | undefined): T => mustBeFound(sim, 'sim_not_found', `SIM ${which}`)

const route = publicRoutes('SIMs')

export const simRoutes = [
  route('GET', '/sims', {
    operationId: 'listSims',
    summary: 'SIMs, with their usage in the running cycle',
    description:
      'By id; SIMs match every given filter. Figures cover the running billing cycle: MB of 10^6 bytes, ' +
      'minutes of voice, numbers of SMS. Keys without the scope `esim` get null for activation codes.',
    query: SimQuery,
    response: { 200: pageOf(Sim) },
    cursor: 'sims',
    handle: async (request, { store, reply }) => {
      const part = await inTenant(readOnly(store), request.tenantId, (tx) => pageOfSims(tx, request.query))
      const shown = await showCodes(store, request, part.data)
      return linked(request, reply, { ...part, data: await withPictures(shown) })
    },
  }),
  route('GET', '/sims/metadata', {
    operationId: 'getSimMetadata',
    summary: 'Labels of SIM types and statuses',
    description: 'The codes of `type` and `status`, each with its label.',
    response: { 200: SimMetadata },
    handle: async () => simMetadata,
  }),
  route('GET', '/sims/:idOrIccid', {
    operationId: 'getSim',
    summary: 'A SIM by id or ICCID',
    description:
      "18 to 22 digits are an ICCID, fewer an id. `tariffId` is the SIM's own tariff, null without one; " +
      "`tariff` is the governing tariff, possibly its pool's, `{}` without one. `tag`, `imsi`, `msisdn` and " +
      '`imei` are empty until known. Keys without the scope `esim` get null for the activation code.',
    problems: ['sim_not_found'],
    versioned: true,
    params: SimOrIccidParams,
    response: { 200: Sim },
    handle: async (request, { store, reply }) => {
      const { idOrIccid } = request.params
      const lookup = lookupOf(idOrIccid)
      const read = lookup && (await inTenant(readOnly(store), request.tenantId, (tx) => readSim(tx, lookup)))
      const { sim, version } = knownSim(idOrIccid, read)
      answersVersion(reply, version)
      const [shown] = await withPictures(await showCodes(store, request, [sim]))
      return knownSim(idOrIccid, shown)
    },
  }),
  route('PATCH', '/sims/:id/tag', {
    operationId: 'tagSim',
    summary: "Set a SIM's tag; an empty tag removes it",
    description: 'The tag is replaced as a whole.',
    problems: ['sim_not_found'],
    params: SimParams,
    body: TagChange,
    response: { 200: IdResponse },
    resource: byId('sim'),
    change: (tx, { params, body }) => tagSim(tx, { id: params.id, tag: body.tag }),
  }),
  route('POST', '/sims/:id/queue-reprovision', {
    operationId: 'queueReprovision',
    summary: 'Change pool, tariff or both at the end of the billing cycle',
    description:
      'Omitted fields stay as queued. A queued unassignment is dropped, with an event: the last change wins.',
    problems: [...ASSIGNMENT_PROBLEMS, 'sim_state_conflict'],
    params: SimParams,
    body: QueueReprovision,
    response: { 200: IdResponse },
    resource: byId('sim'),
    change: (tx, { params, body }) => queueReprovision(tx, { ...body, id: params.id }),
  }),
  route('GET', '/sims/:id/watchdog-logs', {
    operationId: 'listSimWatchdogLogs',
    summary: 'Watchdog log entries of the SIM',
    description: 'Newest first; items match every given filter.',
    problems: ['sim_not_found'],
    params: SimParams,
    query: SubjectLogQuery,
    response: { 200: pageOf(WatchdogLogEntry) },
    cursor: 'log',
    walk: async (tx, { params, query }) => {
      knownSim(params.id, (await simExists(tx, params.id)) || undefined)
      return pageOfLog(tx, { ...query, simId: params.id })
    },
  }),
  route('POST', '/sims/:id/queue-unprovision', {
    operationId: 'queueUnprovision',
    summary: 'Unprovision at the end of the billing cycle',
    description: 'Takes no body. The SIM also leaves its pool. A queued pool or tariff is dropped, with an event.',
    problems: ['sim_not_found', 'sim_state_conflict'],
    bodies: takeNoBody,
    params: SimParams,
    response: { 200: IdResponse },
    resource: byId('sim'),
    change: (tx, { params }) => queueUnprovision(tx, params.id),
  }),
]
