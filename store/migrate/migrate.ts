/**
 * Migrations: forward only, each applied once, in the order of their names. Two migrators never run at once.
 *
 * A file runs in its own transaction, unless it asks for none, so its locks end with it. A statement waits at most 3
 * seconds for a lock, because a wait for an exclusive lock blocks all requests behind it. The file is then tried again.
 */
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { hasCode, isDiskFull, isLockTimeout } from '../away.ts'
import { connect } from '../connect.ts'
import type { Db } from '../tenancy.ts'
import { type MigrationFile, namesOfThisRelease, readAllFiles, statementsOf } from './migration-files.ts'
import { UnfitDatabase } from './unfit-database.ts'

const LOCK_TIMEOUT_MS = 3000
/** Ten minutes. A busy table gives the lock within that time, or a person has to look. */
const LOCK_PATIENCE_MS = 10 * 60_000
const PAUSE_SECONDS = 1

export interface MigrateOptions {
  readonly log?: (line: string) => void
  /** Whether to apply `contract` files too. No process of an earlier release may be left. Default: true. */
  readonly contract?: boolean
  /** Files to apply. Default: those of this release. */
  readonly files?: readonly MigrationFile[]
  /** How long to go on trying for a lock that others have, in milliseconds. Default: ten minutes. */
  readonly lockPatienceMs?: number
}

/**
 * Brings a database to the newest schema. Safe to run twice, and by several processes: the migrator's lock lets one
 * work while the others wait. Migrations applied by a newer release are left alone.
 *
 * @returns names of the applied migrations
 * @throws UnfitDatabase if the server is too old, or the database older than the first release, or if the login may not
 *   make tables: with the statements that a superuser has to run; likewise if a migration refuses the database, gets no
 *   lock, or finds the disk full. Error for any other failed migration. Their messages name the migration; everything
 *   before it stays applied
 */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<string[]> {
  const { contract = true, lockPatienceMs = LOCK_PATIENCE_MS, log } = options
  const files = options.files ?? (await readAllFiles())
  const wanted = files.filter(({ phase }) => contract || phase === 'expand')
  const { db, close } = connect(databaseUrl, { max: 2, answerMs: 0, lockTimeoutMs: LOCK_TIMEOUT_MS })
  try {
    const applied = []
    const pending = await pendingOf(db, wanted)
    if (pending.length > 0) await refuseForeignSchema(db)
    for (const file of pending) {
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

/**
 * Looks whether the login has the rights of the schema's owner. A database's owner has them, but not while it inherits
 * no rights from the roles that it is a member of.
 */
async function refuseForeignSchema(db: Db): Promise<void> {
  const { rows } = await sql<{ login: string; database: string }>`
    select quote_ident(current_user) as login, quote_ident(current_database()) as database
      from pg_namespace
     where nspname = 'public' and not pg_has_role(current_user, nspowner, 'usage')`.execute(db)
  for (const { login, database } of rows) {
    throw new UnfitDatabase(
      `the login ${login} does not own the schema public of the database ${database}: ` +
        `as a superuser, run in that database: alter schema public owner to ${login};`,
    )
  }
}

/** Applies a file, and tries again after lock timeouts. @returns false if another migrator has applied it */
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
      const words = `migration ${file.name} failed: ${reasonOf(error)}`
      const isUnfit = isRefused(error) || isLockTimeout(error) || isDiskFull(error)
      throw isUnfit ? new UnfitDatabase(words, { cause: error }) : new Error(words, { cause: error })
    }
    log?.(`${file.name} waits for a table that is in use: tried again`)
  }
}

/** The oldest major version: `test/store`, `test/service/usage` and the quick start run on it too. */
const OLDEST_POSTGRES = 15

/** @param number as `server_version_num` gives it: 150018 */
function refuseOldServer(number: number): void {
  const [major, minor] = [Math.floor(number / 10_000), number % 10_000]
  if (major >= OLDEST_POSTGRES) return
  throw new UnfitDatabase(
    `PostgreSQL is ${major}.${minor}, and Simherd needs ${OLDEST_POSTGRES} or newer: upgrade the server`,
  )
}

/** The first migration of databases made before `0001_baseline`. */
const UNRELEASED = '0001_tenants'

/** Stands for an applied migration; its file may be missing here. */
const DONE: Migration = { up: async () => undefined }

/** Applies one file. @returns the error it failed with; `applied` if it was before; undefined on success */
async function apply(db: Db, file: MigrationFile): Promise<unknown> {
  const migrator = new Migrator({
    db,
    // All applied migrations, of any release, and the one to apply. Called under the migrator's lock.
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
  const { rows: servers } = await sql<{ version: number; isMigrated: boolean }>`
    select current_setting('server_version_num')::integer as version,
           to_regclass('kysely_migration') is not null as "isMigrated"`.execute(db)
  for (const { version, isMigrated } of servers) {
    refuseOldServer(version)
    if (!isMigrated) return []
  }
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  const names = rows.map(({ name }) => name)
  if (names.includes(UNRELEASED)) {
    throw new UnfitDatabase(
      `the database was made before the first release (it has the migration ${UNRELEASED}), and there is no upgrade ` +
        'from it: set DATABASE_URL to an empty database',
    )
  }
  return names
}

async function pendingOf(db: Db, files: readonly MigrationFile[]): Promise<MigrationFile[]> {
  const applied = new Set(await appliedNames(db))
  return files.filter(({ name }) => !applied.has(name))
}

/** Files not yet applied to a database. @param files to look at; default: those of this release */
export const pendingFiles = async (db: Db, files?: readonly MigrationFile[]): Promise<MigrationFile[]> =>
  pendingOf(db, files ?? (await readAllFiles()))

/**
 * Names of the migrations that this release needs and a database lacks: those of the phase `expand`. Reads the files
 * only if some migration is missing.
 */
export async function pendingMigrations(db: Db): Promise<string[]> {
  const applied = new Set(await appliedNames(db))
  if ((await namesOfThisRelease()).every((name) => applied.has(name))) return []
  return (await pendingFiles(db)).filter(({ phase }) => phase === 'expand').map(({ name }) => name)
}

/** Whether a migration itself refuses the database, with instructions. */
const isRefused = (error: unknown): boolean => hasCode(error, 'P0001')

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : JSON.stringify(error))

export interface TableSize {
  readonly name: string
  /** Including indexes and partitions. */
  readonly bytes: number
}

/** Tables of the database that an SQL text names, largest first. */
export async function tablesIn(db: Db, text: string): Promise<TableSize[]> {
  const words = [...new Set(text.match(/[a-z_][a-z0-9_]*/g) ?? [])]
  const { rows } = await sql<TableSize>`
    select c.relname as name,
           (select coalesce(sum(pg_total_relation_size(relid)), 0) from pg_partition_tree(c.oid))::float8
             + case when c.relkind = 'r' and not c.relispartition then pg_total_relation_size(c.oid) else 0 end as bytes
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname = any (${words})
    order by bytes desc, name`.execute(db)
  return rows
}
