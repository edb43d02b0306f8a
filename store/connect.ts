/** Connections to PostgreSQL. */
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Db } from './tenancy.ts'

const INT8 = 20

function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error(`bigint beyond 2^53-1 from the database: ${text}`)
  return value
}

/** The driver's own types, but bigint as a number, refused beyond the safe integers. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary' ? safeInteger : pg.types.getTypeParser(oid, format ?? 'text'),
}

/**
 * Opens a pool of connections; `close` gives them back.
 *
 * @param onError is told of connections that were lost; the pool replaces them by itself
 */
export function connect(
  databaseUrl: string,
  options: {
    readonly max?: number
    readonly onError?: (error: Error) => void
    /** How long a statement waits for a lock, in milliseconds. Default: for ever. */
    readonly lockTimeoutMs?: number
  } = {},
): { db: Db; close: () => Promise<void> } {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: options.max ?? 10,
    connectionTimeoutMillis: 10_000,
    application_name: 'simherd',
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
    types,
  })
  pool.on('error', (error) => options.onError?.(error))
  // The pool listens to idle connections only: one that breaks between two statements would end the process.
  pool.on('connect', (client) => client.on('error', (error) => options.onError?.(error)))
  const db: Db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  return { db, close: () => db.destroy() }
}
