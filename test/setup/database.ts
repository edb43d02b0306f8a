/** A database of its own for a test file. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { wrongCounts } from '../../service/sims/rows/wrong-counts.ts'
import { tenantIds } from '../../service/tenants/rows/tenants.ts'
import { wrongSums } from '../../service/usage/rows/check-sums.ts'
import { connect } from '../../store/connect.ts'
import { type Db, inPlatform, inTenant } from '../../store/tenancy.ts'
import { TEMPLATE } from './template.ts'

/** The copy fails for a moment while another session uses the template. */
const OBJECT_IN_USE = '55006'

/**
 * Copies the migrated template.
 *
 * @returns the copy's url, which is the superuser's (`rootUrl`), and `drop`, which also ends open connections. `drop`
 *   rejects if there was a deadlock, even if the service retried and succeeded, or if a count that is kept is wrong
 */
export async function freshDatabase() {
  const name = `test_${randomBytes(8).toString('hex')}`
  // Copying files takes a third of the time of copying pages through the log.
  await administrate(`create database ${name} template ${TEMPLATE} strategy file_copy`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  const drop = async () => {
    const { db, close } = connect(url.href, { max: 1 })
    const wrong = await wrongCountsIn(db).catch((error: unknown) => [String(error)])
    await close()
    await dropDatabase(name)
    refuse(wrong)
  }
  return { url: url.href, rootUrl: url.href, drop }
}

/** Adds up the SIMs of all tenants, as `simherd doctor --figures` does. */
export async function wrongCountsIn(db: Db): Promise<string[]> {
  const store = { db, clock: Date.now, enqueue: () => undefined }
  const wrong: string[] = []
  for (const tenantId of await inPlatform(store, tenantIds)) {
    const found = await inTenant(store, tenantId, async (tx) => [...(await wrongCounts(tx)), ...(await wrongSums(tx))])
    wrong.push(...found.map(({ what, kept, counted }) => `${what}: kept ${kept}, counted ${counted}`))
  }
  return wrong
}

/** @throws Error if a count is wrong */
export function refuse(wrong: readonly string[]): void {
  if (wrong.length > 0) throw new Error(`counts are wrong: ${wrong.join('; ')}`)
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
export async function administrate(
  statement: string,
  url: string = inject('postgresUrl'),
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
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
