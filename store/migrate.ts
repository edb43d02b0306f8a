/** Migrations: `migrations/NNNN_name.sql`, forward only, each applied once, two migrators never at once. */
import { readdir, readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { type Migration, type MigrationInfo, Migrator } from 'kysely/migration'
import { connect } from './connect.ts'
import type { Db } from './tenancy.ts'

const FOLDER = new URL('migrations/', import.meta.url)

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.sql')).sort()
  const migrations: Record<string, Migration> = {}
  for (const file of files) {
    const text = await readFile(new URL(file, FOLDER), 'utf8')
    migrations[file.replace(/\.sql$/, '')] = {
      up: async (db) => {
        await sql.raw(text).execute(db)
      },
    }
  }
  return migrations
}

const migratorOf = (db: Db) => new Migrator({ db, provider: { getMigrations: readMigrations } })

/**
 * Brings a database to the newest schema. Safe to run twice and by several processes: the migrator's lock
 * lets one work and the others wait.
 *
 * @throws Error naming the migration that failed; everything before it stays applied
 */
export async function migrate(
  databaseUrl: string,
  options: { readonly log?: (line: string) => void } = {},
): Promise<void> {
  const { db, close } = connect(databaseUrl, { max: 2 })
  try {
    const { error, results } = await migratorOf(db).migrateToLatest()
    for (const result of results ?? []) {
      if (result.status === 'Success') options.log?.(`migrated ${result.migrationName}`)
      if (result.status === 'Error') {
        throw new Error(`migration ${result.migrationName} failed: ${reasonOf(error)}`, { cause: error })
      }
    }
    if (error !== undefined) throw new Error(`migration failed: ${reasonOf(error)}`, { cause: error })
  } finally {
    await close()
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : JSON.stringify(error))

/** Names of the migrations a database still lacks. */
export async function pendingMigrations(db: Db): Promise<string[]> {
  const known: readonly MigrationInfo[] = await migratorOf(db).getMigrations()
  return known.filter((migration) => migration.executedAt === undefined).map((migration) => migration.name)
}
