/** Reads lists of SIMs from CSV and NDJSON. Makes the same body as JSON, with unchecked records. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readJson } from '../../domain/json.ts'
import type { SimFile } from '../../operations/estate/import-sims.ts'
import { LINE_TOO_LONG, linesOf } from './lines.ts'
import { readSimCsv, type SimRecords } from './sim-csv.ts'
import { takeFiles, upToMost } from './whole-files.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where each record of the body stands in the file. Null for a JSON body. */
    simFile: SimFile | null
  }
}

/** Example files, by content type. */
export const SIM_FILES = {
  'text/csv': 'iccid,imsi,tag\n8999900000000000018,001010000000018,meter 18\n',
  'application/x-ndjson': '{"iccid":"8999900000000000018","tag":"meter 18"}\n',
}

/** Makes a scope accept NDJSON and CSV besides JSON. */
export function takeSimFiles(app: FastifyInstance): void {
  app.decorateRequest('simFile', null)
  const asBody =
    (read: (parts: AsyncGenerator<Buffer>) => Promise<SimRecords>) =>
    async (parts: AsyncGenerator<Buffer>, request: FastifyRequest) => {
      const { sims, ...file } = await read(parts)
      request.simFile = file
      return { sims }
    }
  const ndjson = asBody(readNdjson)
  takeFiles(app, { 'application/x-ndjson': ndjson, 'application/ndjson': ndjson, 'text/csv': asBody(readSimCsv) })
}

/** Keeps a line that is no JSON as unreadable. */
async function readNdjson(parts: AsyncGenerator<Buffer>): Promise<SimRecords> {
  const sims: unknown[] = []
  const lines: number[] = []
  const unreadable = new Map<number, string>()
  for await (const { number, text } of upToMost(linesOf(parts))) {
    lines.push(number)
    const read = text === null ? { fault: { pointer: '', detail: LINE_TOO_LONG } } : readJson(text)
    if ('value' in read) sims.push(read.value)
    else unreadable.set(sims.push(null) - 1, `${read.fault.pointer} ${read.fault.detail}`.trim())
  }
  return { sims, lines, unreadable }
}
