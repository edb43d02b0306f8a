/**
 * Migrations: forward only, each applied once, in the order of their names, two migrators never at once.
 *
 * A file is a transaction, so that what is locked is given back with it. No lock is waited for longer than 3 seconds:
 * whoever waits for an exclusive lock holds up all who come behind. The file is then tried again.
 */
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { connect } from './connect.ts'
import { type MigrationFile, namesOfThisRelease, readAllFiles, statementsOf } from './migration-files.ts'
import type { Db } from './tenancy.ts'

const LOCK_TIMEOUT_MS = 3000
const LOCK_NOT_AVAILABLE = '55P03'
/** Ten minutes: a busy table lets someone in within that, or somebody has to look. */
const LOCK_PATIENCE_MS = 10 * 60_000
const PAUSE_SECONDS = 1

export interface MigrateOptions {
  readonly log?: (line: string) => void
  /** Files of the phase `contract` too: no process of an earlier release may be left. Default: all files. */
  readonly contract?: boolean
  /** Default: those of this release. */
  readonly files?: readonly MigrationFile[]
  /** How long a lock that others hold is tried for, in milliseconds. */
  readonly lockPatienceMs?: number
}

/**
 * Brings a database to the newest schema. Safe to run twice and by several processes: the migrator's lock
 * lets one work and the others wait. What a newer release has applied is left alone.
 *
 * @returns names of what was applied
 * @throws Error naming the migration that failed; everything before it stays applied
 */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<string[]> {
  const { contract = true, lockPatienceMs = LOCK_PATIENCE_MS, log } = options
  const files = options.files ?? (await readAllFiles())
  const wanted = files.filter(({ phase }) => contract || phase === 'expand')
  const { db, close } = connect(databaseUrl, { max: 2, unlimited: true, lockTimeoutMs: LOCK_TIMEOUT_MS })
  try {
    const applied = []
    for (const file of await pendingOf(db, wanted)) {
      if (await applyPatiently(db, file, lockPatienceMs, log)) {
        applied.push(file.name)
        log?.(`migrated ${file.name}`)
      }
    }
    return applied
  } finally {
    await close()
  }
}

/** @returns false where another migrator has applied it meanwhile */
async function applyPatiently(
  db: Db,
  file: MigrationFile,
  patienceMs: number,
  log?: (line: string) => void,
): Promise<boolean> {
  for (const deadline = performance.now() + patienceMs; ; await sql`select pg_sleep(${PAUSE_SECONDS})`.execute(db)) {
    const error = await apply(db, file)
    if (error === undefined) return true
    if (error === 'applied') return false
    if (!isLockTimeout(error) || performance.now() > deadline) {
      throw new Error(`migration ${file.name} failed: ${reasonOf(error)}`, { cause: error })
    }
    log?.(`${file.name} waits for a table that is in use: tried again`)
  }
}

/** Of a file that is not here any more, or not yet. */
const DONE: Migration = { up: async () => undefined }

/** @returns what it failed with; `applied` where it had been before */
async function apply(db: Db, file: MigrationFile): Promise<unknown> {
  const migrator = new Migrator({
    db,
    // What was applied before, by whichever release, and the one that is to be; asked under the migrator's lock.
    provider: {
      getMigrations: async () => {
        const applied = (await appliedNames(db)).map((name): [string, Migration] => [name, DONE])
        return { ...Object.fromEntries(applied), [file.name]: migrationOf(file) }
      },
    },
    allowUnorderedMigrations: true,
    disableTransactions: !file.transaction,
  })
  const { error, results } = await migrator.migrateToLatest()
  if (error !== undefined) return error
  return results?.length === 0 ? 'applied' : undefined
}

const migrationOf = (file: MigrationFile): Migration => ({
  up: async (db) => {
    for (const statement of statementsOf(file)) await sql.raw(statement).execute(db)
  },
})

async function appliedNames(db: Db): Promise<string[]> {
  const { rows: there } = await sql`select 1 where to_regclass('kysely_migration') is not null`.execute(db)
  if (there.length === 0) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  return rows.map(({ name }) => name)
}

async function pendingOf(db: Db, files: readonly MigrationFile[]): Promise<MigrationFile[]> {
  const applied = new Set(await appliedNames(db))
  return files.filter(({ name }) => !applied.has(name))
}

/** Files that a database still lacks. @param files default: those of this release */
export const pendingFiles = async (db: Db, files?: readonly MigrationFile[]): Promise<MigrationFile[]> =>
  pendingOf(db, files ?? (await readAllFiles()))

/** Names of the migrations that a database lacks for this release to work on it. Files are read only where some are. */
export async function pendingMigrations(db: Db): Promise<string[]> {
  const applied = new Set(await appliedNames(db))
  if ((await namesOfThisRelease()).every((name) => applied.has(name))) return []
  return (await pendingFiles(db)).filter(({ phase }) => phase === 'expand').map(({ name }) => name)
}

const isLockTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : JSON.stringify(error))
