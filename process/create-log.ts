/** The log of a long-running process: JSON lines, formatted for reading on a terminal. */
import pino, { type DestinationStream, type Logger } from 'pino'
import { hideSecrets, shorten } from '../domain/quote.ts'
import type { Settings } from './settings.ts'

/** Fields that never reach the log, at any level of an entry. */
const SECRET = [
  'authorization',
  'x-api-key',
  'key',
  'secret',
  'password',
  'databaseUrl',
  'esimQrPayload',
  'esimQrDataUrl',
]
const SECRET_NAME = new RegExp(`^(?:${SECRET.join('|')})$`, 'i')
/** In a line of JSON, where the quotes of a text have a backslash before them. */
const SECRET_FIELD = new RegExp(`"(?:${SECRET.join('|')})":`, 'i')

/**
 * No line is longer than this in UTF-8, and none has a key in it. A stack with its causes takes 2 to 3 KB. A refused request
 * makes two lines at most: what failed, and the request.
 */
const MOST_BYTES = 4096

/** Limits for shortening an entry: bytes of each text, values of each list and object. */
interface Cut {
  readonly bytes: number
  readonly values: number
}
/** Tried in this order. */
const CUTS: readonly Cut[] = [
  { bytes: 1500, values: 30 },
  { bytes: 300, values: 20 },
  { bytes: 100, values: 10 },
  { bytes: 40, values: 6 },
]
/** For the fields of every entry, when all others are left out. */
const LAST_CUT: Cut = { bytes: 500, values: 6 }
/** Bytes of a field's name. */
const MOST_NAME = 60

/**
 * @param name of the process: `api`, `worker`
 * @param to where lines are written; default: standard output
 */
export function createLog(settings: Pick<Settings, 'LOG_LEVEL'>, name: string, to?: DestinationStream): Logger {
  const options = {
    name,
    level: settings.LOG_LEVEL,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Every entry passes here: texts of requests, carriers, mail servers, errors and their causes.
    hooks: { streamWrite: boundLine },
  }
  // Not pino's own writer for the file descriptor: at exit it would try for ever to write to a reader after its end.
  if (to !== undefined || !process.stdout.isTTY) return pino(options, to ?? process.stdout)
  return pino({ ...options, transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname,name' } } })
}

/** A line of JSON without secrets, shortened to the limit. */
function boundLine(line: string): string {
  const safe = hideSecrets(SECRET_FIELD.test(line) ? censor(line) : line)
  if (Buffer.byteLength(safe) <= MOST_BYTES) return safe
  const { level, time, name, reqId, msg, ...rest }: Record<string, unknown> = JSON.parse(safe)
  const first = { level, time, name, reqId, msg }
  for (const cut of CUTS) {
    const text = withCuts({ ...first, ...rest }, cut)
    if (Buffer.byteLength(text) <= MOST_BYTES) return text
  }
  return withCuts({ ...first, bytes: Buffer.byteLength(safe) }, LAST_CUT)
}

/** The line with its secret fields censored. Most lines have none, and are not parsed: pino's `redact` took 30 µs each. */
const censor = (line: string): string =>
  `${JSON.stringify(JSON.parse(line), (name, value: unknown) => (SECRET_NAME.test(name) ? '[redacted]' : value))}\n`

const withCuts = (entry: object, cut: Cut): string =>
  `${JSON.stringify(entry, (_, value: unknown) => cutValue(value, cut))}\n`

function cutValue(value: unknown, { bytes, values }: Cut): unknown {
  if (typeof value === 'string') return shorten(value, bytes)
  if (Array.isArray(value)) return value.slice(0, values)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).slice(0, values)
  return Object.fromEntries(fields.map(([name, field]) => [shorten(name, MOST_NAME), field]))
}
