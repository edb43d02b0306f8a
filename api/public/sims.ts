import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { SubjectLogQuery, WatchdogLogEntry } from '../../domain/alerts/log-entry.ts'
import { ServiceError } from '../../domain/errors.ts'
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
import { pageOfSims, readSim, simExists } from '../../service/sims/rows/sims.ts'
import { tagSim } from '../../service/sims/tag-sim.ts'
import { inTenant, reading } from '../../store/tenancy.ts'
import { takeNoBody } from '../http/app.ts'
import { changeInTenant } from '../http/change.ts'
import { readAllowed, withPictures } from '../http/esim-codes.ts'
import { answersVersion } from '../http/etag.ts'
import { idempotentInTenant } from '../http/idempotency.ts'
import { linked, takesCursor } from '../http/links.ts'
import { SimOrIccidParams, SimParams } from '../http/params.ts'
import type { RouteOptions } from '../options.ts'

const resourceOf = ({ id }: { readonly id: number }) => ({ kind: 'sim', id }) as const
const notFound = (which: string | number) => new ServiceError('sim_not_found', `There is no SIM ${which}.`)

export const simRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { store }) => {
  const tags = ['SIMs']

  app.get(
    '/sims',
    {
      schema: {
        operationId: 'listSims',
        summary: 'SIMs, with their usage of the running cycle',
        description:
          'By id; all filters that are given hold. Figures are of the running billing cycle: MB of 10^6 bytes, ' +
          'minutes of voice, numbers of SMS. Keys without the scope `esim` see no activation codes: null.',
        tags,
        querystring: SimQuery,
        response: { 200: pageOf(Sim) },
      },
      preValidation: takesCursor('sims'),
    },
    async (request, reply) => {
      const part = await readAllowed(store, request, async (tx, show) => {
        const read = await pageOfSims(tx, request.query)
        return { ...read, data: await show(read.data) }
      })
      return linked(request, reply, { ...part, data: await withPictures(part.data) })
    },
  )

  app.get(
    '/sims/metadata',
    {
      schema: {
        operationId: 'getSimMetadata',
        summary: 'Labels of SIM types and statuses',
        description: 'The codes of `type` and `status`, each with its label.',
        tags,
        response: { 200: SimMetadata },
      },
    },
    async () => simMetadata,
  )

  app.get(
    '/sims/:idOrIccid',
    {
      config: { problems: ['sim_not_found'], versioned: true },
      schema: {
        operationId: 'getSim',
        summary: 'One SIM, by id or by ICCID',
        description:
          "18 to 22 digits are an ICCID, fewer an id. `tariffId` is the SIM's own tariff, null without one; " +
          "`tariff` is the one that governs it, which may be its pool's, and `{}` without one. `tag`, `imsi`, " +
          '`msisdn` and `imei` are empty until known. Keys without the scope `esim` see no activation code: null.',
        tags,
        params: SimOrIccidParams,
        response: { 200: Sim },
      },
    },
    async (request, reply) => {
      const shown = await readAllowed(store, request, async (tx, show) => {
        const { params } = request
        const lookup = lookupOf(params.idOrIccid)
        const found = lookup && (await readSim(tx, lookup))
        if (found === undefined) throw notFound(params.idOrIccid)
        answersVersion(reply, found.version)
        return show([found.sim])
      })
      const [sim] = await withPictures(shown)
      return sim
    },
  )

  app.patch(
    '/sims/:id/tag',
    {
      config: { problems: ['sim_not_found'], versioned: true },
      schema: {
        operationId: 'tagSim',
        summary: 'Label a SIM; an empty tag takes the label off',
        description: 'The tag is replaced as a whole.',
        tags,
        params: SimParams,
        body: TagChange,
        response: { 200: IdResponse },
      },
    },
    (request) =>
      changeInTenant(
        store,
        request,
        (tx) => tagSim(tx, { id: request.params.id, tag: request.body.tag }),
        resourceOf(request.params),
      ),
  )

  app.post(
    '/sims/:id/queue-reprovision',
    {
      config: {
        problems: [...ASSIGNMENT_PROBLEMS, 'sim_state_conflict'],
        versioned: true,
      },
      schema: {
        operationId: 'queueReprovision',
        summary: 'Change pool, tariff or both at the end of the billing cycle',
        description:
          'What is left out stays as it is queued; with nothing given nothing changes. The last change wins: a ' +
          'queued unassignment is dropped, and an event says so.',
        tags,
        params: SimParams,
        body: QueueReprovision,
        response: { 200: IdResponse },
      },
    },
    (request, reply) =>
      idempotentInTenant(
        store,
        { request, reply },
        (tx) => queueReprovision(tx, { ...request.body, id: request.params.id }),
        { resource: resourceOf(request.params) },
      ),
  )

  app.get(
    '/sims/:id/watchdog-logs',
    {
      config: { problems: ['sim_not_found'] },
      schema: {
        operationId: 'listSimWatchdogLogs',
        summary: 'Watchdog log entries of the SIM',
        description: 'Newest first; all filters that are given hold.',
        tags,
        params: SimParams,
        querystring: SubjectLogQuery,
        response: { 200: pageOf(WatchdogLogEntry) },
      },
      preValidation: takesCursor('log'),
    },
    async (request, reply) => {
      const { tenantId, params, query } = request
      const part = await inTenant(reading(store), tenantId, async (tx) => {
        if (!(await simExists(tx, params.id))) throw notFound(params.id)
        return pageOfLog(tx, { ...query, simId: params.id })
      })
      return linked(request, reply, part)
    },
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.post(
      '/sims/:id/queue-unprovision',
      {
        config: { problems: ['sim_not_found', 'sim_state_conflict'], versioned: true },
        schema: {
          operationId: 'queueUnprovision',
          summary: 'Unprovision at the end of the billing cycle',
          description:
            'Takes no body. The SIM leaves its pool too. The last change wins: a queued pool or tariff is ' +
            'dropped, and an event says so.',
          tags,
          params: SimParams,
          response: { 200: IdResponse },
        },
      },
      (request, reply) =>
        idempotentInTenant(store, { request, reply }, (tx) => queueUnprovision(tx, request.params.id), {
          resource: resourceOf(request.params),
        }),
    )
  }
  await app.register(withoutBody)
}
