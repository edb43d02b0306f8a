/** The log of a process: JSON lines, without what opens doors or takes over lines. */
import { type Logger, pino } from 'pino'

/** Fields that never reach the log, wherever they stand in an entry's first two levels. */
const SECRET = [
  'authorization',
  'x-api-key',
  'key',
  'secret',
  'esimQrPayload',
  'esimQrDataUrl',
  'password',
  'databaseUrl',
]
const PATHS = SECRET.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])

/** @param name of the process, in every line */
export const createLog = (name: string, level: string): Logger =>
  pino({ name, level, redact: { paths: PATHS, censor: '[redacted]' }, timestamp: pino.stdTimeFunctions.isoTime })
