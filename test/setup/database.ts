/** A database of its own for a test file. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { TEMPLATE } from './template.ts'

/** The copy fails for a moment while another session uses the template. */
const OBJECT_IN_USE = '55006'

/**
 * Copies the migrated template.
 *
 * @param deadlocks how many deadlocks the test causes: transactions that PostgreSQL breaks off
 * @returns the copy's url and `drop`, which also ends open connections. `drop` rejects if the number of deadlocks
 *   differs, even if the service retried and succeeded
 */
export async function freshDatabase({ deadlocks = 0 } = {}): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await administrate(`create database ${name} template ${TEMPLATE}`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return { url: url.href, drop: () => dropDatabase(name, deadlocks) }
}

/** Ends open connections and drops the database. @throws Error if it had another number of deadlocks */
export async function dropDatabase(name: string, deadlocks = 0): Promise<void> {
  // PostgreSQL publishes the counts of a session when it ends.
  await administrate(`select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`)
  const seen = await administrate(
    `select deadlocks::integer as deadlocks from pg_stat_database where datname = '${name}'`,
  )
  await administrate(`drop database if exists ${name} with (force)`)
  const found = Number(seen[0]?.deadlocks)
  if (found === deadlocks) return
  throw new Error(
    `PostgreSQL broke off ${found} transaction(s) for a deadlock in ${name}, expected ${deadlocks}: its log has the statements`,
  )
}

/** Like {@link freshDatabase}, but without a schema. */
export async function emptyDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await administrate(`create database ${name}`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return { url: url.href, drop: () => dropDatabase(name) }
}

/** Runs a statement as the superuser, outside the databases of tests. @returns its rows */
export async function administrate(statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return (await client.query(statement)).rows
      } catch (error) {
        if (attempt === 50 || !(error instanceof pg.DatabaseError) || error.code !== OBJECT_IN_USE) throw error
        await sleep(100)
      }
    }
  } finally {
    await client.end()
  }
}
