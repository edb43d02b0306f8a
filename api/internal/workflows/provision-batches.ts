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
} from '../../../domain/tickets/bulk.ts'
import { batchOf, closeBatch, mustExist, noteBatch, startBatch } from '../../../service/tickets/bulk.ts'
import { pageOfBatch } from '../../../service/tickets/rows/bulk-reads.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { BATCH_FILES } from '../../files/sim-files.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { BatchParams, batchIdOf } from '../../http/params.ts'

/** Limit for a body, in bytes. Enough for 100,000 SIMs in the longest form, with tags. */
const ASK_BYTES = 32 * 1024 * 1024

const route = internalRoutes('Workflows')

export const provisionBatchRoutes = [
  route('POST', '/workflows/provision-in-bulk', {
    operationId: 'startProvisionInBulk',
    summary: 'Provision and activate many SIMs',
    description:
      'At most 100,000 SIMs, as JSON, or as CSV with the columns iccid or simId, and optionally poolId, ' +
      'tariffId, tag; for CSV the other fields go into the query. Any row that could not be started alone ' +
      'refuses the request, with its code, unless `skipInvalid` is set. The list is stored with the answer; ' +
      'the workflow starts afterwards, when Temporal is reachable.',
    problems: ['pool_not_found', 'tariff_not_found', 'tariff_inactive', 'batch_refused'],
    ...BATCH_FILES,
    query: BatchRequestQuery,
    body: BatchRequest,
    response: { 202: BatchStarted },
    bodyLimit: ASK_BYTES,
    slow: true,
    change: (tx, { query: { poolId = null, tariffId = null, ...query }, body }, { workflowOptions }) => {
      const asked = { ...query, ...body, defaults: { poolId, tariffId, ...body.defaults } }
      return startBatch(tx, asked, workflowOptions)
    },
  }),
  route('GET', '/provision-batches/:id', {
    operationId: 'getProvisionBatch',
    summary: 'A batch of SIMs to activate, counted by state',
    problems: ['batch_not_found'],
    params: BatchParams,
    response: { 200: Batch },
    read: (tx, { params }) => batchOf(tx, batchIdOf(params.id)),
  }),
  route('GET', '/provision-batches/:id/sims', {
    operationId: 'listProvisionBatchSims',
    summary: 'SIMs of a batch, in the order of its request',
    problems: ['batch_not_found'],
    params: BatchParams,
    query: BatchSimQuery,
    response: { 200: BatchSims },
    read: async (tx, { params, query }) => {
      const id = batchIdOf(params.id)
      await mustExist(tx, 'batch', id)
      return pageOfBatch(tx, id, query)
    },
  }),
  route('POST', '/provision-batches/:id/outcomes', {
    operationId: 'noteProvisionBatch',
    summary: 'Report progress of the SIMs of a batch; sent by its workflow',
    problems: ['batch_not_found'],
    idempotent: false,
    params: BatchParams,
    body: BatchNotes,
    response: { 200: strictObject({}) },
    handle: ({ tenantId, params, body }, { store }) =>
      inTenant(store, tenantId, async (tx) => {
        await noteBatch(tx, batchIdOf(params.id), body)
        return {}
      }),
  }),
  route('POST', '/provision-batches/:id/end', {
    operationId: 'endProvisionBatch',
    summary: 'End a batch and cancel its waiting SIMs; sent by its workflow',
    problems: ['batch_not_found'],
    idempotent: false,
    params: BatchParams,
    response: {
      200: strictObject({
        batch: Batch,
        failures: Type.Array(BatchSim, { description: 'The first 100 SIMs not activated' }),
      }),
    },
    handle: ({ tenantId, params }, { store }) =>
      inTenant(store, tenantId, (tx) => closeBatch(tx, batchIdOf(params.id))),
  }),
]
