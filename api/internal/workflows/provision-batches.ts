import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { strictObject } from '../../../domain/schema.ts'
import {
  Batch,
  BatchNotes,
  BatchRequest,
  BatchRequestQuery,
  BatchSim,
  BatchSimQuery,
  BatchSims,
  BatchStarted,
} from '../../../domain/workflows/provision-batch.ts'
import { batchOf, closeBatch, noBatch, noteBatch, startBatch } from '../../../service/tickets/provision-batches.ts'
import { batchExists, pageOfBatch } from '../../../service/tickets/rows/provision-batches.ts'
import { inTenant, reading, slowly } from '../../../store/tenancy.ts'
import { takeBatchFiles } from '../../files/sim-tables.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import { whileThere } from '../../http/left.ts'
import { BatchParams, batchIdOf } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

/** Limit for a body, in bytes. Enough for 100,000 SIMs in the longest form, with tags. */
const ASK_BYTES = 32 * 1024 * 1024

export const provisionBatchRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (
  app,
  { store, workflowOptions },
) => {
  const tags = ['Workflows']

  const files: FastifyPluginAsyncTypebox = async (scope) => {
    takeBatchFiles(scope)
    scope.post(
      '/workflows/provision-in-bulk',
      {
        bodyLimit: ASK_BYTES,
        config: {
          problems: ['pool_not_found', 'tariff_not_found', 'tariff_inactive', 'batch_refused'],
          files: { 'text/csv': 'iccid,tag\n8999900000000000017,door 4\n' },
        },
        schema: {
          operationId: 'startProvisionInBulk',
          summary: 'Take many SIMs from unprovisioned to active',
          description:
            'At most 100,000 SIMs, as JSON, or as CSV with the columns iccid or simId, and poolId, tariffId, tag as ' +
            'wanted; with CSV the other fields stand in the query. A row that a start of its own would be refused ' +
            'for refuses the whole, with its code, unless `skipInvalid` leaves it out. The list is kept with the ' +
            'answer; the workflow is started after it, as soon as Temporal can be reached.',
          tags,
          consumes: ['application/json', 'text/csv'],
          querystring: BatchRequestQuery,
          body: BatchRequest,
          response: { 202: BatchStarted },
        },
      },
      (request, reply) => {
        const { poolId = null, tariffId = null, ...query } = request.query
        const asked = { ...query, ...request.body, defaults: { poolId, tariffId, ...request.body.defaults } }
        const there = whileThere(slowly(store), request)
        return idempotentInTenant(there, { request, reply }, (tx) => startBatch(tx, asked, workflowOptions), {
          status: 202,
        })
      },
    )
  }
  await app.register(files)

  app.get(
    '/provision-batches/:id',
    {
      config: { problems: ['batch_not_found'] },
      schema: {
        operationId: 'getProvisionBatch',
        summary: 'A batch of SIMs on their way to active, counted by what has become of them',
        tags,
        params: BatchParams,
        response: { 200: Batch },
      },
    },
    ({ tenantId, params }) => inTenant(reading(store), tenantId, (tx) => batchOf(tx, batchIdOf(params.id))),
  )

  app.get(
    '/provision-batches/:id/sims',
    {
      config: { problems: ['batch_not_found'] },
      schema: {
        operationId: 'listProvisionBatchSims',
        summary: 'The SIMs of a batch, in the order of its request',
        tags,
        params: BatchParams,
        querystring: BatchSimQuery,
        response: { 200: BatchSims },
      },
    },
    ({ tenantId, params, query }) =>
      inTenant(reading(store), tenantId, async (tx) => {
        const id = batchIdOf(params.id)
        if (!(await batchExists(tx, id))) throw noBatch(id)
        return pageOfBatch(tx, id, query)
      }),
  )

  app.post(
    '/provision-batches/:id/outcomes',
    {
      config: { problems: ['batch_not_found'], idempotent: false },
      schema: {
        operationId: 'noteProvisionBatch',
        summary: 'What the workflow of a batch tells of its SIMs',
        tags,
        params: BatchParams,
        body: BatchNotes,
        response: { 200: strictObject({}) },
      },
    },
    ({ tenantId, params, body }) =>
      inTenant(store, tenantId, async (tx) => {
        await noteBatch(tx, batchIdOf(params.id), body)
        return {}
      }),
  )

  app.post(
    '/provision-batches/:id/end',
    {
      config: { problems: ['batch_not_found'], idempotent: false },
      schema: {
        operationId: 'endProvisionBatch',
        summary: 'The workflow of a batch has ended: what was not begun is cancelled',
        tags,
        params: BatchParams,
        response: {
          200: strictObject({
            batch: Batch,
            failures: Type.Array(BatchSim, { description: 'The first 100 that did not become active' }),
          }),
        },
      },
    },
    ({ tenantId, params }) => inTenant(store, tenantId, (tx) => closeBatch(tx, batchIdOf(params.id))),
  )
}
