/** Lists of SIMs as CSV and NDJSON: read into the body that JSON has, records unchecked. */
import { parse } from 'csv-parse/sync'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../domain/errors.ts'

/** Has a scope take NDJSON and CSV besides JSON. */
export function takeSimFiles(app: FastifyInstance): void {
  app.addContentTypeParser<string>(
    ['application/x-ndjson', 'application/ndjson'],
    { parseAs: 'string' },
    async (_request: FastifyRequest, body: string) => ({ sims: readNdjson(body) }),
  )
  app.addContentTypeParser<string>(
    'text/csv',
    { parseAs: 'string' },
    async (_request: FastifyRequest, body: string) => ({ sims: readCsv(body) }),
  )
}

/** A line that is no JSON stays text, and is rejected where records are checked. */
function readNdjson(text: string): unknown[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line): unknown => {
    try {
      return JSON.parse(line)
    } catch {
      return line
    }
  })
}

const INTEGERS = new Set(['type', 'watchdogMode', 'warningThresholdPct'])
const BOOLEANS = new Set(['enableBurnRateAlerts', 'isWatchdogExempt'])

/** The first line names the columns; an empty cell is no value. */
function readCsv(text: string): unknown[] {
  let rows: Record<string, string>[]
  try {
    rows = parse<Record<string, string>>(text, { columns: true, bom: true, skip_empty_lines: true, trim: true })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ServiceError('invalid_request', `The CSV cannot be read: ${why}`)
  }
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row)
        .filter(([, cell]) => cell !== '')
        .map(([column, cell]) => [column, valueOf(column, cell)]),
    ),
  )
}

function valueOf(column: string, cell: string): unknown {
  if (INTEGERS.has(column) && /^\d+$/.test(cell)) return Number(cell)
  if (BOOLEANS.has(column) && /^(true|false)$/i.test(cell)) return cell.toLowerCase() === 'true'
  return cell
}
