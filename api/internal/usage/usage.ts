import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { pageOf } from '../../../domain/page.ts'
import { Id, strictObject } from '../../../domain/schema.ts'
import { UsageDelivery, UsageDeliveryQuery } from '../../../domain/usage/delivery.ts'
import { UsageRecord } from '../../../domain/usage/usage-record.ts'
import { UsageSeries, UsageSeriesQuery } from '../../../domain/usage/usage-series.ts'
import { checkOneNamed, subjectNamed } from '../../../domain/watchdog/subject.ts'
import { knownPool } from '../../../service/pools/rows/pools.ts'
import { knownSim } from '../../../service/sims/rows/sims.ts'
import { type UsageResponse as Counted, countStream } from '../../../service/usage/count-usage.ts'
import { readUsageSeries } from '../../../service/usage/read-usage-series.ts'
import {
  endDelivery,
  findDelivery,
  insertDelivery,
  pageOfUsageDeliveries,
} from '../../../service/usage/rows/deliveries.ts'
import { continuing, inTenant } from '../../../store/tenancy.ts'
import { IGNORE_UNKNOWN, IGNORED, IgnoredFields } from '../../files/ignored-fields.ts'
import { ArrivalHash, takeUsage, usageRecords } from '../../files/usage-stream.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { whileThere } from '../../http/left.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'
import { UsageDeliveryParams } from '../../http/params.ts'
import { mustBeFound } from '../../http/problems.ts'
import type { InternalOptions } from '../../options.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const UsageResponse = strictObject({
  deliveryId: Id('Delivery id: `GET /internal/usage-deliveries/{id}` returns its sender and these counts'),
  accepted: count('Counted records'),
  duplicates: count('Records sent before'),
  rejectedCount: count('Refused records'),
  rejected: Type.Array(
    strictObject({ index: count('Place in the delivery, from 0'), code: Type.String(), detail: Type.String() }),
    { description: 'The first 1,000 refused records' },
  ),
  ...IGNORED,
})

const UsageQuery = Type.Object(IGNORE_UNKNOWN)

/** Schema for the document. It allows any value in place of a record: a bad record is rejected without the rest. */
const USAGE = Type.Object({
  records: Type.Array(Type.Union([UsageRecord, Type.Unsafe<unknown>({ description: 'Other values are rejected' })]), {
    description: 'Any number of records, checked one by one',
  }),
})

const MOST_REJECTED = 1000

const route = internalRoutes('Usage')

export const usageRoutes = [
  route('POST', '/usage', {
    operationId: 'recordUsage',
    summary: 'Record usage from JSON, NDJSON or CSV, optionally gzipped',
    description:
      'A record, identified by (recordId, at), counts once even if sent again. A wrong record does not affect the others. Committed in chunks: send a broken delivery again.',
    idempotent: false,
    streamed: USAGE,
    takesGzip: true,
    files: {
      'text/csv': 'recordId,iccid,at,bytesUp,bytesDown\ncdr-17,8999900000000000017,2026-11-20T11:58:07Z,1200,48000\n',
      'application/x-ndjson':
        '{"recordId":"cdr-17","iccid":"8999900000000000017","at":"2026-11-20T11:58:07Z","bytesDown":48000}\n',
    },
    consumes: ['application/json', 'application/x-ndjson', 'text/csv'],
    bodies: takeUsage,
    query: UsageQuery,
    response: { 200: UsageResponse },
    handle: takeIn,
  }),
  route('GET', '/usage', {
    operationId: 'readUsageSeries',
    isOpenTo: 'read',
    summary: 'Usage of a SIM, a pool or the tenant over time, in steps',
    description:
      'Without simId and poolId: of the tenant. A SIM is read from its records, so its series follows it through pools; a pool has the usage of SIMs while they were in it. Refused if it makes more than 1,000 steps, or needs more than 50,000 records or time buckets.',
    problems: ['sim_not_found', 'pool_not_found'],
    query: UsageSeriesQuery,
    response: { 200: UsageSeries },
    read: async (tx, { query: { simId, poolId, ...asked } }) => {
      checkOneNamed({ simId, poolId })
      if (simId !== undefined) await knownSim(tx, simId)
      if (poolId !== undefined) await knownPool(tx, poolId)
      return readUsageSeries(tx, subjectNamed({ simId, poolId }), asked)
    },
  }),
  route('GET', '/usage-deliveries', {
    operationId: 'listUsageDeliveries',
    summary: 'Usage deliveries with sender, time and counts; newest first',
    description: 'Part of the audit trail. Counted records refer to their first delivery.',
    query: UsageDeliveryQuery,
    response: { 200: pageOf(UsageDelivery) },
    read: (tx, { query }) => pageOfUsageDeliveries(tx, query),
  }),
  route('GET', '/usage-deliveries/:id', {
    operationId: 'getUsageDelivery',
    summary: 'A usage delivery',
    problems: ['usage_delivery_not_found'],
    params: UsageDeliveryParams,
    response: { 200: UsageDelivery },
    read: async (tx, { params: { id } }) =>
      mustBeFound(await findDelivery(tx, id), 'usage_delivery_not_found', `delivery of usage ${id}`),
  }),
]

/** Takes in a delivery. Its row is written when it begins, and when it ends, even with an error. */
async function takeIn(
  request: FastifyRequest<{ Querystring: Static<typeof UsageQuery> }>,
  { store, usage }: InternalOptions,
): Promise<Static<typeof UsageResponse>> {
  const { tenantId } = request
  const arrived = new ArrivalHash()
  const ignored = request.query.ignoreUnknown === true ? new IgnoredFields(UsageRecord.properties) : undefined
  const deliveryId = await inTenant(onBehalfOf(store, request), tenantId, insertDelivery)
  const rest = continuing(store)
  const answer = { accepted: 0, duplicates: 0, rejectedCount: 0 }
  const rejected: { index: number; code: string; detail: string }[] = []
  const add = (counted: Counted) => {
    answer.accepted += counted.accepted
    answer.duplicates += counted.duplicates
    answer.rejectedCount += counted.rejected.length
    rejected.push(...counted.rejected.slice(0, MOST_REJECTED - rejected.length))
  }
  let outcome: 'complete' | 'broken' = 'broken'
  try {
    // Opened inside the try block: a stream that fails without a reader ends the process.
    const source = { ...usage, store: whileThere(rest, request), tenantId, deliveryId }
    await countStream(source, usageRecords(request, arrived, ignored), add)
    outcome = 'complete'
  } finally {
    const { rejectedCount, ...counts } = answer
    const came = { bytes: arrived.bytes, sha256: arrived.sha256() }
    const end = { ...counts, ...came, rejected: rejectedCount, outcome }
    await inTenant(rest, tenantId, (tx) => endDelivery(tx, deliveryId, end))
  }
  return { deliveryId, ...answer, rejected, ignored: ignored?.names ?? [] }
}
