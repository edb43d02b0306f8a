import { PageQuery, pageOf } from '../../../domain/page.ts'
import {
  BulkItem,
  BulkItemQuery,
  BulkPlan,
  BulkRequest,
  BulkRequestQuery,
  BulkRun,
  BulkRunDetail,
} from '../../../domain/tickets/bulk.ts'
import {
  cancelBulkTickets,
  mustExist,
  planBulkTickets,
  runOf,
  startBulkTickets,
} from '../../../service/tickets/bulk.ts'
import { pageOfItems, pageOfRuns } from '../../../service/tickets/rows/bulk-reads.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { BULK_FILES } from '../../files/sim-files.ts'
import { takeNoBody } from '../../http/app.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import { whileThere } from '../../http/left.ts'
import { BulkParams, bulkIdOf } from '../../http/params.ts'
import { TERMS_OF_A_BULK_RUN } from '../../openapi/together.ts'

/** Limit for a body, in bytes. Enough for 100,000 SIMs in the longest form. */
const ASK_BYTES = 8 * 1024 * 1024

const route = internalRoutes('Bulk tickets')

export const bulkTicketRoutes = [
  route('POST', '/bulk-tickets', {
    operationId: 'startBulkTickets',
    summary: 'Open a ticket on each of many SIMs; a dry run only shows accepted and refused SIMs',
    description:
      'SIMs by id, by ICCID, by a filter, of an earlier run, or as CSV with a column iccid or simId; for CSV the ' +
      'other fields go into the query. At most 100,000. The SIMs are fixed at once; their tickets are opened after the answer, ' +
      'run after run. SIMs that cannot have the ticket are refused one by one.',
    problems: [
      'pool_not_found',
      'tariff_not_found',
      'tariff_inactive',
      'tariff_needs_pool',
      'tariff_has_no_effect',
      'bulk_too_large',
      'bulk_not_found',
      'bulk_grown',
    ],
    also: { body: TERMS_OF_A_BULK_RUN },
    ...BULK_FILES,
    query: BulkRequestQuery,
    body: BulkRequest,
    response: { 200: BulkPlan, 202: BulkRunDetail },
    bodyLimit: ASK_BYTES,
    slow: true,
    handle: async (request, { store, reply }) => {
      const asked = { ...request.query, ...request.body }
      const there = whileThere(store, request)
      // A dry run may be requested in the query or in the body. Its Idempotency-Key stays free for the real run.
      if (request.query.dryRun === true || request.body.dryRun === true) {
        return inTenant(there, request.tenantId, (tx) => planBulkTickets(tx, asked))
      }
      reply.code(202)
      return idempotentInTenant(there, { request, reply }, (tx) => startBulkTickets(tx, asked))
    },
  }),
  route('GET', '/bulk-tickets', {
    operationId: 'listBulkTickets',
    summary: 'Bulk runs, newest first',
    query: PageQuery,
    response: { 200: pageOf(BulkRun) },
    read: (tx, { query }) => pageOfRuns(tx, query),
  }),
  route('GET', '/bulk-tickets/:id', {
    operationId: 'getBulkTickets',
    summary: 'A bulk run, with its SIMs counted by state',
    problems: ['bulk_not_found'],
    params: BulkParams,
    response: { 200: BulkRunDetail },
    read: (tx, { params }) => runOf(tx, bulkIdOf(params.id)),
  }),
  route('GET', '/bulk-tickets/:id/items', {
    operationId: 'listBulkTicketItems',
    summary: 'SIMs of a bulk run, in the order of its request',
    problems: ['bulk_not_found'],
    params: BulkParams,
    query: BulkItemQuery,
    response: { 200: pageOf(BulkItem) },
    read: async (tx, { params, query }) => {
      const id = bulkIdOf(params.id)
      await mustExist(tx, 'tickets', id)
      return pageOfItems(tx, id, query)
    },
  }),
  route('DELETE', '/bulk-tickets/:id', {
    operationId: 'cancelBulkTickets',
    summary: 'Cancel the unopened and pending tickets of a bulk run',
    problems: ['bulk_not_found', 'bulk_ended'],
    bodies: takeNoBody,
    params: BulkParams,
    response: { 200: BulkRunDetail },
    change: (tx, { params }) => cancelBulkTickets(tx, bulkIdOf(params.id)),
  }),
]
