/** Lists of SIMs as CSV and NDJSON: read into the body that JSON has, records unchecked. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import type { SimFile } from '../../operations/estate/import-sims.ts'
import { shapeFault } from '../http/json-shape.ts'
import { LINE_TOO_LONG, MOST_LINE } from './lines.ts'
import { readSimCsv, type SimRecords } from './sim-csv.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where the records of the body stand in the file; null where it is JSON. */
    simFile: SimFile | null
  }
}

/** What lists of SIMs look like. */
export const SIM_FILES = {
  'text/csv': 'iccid,imsi,tag\n8999900000000000018,001010000000018,meter 18\n',
  'application/x-ndjson': '{"iccid":"8999900000000000018","tag":"meter 18"}\n',
}

/** Has a scope take NDJSON and CSV besides JSON. */
export function takeSimFiles(app: FastifyInstance): void {
  app.decorateRequest('simFile', null)
  const take = (types: string[], read: (text: string) => SimRecords) =>
    app.addContentTypeParser<Buffer>(types, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
      const { sims, ...file } = read(textOf(body))
      request.simFile = file
      return { sims }
    })
  take(['application/x-ndjson', 'application/ndjson'], readNdjson)
  take(['text/csv'], readSimCsv)
}

const NEXT = 'save it as UTF-8 (in Excel: "CSV UTF-8") and send it again'

/**
 * The text of a file.
 *
 * @throws ServiceError invalid_request where it is not UTF-8, naming the first line that is not
 */
function textOf(body: Buffer): string {
  const utf16 = /^(?:\xFF\xFE|\xFE\xFF|[^\0]\0|\0[^\0])/.test(body.toString('latin1', 0, 4))
  if (utf16) throw new ServiceError('invalid_request', `The file is not UTF-8, it looks like UTF-16: ${NEXT}.`)
  if (isUtf8(body)) return body.toString('utf8')
  const lines = body.toString('latin1').split('\n')
  const line = lines.findIndex((text) => !isUtf8(Buffer.from(text, 'latin1')))
  throw new ServiceError(
    'invalid_request',
    `The file is not UTF-8, line ${line + 1} is the first that is not: ${NEXT}.`,
  )
}

/** A line that is no JSON is kept as one that could not be read. */
function readNdjson(text: string): SimRecords {
  const sims: unknown[] = []
  const lines: number[] = []
  const unreadable = new Map<number, string>()
  for (const [at, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue
    lines.push(at + 1)
    const fault = line.length > MOST_LINE ? { pointer: '', detail: LINE_TOO_LONG } : shapeFault(line)
    try {
      if (fault === undefined) sims.push(JSON.parse(line))
      else unreadable.set(sims.push(null) - 1, `${fault.pointer} ${fault.detail}`.trim())
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      unreadable.set(sims.push(null) - 1, `is no JSON: ${why}`)
    }
  }
  return { sims, lines, unreadable }
}
