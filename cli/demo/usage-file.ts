/** The usage file in `examples/`, as rows to send. */
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { USAGE_COLUMNS } from '../../examples/usage.ts'
import { mapInstant } from './mapping.ts'
import { type Mapping } from './progress.ts'

const FILE = new URL('../../examples/usage-2026-10.csv', import.meta.url)
/** The month that the file covers, `[from, to)`, in epoch milliseconds. */
export const FILE_MONTH = { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 1) }

const Rows = Type.Array(Type.Array(Type.String()))
const AT = USAGE_COLUMNS.indexOf('at')

export interface UsageRow {
  /** Epoch milliseconds, in the file's month. */
  readonly at: number
  /** The cells as in the file, column by column. */
  readonly fields: readonly string[]
}

export async function readUsageFile(): Promise<UsageRow[]> {
  const rows: unknown = parse(await readFile(FILE), { relaxColumnCount: false })
  if (!Value.Check(Rows, rows)) throw new Error(`${FILE.pathname} is not a CSV file`)
  const [header, ...lines] = rows
  if (header?.join() !== USAGE_COLUMNS.join()) {
    throw new Error(`${FILE.pathname} has the columns ${header?.join() ?? '(none)'}, expected ${USAGE_COLUMNS.join()}`)
  }
  return lines.map((fields) => ({ at: Date.parse(fields[AT] ?? ''), fields }))
}

/** A body of raw bytes, and the headers that describe them. */
interface Delivery {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

const compress = promisify(gzip)

/** Makes one CSV delivery of rows, with their instants mapped. The same rows and mapping make the same delivery. */
export async function asDelivery(rows: readonly UsageRow[], mapping: Mapping): Promise<Delivery> {
  const lines = rows.map(({ at, fields }) => fields.with(AT, new Date(mapInstant(mapping, at)).toISOString()).join(','))
  const bytes = await compress(`${USAGE_COLUMNS.join(',')}\n${lines.join('\n')}\n`)
  return {
    bytes: new Uint8Array(bytes),
    headers: { 'content-type': 'text/csv', 'content-encoding': 'gzip' },
  }
}
