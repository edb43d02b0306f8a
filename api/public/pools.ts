import type { Readable } from 'node:stream'
import { Type } from 'typebox'
import { SubjectLogQuery, WatchdogLogEntry } from '../../domain/alerts/watchdog-log-entry.ts'
import { pageOf } from '../../domain/page.ts'
import { NewPool, Pool, PoolMetadata, PoolQuery, PoolUpdate, poolMetadata } from '../../domain/pools/pool.ts'
import { IdResponse } from '../../domain/schema.ts'
import { SimSummary } from '../../domain/sims/sim.ts'
import { pageOfLog } from '../../service/alerts/rows/log.ts'
import { createPool } from '../../service/pools/create-pool.ts'
import { deletePool } from '../../service/pools/delete-pool.ts'
import { findPool, pageOfPools, readPool } from '../../service/pools/rows/pools.ts'
import { updatePool } from '../../service/pools/update-pool.ts'
import { listPoolSims } from '../../service/sims/rows/sim-reads.ts'
import { inTenant, readOnly, type TenantTx } from '../../store/tenancy.ts'
import { takeNoBody } from '../http/app.ts'
import { byId, publicRoutes } from '../http/declare-routes.ts'
import { answersVersion } from '../http/etag.ts'
import { PoolParams } from '../http/params.ts'
import { mustBeFound } from '../http/problems.ts'
import { sendArray } from '../http/streaming.ts'

const knownPool = async (tx: TenantTx, id: number) =>
  mustBeFound(await findPool(tx, id), 'pool_not_found', `pool ${id}`)

const route = publicRoutes('Pools')

export const poolRoutes = [
  route('GET', '/pools', {
    operationId: 'listPools',
    summary: 'Pools, with their usage in the running cycle',
    description: 'By id. Figures cover the running billing cycle: MB of 10^6 bytes, minutes of voice, numbers of SMS.',
    query: PoolQuery,
    response: { 200: pageOf(Pool) },
    cursor: 'pools',
    walk: (tx, { query }) => pageOfPools(tx, query),
  }),
  route('POST', '/pools', {
    operationId: 'createPool',
    summary: 'Create a pool, active at once',
    description: 'A Standard pool (0) takes a Standard or Fixed Pool tariff, a Dynamic pool (1) a Dynamic Pool tariff.',
    problems: ['tariff_not_found', 'tariff_inactive', 'tariff_pool_mismatch'],
    body: NewPool,
    response: { 200: IdResponse },
    change: (tx, { body }) => createPool(tx, body),
  }),
  route('GET', '/pools/metadata', {
    operationId: 'getPoolMetadata',
    summary: 'Labels of pool statuses and types',
    description: 'The codes of `status` and `type`, each with its label.',
    response: { 200: PoolMetadata },
    handle: async () => poolMetadata,
  }),
  route('GET', '/pools/:id', {
    operationId: 'getPool',
    summary: 'A pool by id',
    description:
      'Figures cover the running billing cycle. With a Standard tariff, limit and overage are sums over the ' +
      'SIMs, and a pool can be in overage below its limit. With other tariffs the SIMs share one capacity.',
    problems: ['pool_not_found'],
    versioned: true,
    params: PoolParams,
    response: { 200: Pool },
    read: async (tx, { params: { id } }, { reply }) => {
      const { pool, version } = mustBeFound(await readPool(tx, id), 'pool_not_found', `pool ${id}`)
      answersVersion(reply, version)
      return pool
    },
  }),
  route('PUT', '/pools/:id', {
    operationId: 'updatePool',
    summary: "Replace a pool's name and watchdog settings",
    description: 'Omitted nullable fields become null. A pool can be sent back as read: its other fields are ignored.',
    problems: ['pool_not_found'],
    params: PoolParams,
    body: PoolUpdate,
    response: { 200: IdResponse },
    resource: byId('pool'),
    change: (tx, { params, body }) => updatePool(tx, { ...body, id: params.id }),
  }),
  route('DELETE', '/pools/:id', {
    operationId: 'deletePool',
    summary: 'Delete an empty pool',
    description:
      'Takes no body. Log entries and statements stay. Refused if SIMs are in it, or queued to move into it.',
    problems: ['pool_not_found', 'pool_in_use'],
    bodies: takeNoBody,
    params: PoolParams,
    response: { 204: Type.Null({ description: 'The pool is permanently deleted' }) },
    resource: byId('pool'),
    change: async (tx, { params }) => {
      await deletePool(tx, params.id)
      return null
    },
  }),
  route('GET', '/pools/:id/sims', {
    operationId: 'listPoolSims',
    summary: 'SIMs in the pool',
    description: "By id, without pages. Shows the watchdog settings in effect: the SIM's own, else the pool's.",
    problems: ['pool_not_found'],
    params: PoolParams,
    response: { 200: Type.Unsafe<Readable>(Type.Array(SimSummary)) },
    handle: async ({ tenantId, params: { id } }, { store, reply }) => {
      await inTenant(readOnly(store), tenantId, (tx) => knownPool(tx, id))
      return sendArray(reply, listPoolSims(readOnly(store), tenantId, id))
    },
  }),
  route('GET', '/pools/:id/watchdog-logs', {
    operationId: 'listPoolWatchdogLogs',
    summary: 'Watchdog log entries of the pool',
    description: 'Newest first; items match every given filter.',
    problems: ['pool_not_found'],
    params: PoolParams,
    query: SubjectLogQuery,
    response: { 200: pageOf(WatchdogLogEntry) },
    cursor: 'log',
    walk: async (tx, { params, query }) => {
      await knownPool(tx, params.id)
      return pageOfLog(tx, { ...query, poolId: params.id })
    },
  }),
]
