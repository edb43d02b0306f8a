import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { SubjectLogQuery, WatchdogLogEntry } from '../../domain/alerts/log-entry.ts'
import { ServiceError } from '../../domain/errors.ts'
import { pageOf } from '../../domain/page.ts'
import { NewPool, Pool, PoolMetadata, PoolQuery, PoolUpdate, poolMetadata } from '../../domain/pools/pool.ts'
import { IdResponse } from '../../domain/schema.ts'
import { SimSummary } from '../../domain/sims/sim.ts'
import { pageOfLog } from '../../service/alerts/rows/log.ts'
import { createPool } from '../../service/pools/create-pool.ts'
import { deletePool } from '../../service/pools/delete-pool.ts'
import { findPool, pageOfPools, readPool } from '../../service/pools/rows/pools.ts'
import { updatePool } from '../../service/pools/update-pool.ts'
import { listPoolSims } from '../../service/sims/rows/sims.ts'
import { inTenant, reading, type TenantTx } from '../../store/tenancy.ts'
import { versionOf } from '../../store/versions.ts'
import { takeNoBody } from '../http/app.ts'
import { changeInTenant } from '../http/change.ts'
import { answersVersion } from '../http/etag.ts'
import { idempotentInTenant } from '../http/idempotency.ts'
import { linked, takesCursor } from '../http/links.ts'
import { PoolParams } from '../http/params.ts'
import { sendArray } from '../http/streaming.ts'
import type { RouteOptions } from '../options.ts'

const resourceOf = ({ id }: { readonly id: number }) => ({ kind: 'pool', id }) as const
const notFound = (id: number) => new ServiceError('pool_not_found', `There is no pool ${id}.`)

async function mustExist(tx: TenantTx, id: number): Promise<void> {
  if ((await findPool(tx, id)) === undefined) throw notFound(id)
}

export const poolRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { store }) => {
  const tags = ['Pools']

  app.get(
    '/pools',
    {
      schema: {
        operationId: 'listPools',
        summary: 'Pools, with their usage of the running cycle',
        description:
          'By id. Figures are of the running billing cycle: MB of 10^6 bytes, minutes of voice, numbers of SMS.',
        tags,
        querystring: PoolQuery,
        response: { 200: pageOf(Pool) },
      },
      preValidation: takesCursor('pools'),
    },
    async (request, reply) =>
      linked(request, reply, await inTenant(reading(store), request.tenantId, (tx) => pageOfPools(tx, request.query))),
  )

  app.post(
    '/pools',
    {
      config: { problems: ['tariff_not_found', 'tariff_inactive', 'tariff_pool_mismatch'] },
      schema: {
        operationId: 'createPool',
        summary: 'Make a pool; it is active at once',
        description:
          'A Standard pool (0) takes a Standard or Fixed Pool tariff, a Dynamic pool (1) a Dynamic Pool tariff. ' +
          'Fields that are null or left out have no value.',
        tags,
        body: NewPool,
        response: { 200: IdResponse },
      },
    },
    (request, reply) => idempotentInTenant(store, { request, reply }, (tx) => createPool(tx, request.body)),
  )

  app.get(
    '/pools/metadata',
    {
      schema: {
        operationId: 'getPoolMetadata',
        summary: 'Labels of pool statuses and types',
        description: 'The codes of `status` and `type`, each with its label.',
        tags,
        response: { 200: PoolMetadata },
      },
    },
    async () => poolMetadata,
  )

  app.get(
    '/pools/:id',
    {
      config: { problems: ['pool_not_found'], versioned: true },
      schema: {
        operationId: 'getPool',
        summary: 'One pool',
        description:
          'Figures are of the running billing cycle. With a Standard tariff limit and overage are the sums of ' +
          "the SIMs' own, so that a pool can be in overage below its limit; with the others the SIMs share one " +
          'capacity.',
        tags,
        params: PoolParams,
        response: { 200: Pool },
      },
    },
    ({ tenantId, params }, reply) =>
      inTenant(reading(store), tenantId, async (tx) => {
        answersVersion(reply, await versionOf(tx, resourceOf(params)))
        const pool = await readPool(tx, params.id)
        if (pool === undefined) throw notFound(params.id)
        return pool
      }),
  )

  app.put(
    '/pools/:id',
    {
      config: { problems: ['pool_not_found'], versioned: true },
      schema: {
        operationId: 'updatePool',
        summary: "Replace a pool's name and watchdog settings",
        description:
          'What is left out of the nullable fields becomes null. A pool can be sent back as it was read: the fields ' +
          'that are not replaced are ignored, whatever they say.',
        tags,
        params: PoolParams,
        body: PoolUpdate,
        response: { 200: IdResponse },
      },
    },
    (request) =>
      changeInTenant(
        store,
        request,
        (tx) => updatePool(tx, { ...request.body, id: request.params.id }),
        resourceOf(request.params),
      ),
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/pools/:id',
      {
        config: { problems: ['pool_not_found', 'pool_in_use'], versioned: true },
        schema: {
          operationId: 'deletePool',
          summary: 'Delete a pool that has no SIMs, and none queued to move into it',
          description:
            'Takes no body. Its log entries and statements stay. A pool with SIMs in it, or queued to move into ' +
            'it, is refused.',
          tags,
          params: PoolParams,
          response: { 204: Type.Null({ description: 'The pool is permanently deleted' }) },
        },
      },
      async (request, reply) => {
        const { params } = request
        await changeInTenant(store, request, (tx) => deletePool(tx, params.id), resourceOf(params))
        return reply.code(204).send(null)
      },
    )
  }
  await app.register(withoutBody)

  app.get(
    '/pools/:id/sims',
    {
      config: { problems: ['pool_not_found'] },
      schema: {
        operationId: 'listPoolSims',
        summary: 'All SIMs that are in the pool now',
        description: "By id, without pages. Watchdog settings are those in effect: the SIM's own, else the pool's.",
        tags,
        params: PoolParams,
        response: { 200: Type.Unsafe<Readable>(Type.Array(SimSummary)) },
      },
    },
    async ({ tenantId, params }, reply) => {
      await inTenant(reading(store), tenantId, (tx) => mustExist(tx, params.id))
      return sendArray(reply, listPoolSims(reading(store), tenantId, params.id))
    },
  )

  app.get(
    '/pools/:id/watchdog-logs',
    {
      config: { problems: ['pool_not_found'] },
      schema: {
        operationId: 'listPoolWatchdogLogs',
        summary: 'Watchdog log entries of the pool',
        description: 'Newest first; all filters that are given hold.',
        tags,
        params: PoolParams,
        querystring: SubjectLogQuery,
        response: { 200: pageOf(WatchdogLogEntry) },
      },
      preValidation: takesCursor('log'),
    },
    async (request, reply) => {
      const { tenantId, params, query } = request
      const part = await inTenant(reading(store), tenantId, async (tx) => {
        await mustExist(tx, params.id)
        return pageOfLog(tx, { ...query, poolId: params.id })
      })
      return linked(request, reply, part)
    },
  )
}
