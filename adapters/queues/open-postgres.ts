/**
 * BullMQ's PostgreSQL backend with one pool. Works around two defects of version 6.7. A failed first attempt to connect
 * is kept for the life of the process, and returned again without a pause. A connection that breaks between two
 * statements of its migrations, or while it closes, ends the process.
 *
 * Its tables are in a separate schema next to the service's.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  isPgPool,
  type PgPool,
  PostgresConnection,
  PostgresQueueBackend,
  type QueueBaseOptions,
  runMigrations,
  withBackend,
} from 'bullmq'
import pg from 'pg'

const SCHEMA = 'simherd_queues'

/** Longest wait for a new connection, and for a free one, in milliseconds. */
const CONNECT_MS = 10_000
/** Pause between two attempts to reach an unreachable server, in milliseconds. */
const PAUSE_MS = 1000

/**
 * @param connections most connections; each consumer keeps one to listen on
 * @param answerMs longest wait for the answer to a statement, in milliseconds; the connection is then replaced
 * @returns BullMQ's classes, the pool to pass to them as `connection`, and a function that closes it after them
 */
export function openPostgres(databaseUrl: string, connections: number, answerMs: number) {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: answerMs,
    keepAlive: true,
    application_name: 'simherd queues',
    options: `-c search_path=${SCHEMA}`,
  })
  // The pool handles errors of idle connections only. The user of a connection gets the error from the next statement.
  pool.on('connect', (client) => client.on('error', () => undefined))
  if (!isPgPool(pool)) throw new TypeError('BullMQ does not take pools of this version of pg')
  const { Queue, Worker } = withBackend(
    (name: string, opts: QueueBaseOptions<PgPool>) =>
      new SchemaBackend(new SchemaConnection(opts.connection), name, opts),
  )
  let closed: Promise<void> | undefined
  return { Queue, Worker, connection: pool, close: () => (closed ??= pool.end()) }
}

class SchemaConnection extends PostgresConnection {
  override readonly schema = SCHEMA
  #ready: Promise<void> | undefined

  override waitUntilReady(): Promise<void> {
    this.#ready ??= this.#migrate().catch(async (error) => {
      await sleep(PAUSE_MS)
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  async #migrate(): Promise<void> {
    const client = await this.pool.connect()
    try {
      await runMigrations(client, this.schema)
    } finally {
      client.release()
    }
  }
}

class SchemaBackend extends PostgresQueueBackend {
  override waitUntilReady(): Promise<void> {
    return this.connection.waitUntilReady()
  }
}
