/** Reads lists of SIMs from CSV and NDJSON. Makes the same body as JSON, with unchecked records. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ImportedSim } from '../../domain/sims/sim-import.ts'
import { type FileRecord, recordsOfLines } from './lines.ts'
import { recordsOfTable, type Table } from './tables.ts'
import { takeFiles, upToMost } from './whole-files.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** First line of each record of the body, from 1. Null for a JSON body. */
    recordLines: readonly number[] | null
  }
}

/** For routes that take NDJSON and CSV besides JSON. */
export const SIM_FILES = {
  files: {
    'text/csv': 'iccid,imsi,tag\n8999900000000000018,001010000000018,meter 18\n',
    'application/x-ndjson': '{"iccid":"8999900000000000018","tag":"meter 18"}\n',
  },
  consumes: ['application/json', 'application/x-ndjson', 'text/csv'],
  bodies: takeSimFiles,
}

function takeSimFiles(app: FastifyInstance): void {
  app.decorateRequest('recordLines', null)
  const asBody =
    (recordsOf: (parts: AsyncGenerator<Buffer>) => AsyncGenerator<FileRecord[]>) =>
    async (parts: AsyncGenerator<Buffer>, request: FastifyRequest) => {
      const records = await upToMost(recordsOf(parts))
      request.recordLines = records.map(({ line }) => line)
      return { sims: records.map(({ value }) => value) }
    }
  const ndjson = asBody(recordsOfLines)
  takeFiles(app, {
    'application/x-ndjson': ndjson,
    'application/ndjson': ndjson,
    'text/csv': asBody((parts) => recordsOfTable(parts, TABLE)),
  })
}

const TABLE: Table = { fields: ImportedSim.properties, oneOf: ['iccid'] }
