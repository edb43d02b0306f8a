/** Keys created directly in the database, before any key exists to call the API with. The audit trail has them too. */
import { hostname, userInfo } from 'node:os'
import { sql } from 'kysely'
import pino from 'pino'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createOperatorKey } from '../../../cli/commands/keys.ts'
import { bootstrap } from '../../../cli/start/keys.ts'
import { activateFirstRules, readFirstRules } from '../../../process/rule-files.ts'
import { readSettings } from '../../../process/settings.ts'
import { connect } from '../../../store/connect.ts'
import { freshDatabase } from '../../setup/database.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { useHarness } from '../harness.ts'

const harness = useHarness()
const ME = `cli:${userInfo().username}@${hostname()}`

interface Entry {
  readonly actor: string
  readonly keyId: string | null
  readonly action: string
  readonly subject: string
  readonly subjectId: string
}

async function aDatabase() {
  const { url, drop } = await freshDatabase()
  const { db, close } = connect(url, { max: 2 })
  onTestFinished(() => close().then(drop))
  const rows = async <T>(query: ReturnType<typeof sql<T>>) => (await query.execute(db)).rows
  return {
    url,
    db,
    keys: async () => (await rows(sql<{ id: string }>`select id from api_keys order by id`)).map(({ id }) => id),
    trail: () =>
      rows(sql<Entry>`
        select actor, key_id as "keyId", action, subject, subject_id as "subjectId" from audit_log order by subject_id`),
  }
}

describe('the audit trail', () => {
  test('names user and host for a command’s key', async () => {
    const database = await aDatabase()
    const said = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    vi.spyOn(console, 'error').mockImplementation(() => undefined)

    await createOperatorKey({ ...readSettings({}), DATABASE_URL: database.url }, { name: 'first' })

    const [id] = await database.keys()
    expect(said.mock.calls).toEqual([[expect.stringContaining(`sim_${id}_`)]])
    expect(await database.trail()).toEqual([
      { actor: ME, keyId: null, action: 'keys create-operator', subject: 'key', subjectId: id },
    ])
    vi.restoreAllMocks()
  })

  test('has no key whose name has a control character', async () => {
    const database = await aDatabase()

    const made = createOperatorKey({ ...readSettings({}), DATABASE_URL: database.url }, { name: 'a\nb' })

    await expect(made).rejects.toThrow('/name: has the control character U+000A at character 2; expected none')
    expect(await database.keys()).toEqual([])
  })

  test('names the calling key for a new key', async () => {
    const made = await harness.tenant.inside('POST', '/internal/keys', { name: 'k', scopes: ['read'] })

    const of = async (query: string) => (await harness.tenant.inside('GET', `/internal/audit?${query}`)).body.data
    const keyId = harness.operatorKey.split('_')[1]
    const entry = { actor: `key:${keyId}`, keyId, action: 'createKey', subjectId: made.body.id }
    expect(await of(`subjectId=${made.body.id}`)).toMatchObject([entry])
    expect(await of(`subjectId=${made.body.id}&actor=key:${keyId}`)).toHaveLength(1)
    expect(await of(`subjectId=${made.body.id}&actor=service:worker`)).toEqual([])
  })

  test('names the worker for the first rules', async () => {
    const database = await aDatabase()
    const store = { db: database.db, clock: Date.now, enqueue: () => undefined }

    await activateFirstRules(store, await readFirstRules(''), pino({ level: 'silent' }))

    expect(await database.trail()).toMatchObject([{ actor: 'service:worker', keyId: null, subject: 'rules' }])
  })
})

describe('bootstrap', () => {
  test('makes keys only with --bootstrap', async () => {
    const [database, dataDir] = [await aDatabase(), await temporaryFolder()]

    const refused = bootstrap(database.url, dataDir, { mayMake: false })

    await expect(refused).rejects.toMatchObject({ name: 'CommandFailure', exitCode: 2 })
    await expect(refused).rejects.toThrow(/DATABASE_URL.*--bootstrap/s)
    expect(await database.keys()).toEqual([])
    expect(await database.trail()).toEqual([])
  })

  test('makes keys once, and later starts find them', async () => {
    const [database, dataDir] = [await aDatabase(), await temporaryFolder()]

    const first = await bootstrap(database.url, dataDir, { mayMake: true })
    const again = await bootstrap(database.url, dataDir, { mayMake: false })

    expect(again).toEqual(first)
    const ids = await database.keys()
    expect(ids).toHaveLength(2)
    expect(await database.trail()).toEqual(
      ids.map((id) => ({ actor: ME, keyId: null, action: 'start', subject: 'key', subjectId: id })),
    )
  })

  test('adds no keys to those of another data folder', async () => {
    const database = await aDatabase()
    await bootstrap(database.url, await temporaryFolder(), { mayMake: true })
    const before = await database.keys()

    await expect(bootstrap(database.url, await temporaryFolder(), { mayMake: false })).rejects.toThrow(/--bootstrap/)

    expect(await database.keys()).toEqual(before)
  })
})
