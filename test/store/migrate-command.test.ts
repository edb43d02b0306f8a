import pino from 'pino'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { migrateDatabase } from '../../cli/commands/migrate.ts'
import { readSettings } from '../../process/settings.ts'
import { startPresence } from '../../process/start-presence.ts'
import { connect } from '../../store/connect.ts'
import { migrate, pendingFiles, pendingMigrations } from '../../store/migrate/migrate.ts'
import { migrationFile, readAllFiles, readMigrationFiles } from '../../store/migrate/migration-files.ts'
import { processesBefore, sayAtWork, sayEnded } from '../../store/processes.ts'
import { inPlatform } from '../../store/tenancy.ts'
import { emptyDatabase } from '../setup/database.ts'
import { aStore } from '../setup/estate.ts'
import { soon } from '../setup/soon.ts'

const lines: string[] = []
beforeEach(() => {
  lines.length = 0
  const spy = vi.spyOn(console, 'log').mockImplementation((line: string) => lines.push(line))
  return () => spy.mockRestore()
})
/** An empty database, and the settings with which `simherd migrate` finds it. */
async function aMigrated() {
  const database = await emptyDatabase()
  onTestFinished(database.drop)
  const { db, close } = connect(database.url, { max: 2 })
  onTestFinished(close)
  const settings = { ...readSettings({}), DATABASE_URL: database.url }
  return { db, settings, store: { db, clock: Date.now, enqueue: () => undefined } }
}
const old = { id: 'an-old-worker', kind: 'worker', host: 'rack-7', pid: 4711, newestMigration: '0000_before' } as const

/** The files of this release, and of the next one, which takes a column away. */
const files = [
  ...(await readAllFiles()),
  migrationFile('0999_no_version', '-- phase: contract\nalter table pools drop column version;'),
]

describe('simherd migrate', () => {
  test('applies all of an empty database, for nobody works with it', async () => {
    const { db, settings } = await aMigrated()

    await migrateDatabase(settings, { plan: true, files })
    expect(lines.join('\n')).toMatch(/0001_baseline +expand +one/)
    expect(lines.join('\n')).toMatch(/0999_no_version +contract +one/)
    expect(await pendingFiles(db, files)).toHaveLength(files.length)
    lines.length = 0
    await migrateDatabase(settings, { files })

    expect(lines.join('\n')).not.toContain('left: ')
    expect(lines.at(-1)).toBe(`${files.length} migrations applied`)
    expect(await pendingFiles(db, files)).toEqual([])
  })

  test('leaves contract migrations and reports them', async () => {
    const { db, settings } = await aMigrated()
    await migrate(settings.DATABASE_URL, { files: files.slice(0, 1) })

    await migrateDatabase(settings, { files })

    expect(lines.at(-2)).toMatch(/^left: 0999_no_version, .*run "npx simherd migrate --contract" once/)
    expect(lines.at(-1)).toBe(`${files.length - 2} migrations applied`)
    expect(await pendingMigrations(db)).toEqual([])
    lines.length = 0
    await migrateDatabase(settings, { plan: true, files })
    expect(lines).toHaveLength(3)
    expect(lines[2]).toMatch(/^0999_no_version +contract +one +.*pools \d/)
  })

  test('waits for processes of earlier releases with --contract', async () => {
    const { db, settings, store } = await aMigrated()
    await migrate(settings.DATABASE_URL, { files, contract: false })
    await inPlatform(store, (tx) => sayAtWork(tx, old))

    const contracted = migrateDatabase(settings, { contract: true, files })
    await soon(() =>
      expect(lines).toEqual(['waits until no process of an earlier release is left: worker 4711 on rack-7']),
    )
    expect((await pendingFiles(db, files)).map(({ name }) => name)).toEqual(['0999_no_version'])
    await inPlatform(store, (tx) => sayEnded(tx, old.id))
    await contracted

    expect(await pendingFiles(db, files)).toEqual([])
    expect(lines.slice(1)).toEqual(['migrated 0999_no_version', '1 migration applied'])
  })
})

describe('processesBefore', () => {
  test('lists running processes, and killed ones for a minute', async () => {
    const store = await aStore()
    const before = (migration: string) => inPlatform(store, (tx) => processesBefore(tx, migration))
    const presence = startPresence(store, 'api', pino({ level: 'silent' }))
    await soon(async () => expect(await before('9999')).toMatchObject([{ kind: 'api', pid: process.pid }]))
    const newest = (await readMigrationFiles()).at(-1)?.name ?? ''
    expect(await before(newest)).toEqual([])
    await presence.stop()
    expect(await before('9999')).toEqual([])

    await inPlatform(store, (tx) => sayAtWork(tx, old))
    expect(await before(newest)).toEqual([old])
    store.now += 61_000
    expect(await before(newest)).toEqual([])
  })
})
