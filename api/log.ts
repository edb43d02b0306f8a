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

/** What a log of ours leaves out. */
export const LOG_REDACTION = { paths: PATHS, censor: '[redacted]' }

/** @param name of the process, in every line */
export const createLog = (name: string, level: string): Logger =>
  pino({ name, level, redact: LOG_REDACTION, timestamp: pino.stdTimeFunctions.isoTime })
