/** Connections to PostgreSQL. */
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { KeepingClient } from './keeping-client.ts'
import type { Db } from './tenancy.ts'

const INT8 = 20

/**
 * Parses a bigint as a number, clamped to the safe integers. Totals stay below 2^53 (`*_total` constraints), and so
 * do ids. Only a sum of limits can be larger: a tariff's allowance times its SIMs. No usage ever reaches the clamped
 * value.
 */
function safeInteger(text: string): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(text)))
}

/** The driver's own types, except that bigint becomes a number. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary' ? safeInteger : pg.types.getTypeParser(oid, format ?? 'text'),
}

/**
 * Opens a pool of connections. `close` closes them all.
 *
 * @param options.max connections at most; default: 10
 * @param options.answerMs how long a statement may take, in milliseconds; 0: for ever, for migrations. Default: that of
 *   store/keeping-client.ts
 * @param options.onError called for each lost connection; the pool replaces it
 */
export function connect(
  databaseUrl: string,
  options: {
    readonly max?: number
    readonly onError?: (error: Error) => void
    readonly answerMs?: number
    /** How long a statement outside of the transactions of tenancy.ts waits for a lock, in milliseconds. */
    readonly lockTimeoutMs?: number
  } = {},
): { db: Db; close: () => Promise<void> } {
  const pool = new pg.Pool({
    Client: KeepingClient,
    // oxlint-disable-next-line typescript/no-misused-promises -- the pool awaits it, which its types do not say
    onConnect: (client) => (client instanceof KeepingClient ? client.askWhetherToKeep() : undefined),
    connectionString: databaseUrl,
    max: options.max ?? 10,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    application_name: 'simherd',
    types,
    ...(options.answerMs !== undefined && { answerMs: options.answerMs }),
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
  })
  pool.on('error', (error) => options.onError?.(error))
  // The pool handles errors of idle connections only. A connection that breaks between two statements would end the
  // process.
  pool.on('connect', (client) => client.on('error', (error) => options.onError?.(error)))
  const db: Db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  return { db, close: () => db.destroy() }
}
