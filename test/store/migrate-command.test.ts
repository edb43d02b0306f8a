import pino from 'pino'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { migrateDatabase } from '../../cli/commands/migrate.ts'
import { readSettings } from '../../config/index.ts'
import { startPresence } from '../../process/presence.ts'
import { connect } from '../../store/connect.ts'
import { migrate, pendingFiles, pendingMigrations } from '../../store/migrate.ts'
import { readAllFiles, readMigrationFiles } from '../../store/migration-files.ts'
import { processesBefore, sayAtWork, sayEnded } from '../../store/processes.ts'
import { inPlatform } from '../../store/tenancy.ts'
import { emptyDatabase } from '../setup/database.ts'
import { aStore } from '../setup/estate.ts'
import { soon } from '../setup/soon.ts'

const files = await readMigrationFiles()
const contractions = files.filter(({ phase }) => phase === 'contract').map(({ name }) => name)

const lines: string[] = []
beforeEach(() => {
  lines.length = 0
  const spy = vi.spyOn(console, 'log').mockImplementation((line: string) => lines.push(line))
  return () => spy.mockRestore()
})
const closing: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

/** An empty database, and the settings with which `simherd migrate` finds it. */
async function aMigrated() {
  const database = await emptyDatabase()
  closing.push(database.drop)
  const { db, close } = connect(database.url, { max: 2 })
  closing.push(close)
  const settings = { ...readSettings({}), DATABASE_URL: database.url }
  return { db, settings, store: { db, clock: Date.now, enqueue: () => undefined } }
}
const old = { id: 'an-old-worker', kind: 'worker', host: 'rack-7', pid: 4711, newestMigration: '0020_before' } as const

describe('simherd migrate', () => {
  test('applies all of an empty database, for nobody works with it', async () => {
    const { db, settings } = await aMigrated()

    await migrateDatabase(settings, { plan: true })
    expect(lines.join('\n')).toMatch(/0001_tenants +expand +one/)
    expect(lines.join('\n')).toMatch(/0031_no_default_partition +contract +one/)
    expect((await pendingFiles(db)).length).toBe((await readAllFiles()).length)
    lines.length = 0
    await migrateDatabase(settings, {})

    expect(lines.join('\n')).not.toContain('left: ')
    expect(lines.at(-1)).toMatch(/^\d+ migration\(s\) applied$/)
    expect(await pendingFiles(db)).toEqual([])
  })

  test('leaves contract migrations and reports them', async () => {
    const { db, settings } = await aMigrated()
    const [first] = await readAllFiles()
    await migrate(settings.DATABASE_URL, { files: first === undefined ? [] : [first] })

    await migrateDatabase(settings, {})

    expect(lines.at(-2)).toMatch(/^left: 0031_no_default_partition, .*run "simherd migrate --contract" once/)
    expect(lines.at(-1)).toMatch(/^\d+ migration\(s\) applied$/)
    expect(await pendingMigrations(db)).toEqual([])
    lines.length = 0
    await migrateDatabase(settings, { plan: true })
    expect(lines).toHaveLength(contractions.length + 2)
    expect(lines[2]).toMatch(/^0031_no_default_partition +contract +one +.*usage_records \d/)
    expect(lines[3]).toMatch(/^0059_no_sim_buckets +contract +none +.*usage_buckets \d/)
  })

  test('waits for processes of earlier releases with --contract', async () => {
    const { db, settings, store } = await aMigrated()
    await migrate(settings.DATABASE_URL, { contract: false })
    await inPlatform(store, (tx) => sayAtWork(tx, old))

    const contracted = migrateDatabase(settings, { contract: true })
    await soon(() =>
      expect(lines).toEqual(['waits until no process of an earlier release is left: worker 4711 on rack-7']),
    )
    expect((await pendingFiles(db)).map(({ name }) => name)).toEqual(contractions)
    await inPlatform(store, (tx) => sayEnded(tx, old.id))
    await contracted

    expect(await pendingFiles(db)).toEqual([])
    expect(lines.slice(1)).toEqual([
      ...contractions.map((name) => `migrated ${name}`),
      `${contractions.length} migration(s) applied`,
    ])
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
