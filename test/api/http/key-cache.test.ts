/** Keys that processes remember: what is changed on one is known on the others. */
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { rememberKeys } from '../../../api/keys/key-cache.ts'
import { buildInternal, buildPublic } from '../../../api/server.ts'
import { connect } from '../../../store/connect.ts'
import { type CutLine, cutLine } from '../../setup/cut-line.ts'
import { soon, until } from '../../setup/soon.ts'
import { asking, INTERNAL, useHarness } from '../harness.ts'

const harness = useHarness()
/** So rarely that a busy machine is never taken for a dead line. */
const BEAT_MS = 30_000
/** So often that a dead line is found out within the test. */
const OFTEN_MS = 300

/** A cache on one connection, which `held` takes away, and on a line of its own for what it hears. */
async function aCache(options: { readonly most?: number; readonly beatMs?: number } = {}) {
  const { databaseUrl } = harness
  const line = await cutLine(databaseUrl)
  const { db, close } = connect(databaseUrl, { max: 1 })
  const keys = rememberKeys({ ...harness.store, db }, { databaseUrl: line.url, beatMs: BEAT_MS, ...options })
  onTestFinished(async () => {
    await keys.close()
    await line.close()
    await close()
  })
  await until('the process listens', keys.isOn)
  const find = (keyId: string, tenantId?: string) => keys.find({ keyId, tenantId })
  /** Finds without the database: null if that asks it. */
  const known = (keyId: string, tenantId?: string) =>
    db.connection().execute(async () => {
      // Takes a round trip on a connection of its own; what is remembered takes none.
      const late = sql`select 1`.execute(harness.root).then(() => null)
      return Promise.race([find(keyId, tenantId), late])
    })
  return { keys, line, find, known }
}

/** Both listeners of a process that remembers keys. */
async function aProcess(): Promise<{ line: CutLine; isOn: () => boolean; ask: (key: string) => Ask }> {
  const { keys, line } = await aCache()
  const store = harness.store
  const outside = await buildPublic({ store, keys, refusalLimit: 0 })
  const inside = await buildInternal({ store, keys, ...INTERNAL, refusalLimit: 0, dependencies: [] })
  onTestFinished(async () => {
    await Promise.all([outside.close(), inside.close()])
  })
  const tenant = { 'x-tenant-id': harness.tenant.id }
  return {
    line,
    isOn: keys.isOn,
    ask: (key) => ({
      read: async () => (await asking(outside, { authorization: `Bearer ${key}` })('GET', '/api/tenant')).status,
      revoke: async (id) => {
        const ask = asking(inside, { authorization: `Bearer ${key}`, ...tenant })
        return (await ask('DELETE', `/internal/keys/${id}`)).status
      },
    }),
  }
}
interface Ask {
  readonly read: () => Promise<number>
  readonly revoke: (id: string) => Promise<number>
}

async function aKey(scopes: readonly string[] = ['read'], expiresAt?: string): Promise<{ id: string; key: string }> {
  const made = await harness.tenant.inside('POST', '/internal/keys', { name: 'k', scopes, expiresAt })
  return made.body
}

