import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { migrate, pendingFiles, pendingMigrations } from '../../store/migrate/migrate.ts'
import { migrationFile, readFunctionFiles, statementsOf } from '../../store/migrate/migration-files.ts'
import { emptyDatabase } from '../setup/database.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { soon } from '../setup/soon.ts'

async function aDatabase() {
  const database = await emptyDatabase()
  onTestFinished(database.drop)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  onTestFinished(() => client.end())
  return { url: database.url, client }
}
function dbAt(url: string) {
  const { db, close } = connect(url, { max: 1 })
  onTestFinished(close)
  return db
}
const tablesOf = async (client: pg.Client) => {
  const { rows } = await client.query(
    `select tablename from pg_tables where schemaname = 'public' and tablename not like 'kysely%' order by 1`,
  )
  return rows.map(({ tablename }) => tablename)
}
const first = migrationFile('0001_first', 'create table first_table (a int);')
const second = migrationFile('0002_second', 'create table second_table (a int);')
const broken = migrationFile('0003_broken', 'create table third_table (a int); select nonsense;')

describe('migrate', () => {
  test('commits each file in its own transaction', async () => {
    const { url, client } = await aDatabase()

    await expect(migrate(url, { files: [first, second, broken] })).rejects.toThrow(
      'migration 0003_broken failed: column "nonsense" does not exist',
    )

    expect(await tablesOf(client)).toEqual(['first_table', 'second_table'])
    expect(await migrate(url, { files: [first, second] })).toEqual([])
  })

  test('refuses a server that is too old, by its version, and so do doctor and /readyz', async () => {
    const { url, client } = await aDatabase()
    // There is no older server here: it says that it is one.
    await client.query(`
      create schema older;
      create function older.current_setting(text) returns text language sql
        return case $1 when 'server_version_num' then '140011' else pg_catalog.current_setting($1) end`)
    const older = `${url}?options=${encodeURIComponent('-c search_path=older,pg_catalog,public')}`
    const why = 'PostgreSQL is 14.11, and Simherd needs 15 or newer: upgrade the server'

    await expect(migrate(older, { files: [first] })).rejects.toThrow(why)

    await expect(pendingMigrations(dbAt(older))).rejects.toThrow(why)
    expect(await tablesOf(client)).toEqual([])
  })

  test('refuses a database that is older than the first release, and so do doctor and /readyz', async () => {
    const { url } = await aDatabase()
    await migrate(url, { files: [migrationFile('0001_tenants', 'create table tenants (a int);')] })
    const why =
      'the database was made before the first release (it has the migration 0001_tenants), and there is no upgrade from it: ' +
      'set DATABASE_URL to an empty database'

    await expect(migrate(url)).rejects.toMatchObject({ name: 'UnfitDatabase', message: why })

    await expect(pendingMigrations(dbAt(url))).rejects.toThrow(why)
  })

  test('applies each file once in concurrent runs', async () => {
    const { url, client } = await aDatabase()

    const many = Array.from({ length: 12 }, (_, i) =>
      migrationFile(`00${i + 10}_many`, `create table many_${i + 10} (a int);`),
    )

    const applied = await Promise.all([1, 2, 3, 4].map(() => migrate(url, { files: many })))

    expect(applied.flat().toSorted()).toEqual(many.map(({ name }) => name))
    expect(await tablesOf(client)).toHaveLength(12)
  })

  test('accepts files that a newer release has applied', async () => {
    const { url } = await aDatabase()
    await migrate(url, { files: [first, second] })

    expect(await migrate(url, { files: [first] })).toEqual([])
  })

  test('rolls back and retries after a lock timeout', async () => {
    const { url, client } = await aDatabase()
    await migrate(url, { files: [first] })
    await client.query('begin')
    await client.query('select * from first_table')
    const lines: string[] = []
    const change = migrationFile('0002_change', 'create table before (a int); alter table first_table add b int;')

    const changed = migrate(url, { files: [first, change], log: (line) => lines.push(line) })
    await soon(() => expect(lines).toContain('0002_change waits for a table that is in use: tried again'))
    await client.query('commit')

    expect(await changed).toEqual(['0002_change'])
    expect(await tablesOf(client)).toEqual(['before', 'first_table'])
  })

  test('names the file that got no lock', async () => {
    const { url, client } = await aDatabase()
    await migrate(url, { files: [first] })
    await client.query('begin')
    await client.query('select * from first_table')
    const change = migrationFile('0002_change', 'alter table first_table add b int;')

    await expect(migrate(url, { files: [first, change], lockPatienceMs: 0 })).rejects.toMatchObject({
      name: 'UnfitDatabase',
      message: 'migration 0002_change failed: canceling statement due to lock timeout',
    })
  })

  test('reruns a no-transaction file that failed', async () => {
    const { url, client } = await aDatabase()
    await migrate(url, { files: [first] })
    const text = `-- no-transaction
-- An index, while the table is in use.
create index concurrently if not exists first_a on first_table (a);
select nonsense;
`
    const file = migrationFile('0002_index', text)
    const mended = migrationFile('0002_index', text.replace('select nonsense;', 'select 1;'))

    await expect(migrate(url, { files: [first, file] })).rejects.toThrow('0002_index failed')
    expect(await migrate(url, { files: [first, mended] })).toEqual(['0002_index'])

    const { rows } = await client.query(`select indisvalid from pg_index where indexrelid = 'first_a'::regclass`)
    expect(rows).toEqual([{ indisvalid: true }])
    expect(statementsOf(mended)).toHaveLength(2)
  })

  test('leaves contract files until they are requested', async () => {
    const { url, client } = await aDatabase()
    const contract = migrationFile('0002_gone', '-- phase: contract\ndrop table first_table;')
    const later = migrationFile('0003_later', 'create table later (a int);')
    const files = [first, contract, later]

    expect(await migrate(url, { files, contract: false })).toEqual(['0001_first', '0003_later'])
    const left = await pendingFiles(dbAt(url), files)
    expect(left.map(({ name }) => name)).toEqual(['0002_gone'])
    expect(await tablesOf(client)).toEqual(['first_table', 'later'])

    expect(await migrate(url, { files })).toEqual(['0002_gone'])
    expect(await tablesOf(client)).toEqual(['later'])
  })
})

describe('functions of the database', () => {
  const folder = async (text: string) => {
    const path = await temporaryFolder()
    await writeFile(join(path, 'answer.sql'), text)
    return readFunctionFiles(pathToFileURL(`${path}/`))
  }
  const answering = (n: number) => folder(`create or replace function answer() returns integer return ${n};`)

  test('run after the numbered files, and again when their text is new', async () => {
    const { url, client } = await aDatabase()
    const answer = async () => (await client.query('select answer()')).rows[0].answer

    await migrate(url, { files: [first, ...(await answering(1))] })
    expect(await answer()).toBe(1)
    expect(await migrate(url, { files: [first, ...(await answering(1))] })).toEqual([])

    expect(await migrate(url, { files: [first, second, ...(await answering(2))] })).toEqual([
      '0002_second',
      expect.stringMatching(/^functions\/answer@[0-9a-f]{12}$/),
    ])
    expect(await answer()).toBe(2)
  })

  test('stay as a newer release has them', async () => {
    const { url, client } = await aDatabase()
    await migrate(url, { files: await answering(1) })
    await migrate(url, { files: await answering(2) })

    expect(await migrate(url, { files: await answering(1) })).toEqual([])

    expect((await client.query('select answer()')).rows).toEqual([{ answer: 2 }])
  })
})
