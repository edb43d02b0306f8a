import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { strictObject } from '../../domain/schema.ts'
import { UsageRecord } from '../../domain/usage.ts'
import { recordUsage, type UsageTerms } from '../../operations/record-usage.ts'
import type { Ground } from '../../store/tenancy.ts'
import type { InternalOptions } from '../server.ts'
import { takeUsage, usageRecords } from '../usage-stream.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const UsageAnswer = strictObject({
  accepted: count('Records counted'),
  duplicates: count('Records that had been sent before'),
  rejectedCount: count('Records that were refused'),
  rejected: Type.Array(
    strictObject({ index: count('Place in the delivery, from 0'), code: Type.String(), detail: Type.String() }),
    { description: 'The first 1,000 of them' },
  ),
})

/** A bad record rejects itself and not the rest, so that anything may stand in its place. */
const USAGE = Type.Object({
  records: Type.Array(Type.Union([UsageRecord, Type.Unsafe<unknown>({ description: 'Anything else: rejected' })]), {
    description: 'Any number; each is judged by itself',
  }),
})

/** Records of one transaction: enough to be set-wise, few enough to hold locks only for moments. */
const CHUNK = 1000
const MOST_REJECTED = 1000

export const usageRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { ground, usage }) => {
  takeUsage(app)
  app.post<{ Body: Readable }>(
    '/usage',
    {
      config: {
        once: false,
        streamed: USAGE,
        files: {
          'text/csv':
            'recordId,iccid,at,bytesUp,bytesDown\ncdr-17,8999900000000000017,2026-11-20T11:58:07Z,1200,48000\n',
          'application/x-ndjson':
            '{"recordId":"cdr-17","iccid":"8999900000000000017","at":"2026-11-20T11:58:07Z","bytesDown":48000}\n',
        },
      },
      schema: {
        operationId: 'recordUsage',
        summary: 'Take in usage records: JSON, NDJSON or CSV, gzip accepted',
        description:
          'Each record counts once, however often it is sent: (recordId, at) is its identity. A bad record rejects itself, not the rest. Committed in chunks: send a broken delivery again.',
        tags: ['Usage'],
        consumes: ['application/json', 'application/x-ndjson', 'text/csv'],
        response: { 200: UsageAnswer },
      },
    },
    (request) => takeIn(ground, request.tenantId, usageRecords(request), usage),
  )
}

async function takeIn(
  ground: Ground,
  tenantId: string,
  records: AsyncGenerator<unknown>,
  terms: UsageTerms | undefined,
) {
  const answer = { accepted: 0, duplicates: 0, rejectedCount: 0 }
  const rejected: { index: number; code: string; detail: string }[] = []
  let chunk: unknown[] = []
  let index = 0
  const commit = async () => {
    const counted = await recordUsage(ground, tenantId, chunk, index, terms)
    index += chunk.length
    chunk = []
    answer.accepted += counted.accepted
    answer.duplicates += counted.duplicates
    answer.rejectedCount += counted.rejected.length
    rejected.push(...counted.rejected.slice(0, MOST_REJECTED - rejected.length))
  }
  for await (const record of records) {
    chunk.push(record)
    if (chunk.length >= CHUNK) await commit()
  }
  if (chunk.length > 0) await commit()
  return { ...answer, rejected }
}