describe('rememberKeys', () => {
  test('finds a key and a tenant again without the database', async () => {
    const { find, known } = await aCache()
    const { id } = await aKey()

    expect(await known(id, harness.tenant.id), 'not known yet').toBeNull()
    const first = await find(id, harness.tenant.id)
    const again = await known(id, harness.tenant.id)

    expect(first).toMatchObject({ key: { id, tenantId: harness.tenant.id }, hasTenant: true })
    expect(again).toEqual(first)
  })

  test('remembers nothing that does not exist', async () => {
    const { find, known } = await aCache()

    expect(await find('0123456789ab', 'nobody')).toEqual({ key: undefined, hasTenant: false })

    expect(await known('0123456789ab', 'nobody')).toBeNull()
  })

  test('forgets the key that it has known longest beyond its size', async () => {
    const { find, known } = await aCache({ most: 2 })
    const ids = [(await aKey()).id, (await aKey()).id, (await aKey()).id]

    for (const id of ids) await find(id)

    expect(await Promise.all(ids.slice(1).map((id) => find(id)))).toHaveLength(2)
    expect(await known(ids[1] ?? '')).not.toBeNull()
    expect(await known(ids[2] ?? '')).not.toBeNull()
    expect(await known(ids[0] ?? '')).toBeNull()
  })

  test('hears of a changed scope', async () => {
    const { find } = await aCache()
    const { id } = await aKey(['read'])
    await find(id)

    await sql`update api_keys set scopes = '{write}' where id = ${id}`.execute(harness.root)

    await soon(async () => expect((await find(id)).key?.scopes).toEqual(['write']))
  })

  test('hears of a deleted tenant', async () => {
    const { find, known } = await aCache()
    const { id } = await aKey()
    await sql`
      insert into tenants (id, name, billing_email, billing_cycle, currency, created_at, updated_at)
      values ('short-lived', 'S', 's@example.com', 'P1M', 'EUR', now(), now())`.execute(harness.root)
    expect(await find(id, 'short-lived')).toMatchObject({ hasTenant: true })
    expect(await known(id, 'short-lived')).toMatchObject({ hasTenant: true })

    await sql`delete from tenants where id = 'short-lived'`.execute(harness.root)

    await soon(async () => expect(await find(id, 'short-lived')).toMatchObject({ hasTenant: false }))
  })

  test('is not told of the last use of a key', async () => {
    const { find, known } = await aCache()
    const [{ id }, other] = [await aKey(), await aKey()]
    await find(id)
    await find(other.id)

    await sql`update api_keys set last_used_at = now() where id = ${id}`.execute(harness.root)
    await sql`update api_keys set scopes = '{write}' where id = ${other.id}`.execute(harness.root)
    await soon(async () => expect((await find(other.id)).key?.scopes).toEqual(['write']))

    expect(await known(id)).not.toBeNull()
  })

  test('asks the database while its line is cut, and begins again empty', async () => {
    const { keys, line, find, known } = await aCache()
    const [cut, kept] = [await aKey(), await aKey()]
    await find(cut.id)
    await find(kept.id)

    line.cut()
    await until('the process does not listen', () => !keys.isOn())
    await sql`update api_keys set revoked_at = now() where id = ${cut.id}`.execute(harness.root)
    expect((await find(cut.id)).key?.revokedAt).not.toBeNull()
    expect(await known(kept.id)).toBeNull()

    line.mend()
    await until('the process listens again', keys.isOn)
    expect(await known(kept.id), 'known from before the cut').toBeNull()
    expect((await find(cut.id)).key?.revokedAt).not.toBeNull()
  })

  test('finds out a line that is silently dead', async () => {
    const { keys, line, find } = await aCache({ beatMs: OFTEN_MS })
    const { id } = await aKey()
    await find(id)

    line.silence()
    await sql`update api_keys set revoked_at = now() where id = ${id}`.execute(harness.root)

    await until('the process does not listen', () => !keys.isOn())
    expect((await find(id)).key?.revokedAt).not.toBeNull()
    line.mend()
    await until('the process listens again', keys.isOn)
  })
})

describe('a key that every process knows', () => {
  test('is refused at once by the process that revokes it, and by another as soon as it hears', async () => {
    const [one, other] = [await aProcess(), await aProcess()]
    const { id, key } = await aKey()
    expect([await one.ask(key).read(), await other.ask(key).read()]).toEqual([200, 200])

    const revoked = await one.ask(harness.operatorKey).revoke(id)
    const here = await one.ask(key).read()

    expect([revoked, here]).toEqual([200, 401])
    await soon(async () => expect(await other.ask(key).read()).toBe(401))
  })

  test('is refused by the process that revokes it, though it hears nothing', async () => {
    const process = await aProcess()
    const { id, key } = await aKey()
    expect(await process.ask(key).read()).toBe(200)

    process.line.silence()
    const revoked = await process.ask(harness.operatorKey).revoke(id)

    expect([revoked, await process.ask(key).read()]).toEqual([200, 401])
  })

  test('is refused with another secret', async () => {
    const process = await aProcess()
    const { key } = await aKey()
    expect(await process.ask(key).read()).toBe(200)

    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`

    expect(await process.ask(wrong).read()).toBe(401)
    expect(await process.ask(key).read()).toBe(200)
  })

  test('is refused once it has expired', async () => {
    const process = await aProcess()
    const { key } = await aKey(['read'], new Date(harness.now + 60_000).toISOString())
    expect(await process.ask(key).read()).toBe(200)

    harness.now += 60_000
    onTestFinished(() => {
      harness.now -= 60_000
    })

    expect(await process.ask(key).read()).toBe(401)
  })
})
