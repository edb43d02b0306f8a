/** The log of a long-running process: JSON lines, formatted for reading on a terminal. */
import pino, { type Logger } from 'pino'
import type { Settings } from '../config/index.ts'

/** Fields that never reach the log, at any of the first three levels of an entry. */
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
const PATHS = SECRET.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])

/** @param name of the process: `api`, `worker` */
export function createLog(settings: Pick<Settings, 'LOG_LEVEL'>, name: string): Logger {
  const options = {
    name,
    level: settings.LOG_LEVEL,
    redact: { paths: PATHS, censor: '[redacted]' },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  // Not pino's own writer for the file descriptor: at exit it would try for ever to write to a reader that is gone.
  if (!process.stdout.isTTY) return pino(options, process.stdout)
  return pino({ ...options, transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname,name' } } })
}
