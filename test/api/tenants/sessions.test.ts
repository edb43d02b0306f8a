/** Sessions of the console: who may see and end which. */
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { SessionEntry } from '../../../domain/tenants/session.ts'
import { openSession } from '../../../service/tenants/open-session.ts'
import { lockContactKey } from '../../../service/tenants/rows/keys.ts'
import { useSession } from '../../../service/tenants/use-session.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { NOON, useHarness } from '../harness.ts'

const harness = useHarness()

const aKey = async (of = harness.tenant.inside, scope = 'read'): Promise<string> =>
  (await of('POST', '/internal/keys', { name: 'night shift', scopes: [scope] })).body.id
/** Signs a browser in. @returns its token */
const signIn = (keyId: string, tenantId: string | null = harness.tenant.id, userAgent = 'Browser 1.0') =>
  inPlatform(harness.store, (tx) => openSession(tx, { id: keyId, tenantId }, { userAgent }))
const isSignedIn = async (token: string) => (await useSession(harness.store, token, false)) !== undefined
const sessionsOf = async (keyId: string, of = harness.tenant.inside): Promise<SessionEntry[]> =>
  (await of('GET', `/internal/sessions?keyId=${keyId}`)).body.data
const trailOf = async (id = '') =>
  (await harness.tenant.inside('GET', `/internal/audit?subject=session&subjectId=${id}`)).body.data

describe('GET /internal/sessions', () => {
  test('has the sessions that go on, the last used first', async () => {
    const keyId = await aKey()
    const first = await signIn(keyId, harness.tenant.id, 'x'.repeat(1000))
    await harness.at(NOON + 60_000, () => signIn(keyId))
    const found = await sessionsOf(keyId)
    const later = await harness.at(NOON + 12 * 3_600_000, () => sessionsOf(keyId))

    expect(found).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{12}$/),
        keyId,
        keyName: 'night shift',
        contact: null,
        userAgent: 'Browser 1.0',
        createdAt: new Date(NOON + 60_000).toISOString(),
        seenAt: new Date(NOON + 60_000).toISOString(),
        endsAt: new Date(NOON + 60_000 + 12 * 3_600_000).toISOString(),
        isOwn: false,
      },
      expect.objectContaining({ userAgent: expect.stringMatching(/^x{1,150}…x{1,150}$/) }),
    ])
    expect(later.map(({ id }) => id)).toEqual([found[0]?.id])
    expect(JSON.stringify(found)).not.toContain(first)
  })

  test('names the contact who signed in by mail', async () => {
    const { id: tenantId } = harness.tenant
    const contact = (await harness.tenant.ask('GET', '/api/tenant')).body.billingEmail
    const made = { id: randomBytes(6).toString('hex'), secretHash: randomBytes(32), scopes: ['billing'] as const }
    const keyId = await inPlatform(harness.store, (tx) => lockContactKey(tx, { ...made, tenantId, contact }))
    await signIn(keyId)
    const keys: { id: string; contact: string | null }[] = (await harness.tenant.inside('GET', '/internal/keys')).body

    expect(await sessionsOf(keyId)).toMatchObject([{ contact }])
    expect(keys.find(({ id }) => id === keyId)?.contact).toBe(contact)
  })

  test('has none of a revoked key, and none of another owner', async () => {
    const [revoked, ours, theirs] = [await aKey(), await aKey(), await aKey(harness.other.inside)]
    const platform = await aKey(harness.operate, 'operator')
    await Promise.all([signIn(revoked), signIn(ours), signIn(theirs, harness.other.id), signIn(platform, null)])
    await harness.tenant.inside('DELETE', `/internal/keys/${revoked}`)
    const keysIn = async (of = harness.tenant.inside) =>
      (await of('GET', '/internal/sessions')).body.data.map(({ keyId }: { keyId: string }) => keyId)

    expect(await keysIn()).toEqual(expect.arrayContaining([ours]))
    for (const other of [revoked, theirs, platform]) expect(await keysIn()).not.toContain(other)
    expect(await keysIn(harness.operate)).toEqual([platform])
  })

  test('marks the session that asks', async () => {
    const platform = await aKey(harness.operate, 'operator')
    await signIn(platform, null)
    await signIn(platform, null)
    const [own, other] = await sessionsOf(platform, harness.operate)
    const url = `/internal/sessions?keyId=${platform}`
    const asked = await harness.callers.run({ keyId: platform, sessionId: own?.id }, async () =>
      harness.inside.inject({ url, headers: { 'x-tenant-id': '@platform' } }),
    )

    expect(asked.json().data.map(({ id, isOwn }: SessionEntry) => [id, isOwn])).toEqual([
      [own?.id, true],
      [other?.id, false],
    ])
  })
})

describe('ending sessions', () => {
  test('ends one, once, and leaves the others', async () => {
    const keyId = await aKey()
    const tokens = [await signIn(keyId), await signIn(keyId)]
    const [first] = await sessionsOf(keyId)
    const path = `/internal/sessions/${first?.id}`
    const foreign = await harness.other.inside('DELETE', path)
    const ended = await harness.tenant.inside('DELETE', path)
    const again = await harness.tenant.inside('DELETE', path)

    expect(foreign).toMatchObject({ status: 404, body: { code: 'session_not_found' } })
    expect(ended).toMatchObject({ status: 200, body: { id: first?.id } })
    expect(again).toMatchObject({ status: 404, body: { code: 'session_not_found' } })
    expect((await Promise.all(tokens.map(isSignedIn))).toSorted()).toEqual([false, true])
    expect(await trailOf(first?.id)).toMatchObject([{ action: 'endSession', before: { keyId }, after: null }])
  })

  test.each(['', '0', '%', 'none', '000000000000'])('ends none for the id %j', async (id) => {
    const token = await signIn(await aKey())

    expect((await harness.tenant.inside('DELETE', `/internal/sessions/${encodeURIComponent(id)}`)).status).toBe(404)
    expect(await isSignedIn(token)).toBe(true)
  })

  test('ends all of a key, which goes on', async () => {
    const [keyId, other] = [await aKey(), await aKey()]
    const tokens = [await signIn(keyId), await signIn(keyId)]
    const stays = await signIn(other)
    const ids = (await sessionsOf(keyId)).map(({ id }) => id)
    const path = `/internal/keys/${keyId}/sessions`
    const foreign = await harness.other.inside('DELETE', path)
    const ended = await harness.tenant.inside('DELETE', path)
    const again = await harness.tenant.inside('DELETE', path)

    expect(foreign).toMatchObject({ status: 404, body: { code: 'key_not_found' } })
    expect([ended.body, again.body]).toEqual([{ ended: 2 }, { ended: 0 }])
    expect(await Promise.all([...tokens, stays].map(isSignedIn))).toEqual([false, false, true])
    expect(await isSignedIn(await signIn(keyId))).toBe(true)
    for (const id of ids)
      expect(await trailOf(id)).toMatchObject([{ action: 'endSessionsOfKey', before: { keyId }, after: null }])
  })
})
