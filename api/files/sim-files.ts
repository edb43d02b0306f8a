/** Reads lists of SIMs from CSV and NDJSON. Makes the same body as JSON, with unchecked records. */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import type { SimFile } from '../../operations/estate/import-sims.ts'
import { shapeFault } from '../http/json-shape.ts'
import { LINE_TOO_LONG, MOST_LINE } from './lines.ts'
import { readSimCsv, type SimRecords } from './sim-csv.ts'

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
 * Decodes a file.
 *
 * @throws ServiceError invalid_request if it is not UTF-8, with the first line that is not
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

/** Keeps a line that is no JSON as unreadable. */
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
