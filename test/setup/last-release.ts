/**
 * A database as release 0.1.0 leaves it, with a month of data of one tenant. `test/releases/0.1.0.json` holds the rows
 * of every table, and that release's responses about them.
 */
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { migrate } from '../../store/migrate.ts'
import { readMigrationFiles } from '../../store/migration-files.ts'
import { emptyDatabase } from './database.ts'

const FILE = new URL('../releases/0.1.0.json', import.meta.url)
const LAST_MIGRATION = '0019_guard_at_scale'

export interface Release {
  /** When the file was written, in epoch milliseconds. */
  readonly at: number
  readonly tenantId: string
  readonly operatorKey: string
  readonly keys: { readonly reads: string; readonly writes: string }
  /** By path: the release's response to a GET. */
  readonly answers: Readonly<Record<string, unknown>>
  /** Rows by table. */
  readonly data: Readonly<Record<string, readonly object[]>>
  readonly sequences: readonly { readonly name: string; readonly value: string }[]
}

export const lastRelease = async (): Promise<Release> => JSON.parse(await readFile(FILE, 'utf8'))

/** A database with schema and rows of the release, not yet migrated. */
export async function databaseOfLastRelease(): Promise<{ url: string; drop: () => Promise<void> }> {
  const database = await emptyDatabase()
  const files = (await readMigrationFiles()).filter(({ name }) => name <= LAST_MIGRATION)
  await migrate(database.url, { files })
  const { data, sequences } = await lastRelease()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query('begin')
    // Keep rows as they were: no trigger may change them.
    await client.query('set local session_replication_role = replica')
    for (const [table, rows] of Object.entries(data)) {
      const { rows: columns } = await client.query(
        `select quote_ident(column_name) as name from information_schema.columns
          where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`,
        [table],
      )
      const names = columns.map(({ name }) => name).join(', ')
      await client.query(`delete from ${table}`)
      await client.query(
        `insert into ${table} (${names}) overriding system value
         select ${names} from json_populate_recordset(null::${table}, $1)`,
        [JSON.stringify(rows)],
      )
    }
    for (const { name, value } of sequences) await client.query('select setval($1, $2)', [name, value])
    await client.query('commit')
  } finally {
    await client.end()
  }
  return database
}
