/** A database of its own for a test file. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { TEMPLATE } from './template.ts'

/** Another session on the template stops the copy for a moment. */
const OBJECT_IN_USE = '55006'

/**
 * Copies the migrated template.
 *
 * @returns the copy's url, and what drops it (open connections included)
 */
export async function freshDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await administrate(`create database ${name} template ${TEMPLATE}`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administrate(`drop database if exists ${name} with (force)`) }
}

/** Runs a statement as the superuser, beside the databases of tests. */
export async function administrate(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        await client.query(statement)
        return
      } catch (error) {
        if (attempt === 50 || !(error instanceof pg.DatabaseError) || error.code !== OBJECT_IN_USE) throw error
        await sleep(100)
      }
    }
  } finally {
    await client.end()
  }
}
