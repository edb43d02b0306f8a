/** Connections to PostgreSQL. */
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Db } from './tenancy.ts'

const INT8 = 20

/**
 * What is counted is held below 2^53 (`*_total` constraints), and so are ids. Only limits may add up to more: a tariff's
 * allowance times its SIMs. Those are shown as large as a number is exact, which no usage ever reaches.
 */
function safeInteger(text: string): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(text)))
}

/** The driver's own types, but bigint as a number. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary' ? safeInteger : pg.types.getTypeParser(oid, format ?? 'text'),
}

/**
 * How long a statement, a wait for a lock, and a transaction that nobody goes on with may take, in milliseconds. What
 * is broken off is tried again: callers are told 503, jobs are found by the sweeps, activities are retried.
 */
const LIMITS = {
  statement_timeout: 30_000,
  lock_timeout: 5000,
  idle_in_transaction_session_timeout: 30_000,
}

/**
 * Opens a pool of connections; `close` gives them back.
 *
 * @param options.unlimited statements and waits for locks take as long as they take: migrations
 * @param onError is told of connections that were lost; the pool replaces them by itself
 */
export function connect(
  databaseUrl: string,
  options: {
    readonly max?: number
    readonly onError?: (error: Error) => void
    readonly unlimited?: boolean
    /** How long a statement waits for a lock, in milliseconds. */
    readonly lockTimeoutMs?: number
  } = {},
): { db: Db; close: () => Promise<void> } {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: options.max ?? 10,
    connectionTimeoutMillis: 10_000,
    application_name: 'simherd',
    types,
    ...(options.unlimited === true ? {} : LIMITS),
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
  })
  pool.on('error', (error) => options.onError?.(error))
  // The pool listens to idle connections only: one that breaks between two statements would end the process.
  pool.on('connect', (client) => client.on('error', (error) => options.onError?.(error)))
  const db: Db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  return { db, close: () => db.destroy() }
}
