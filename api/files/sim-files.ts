/** Reads lists of SIMs from CSV and NDJSON. Makes the same body as JSON, with unchecked records. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { DIGIT_FIELDS, SIM_FIELDS } from '../../operations/estate/check-sim.ts'
import { type FileRecord, recordsOfLines } from './lines.ts'
import { type CellKind, recordsOfTable, type Table } from './tables.ts'
import { takeFiles, upToMost } from './whole-files.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** First line of each record of the body, from 1. Null for a JSON body. */
    recordLines: readonly number[] | null
  }
}

/** Example files, by content type. */
export const SIM_FILES = {
  'text/csv': 'iccid,imsi,tag\n8999900000000000018,001010000000018,meter 18\n',
  'application/x-ndjson': '{"iccid":"8999900000000000018","tag":"meter 18"}\n',
}

/** Makes a scope accept NDJSON and CSV besides JSON. */
export function takeSimFiles(app: FastifyInstance): void {
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

const INTEGERS: ReadonlySet<string> = new Set(
  'type watchdogMode warningThresholdPct status poolId tariffId usageBytes voiceSeconds smsCount'.split(' '),
)
const BOOLEANS: ReadonlySet<string> = new Set(['enableBurnRateAlerts', 'isWatchdogExempt'])

function kindOf(field: string): CellKind {
  if (DIGIT_FIELDS.has(field)) return 'digits'
  if (INTEGERS.has(field)) return 'integer'
  if (BOOLEANS.has(field)) return 'boolean'
  return field === 'tag' ? 'label' : 'text'
}

const TABLE: Table = { fields: Object.fromEntries(SIM_FIELDS.map((field) => [field, kindOf(field)])), oneOf: ['iccid'] }
