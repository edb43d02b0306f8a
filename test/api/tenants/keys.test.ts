import { describe, expect, test } from 'vitest'
import { lockIdempotencyKey } from '../../../store/idempotency.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { asking, NOON, useHarness } from '../harness.ts'

const harness = useHarness()

async function keyWith(body: Record<string, unknown>) {
  const made = await harness.tenant.inside('POST', '/internal/keys', { name: 'k', ...body })
  return { id: made.body.id as string, key: made.body.key as string }
}
async function listed(id: string) {
  const list = await harness.tenant.inside('GET', '/internal/keys')
  return list.body.find((each: { id: string }) => each.id === id)
}
const FEELESS = { baseTariffGb: 1, simMonthlyFee: 0, smsFee: 0, voiceFee: 0, overageFeePerGb: 0 }
const withKey = (key: string) => asking(harness.outside, { authorization: `Bearer ${key}` })

describe('API keys', () => {
  test('of another scheme answer 401 with WWW-Authenticate', async () => {
    const answer = await asking(harness.outside, { authorization: 'Basic aGVsbG86d29ybGQ=' })('GET', '/api/pools')

    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="simherd"')
  })

  test('are accepted in X-API-Key too', async () => {
    const answer = await asking(harness.outside, { 'x-api-key': harness.tenant.key })('GET', '/api/tenant')

    expect(answer).toMatchObject({ status: 200, body: { id: harness.tenant.id } })
  })

  test('work until they expire', async () => {
    const { key } = await keyWith({ scopes: ['read'], expiresAt: new Date(NOON + 60_000).toISOString() })

    const before = await withKey(key)('GET', '/api/pools')
    const after = await harness.at(NOON + 60_000, () => withKey(key)('GET', '/api/pools'))

    expect(before.status).toBe(200)
    expect(after).toMatchObject({ status: 401, body: { detail: 'The API key has expired.' } })
  })

  test('are refused at once when revoked', async () => {
    const { id, key } = await keyWith({ scopes: ['write'], name: 'short-lived' })

    const revoked = await harness.tenant.inside('DELETE', `/internal/keys/${id}`)
    const answer = await withKey(key)('GET', '/api/pools')
    const shown = await listed(id)

    expect(revoked).toMatchObject({ status: 200, body: { id } })
    expect(answer.status).toBe(401)
    const noon = new Date(NOON).toISOString()
    expect(shown).toEqual({
      id,
      prefix: key.slice(0, -44),
      name: 'short-lived',
      scopes: ['write', 'esim'],
      createdAt: noon,
      expiresAt: null,
      revokedAt: noon,
      lastUsedAt: null,
      replacedBy: null,
      contact: null,
    })
    expect(JSON.stringify(shown)).not.toContain(key.slice(-43))
  })

  test('keep the first instant when revoked twice', async () => {
    const { id } = await keyWith({ scopes: ['read'] })
    await harness.tenant.inside('DELETE', `/internal/keys/${id}`)
    const again = await harness.at(NOON + 60_000, () => harness.tenant.inside('DELETE', `/internal/keys/${id}`))

    expect(again).toMatchObject({ status: 200, body: { id } })
    expect(await listed(id)).toMatchObject({ revokedAt: new Date(NOON).toISOString() })
  })

  test('show their last use to the minute', async () => {
    const { id, key } = await keyWith({ scopes: ['read'] })
    const used: unknown[] = []
    for (const seconds of [0, 59, 61]) {
      await harness.at(NOON + seconds * 1000, () => withKey(key)('GET', '/api/tenant'))
      used.push((await listed(id)).lastUsedAt)
    }

    const at = (seconds: number) => new Date(NOON + seconds * 1000).toISOString()
    expect(used).toEqual([at(0), at(0), at(61)])
  })

  test('have scopes that fit the tenant or platform', async () => {
    const ofTenant = await harness.tenant.inside('POST', '/internal/keys', { name: 'k', scopes: ['operator'] })
    const ofPlatform = ['read', 'billing'].map((scope) =>
      harness.operate('POST', '/internal/keys', { name: 'k', scopes: ['operator', scope] }),
    )
    const billing = await keyWith({ scopes: ['billing', 'read'] })

    expect(ofTenant).toMatchObject({ status: 400, body: { errors: [{ pointer: '/scopes' }] } })
    for (const { status } of await Promise.all(ofPlatform)) expect(status).toBe(400)
    expect(await listed(billing.id)).toMatchObject({ scopes: ['read', 'billing'] })
  })

  test('of an operator must name a tenant', async () => {
    const operator = asking(harness.outside, { authorization: `Bearer ${harness.operatorKey}` })

    const named = await operator('GET', '/api/tenant', undefined, { 'x-tenant-id': harness.other.id })
    const unnamed = await operator('GET', '/api/tenant')
    const unknown = await operator('GET', '/api/pools', undefined, { 'x-tenant-id': 'nobody' })

    expect(named).toMatchObject({ status: 200, body: { id: harness.other.id } })
    expect(unnamed).toMatchObject({ status: 400, body: { errors: [{ parameter: 'X-Tenant-Id' }] } })
    expect(unknown).toMatchObject({ status: 404, body: { code: 'tenant_not_found' } })
  })

  test.each([
    ['GET', '/internal/keys', undefined],
    ['POST', '/internal/keys', { name: 'k', scopes: ['operator'] }],
    ['POST', '/internal/keys/none/rotate', {}],
    ['DELETE', '/internal/keys/none', undefined],
    ['GET', '/internal/tariffs', undefined],
    ['POST', '/internal/tariffs', { displayName: 'For whom', type: 0, standardTariff: FEELESS }],
    ['PATCH', '/internal/tariffs/1', { isActive: true }],
    ['GET', '/internal/order-prices', undefined],
    ['PUT', '/internal/order-prices', { prices: [] }],
    ['GET', '/internal/audit', undefined],
  ])('of an operator need X-Tenant-Id for %s %s', async (method, url, body) => {
    const unnamed = asking(harness.inside, { authorization: `Bearer ${harness.operatorKey}` })
    const before = await harness.operate('GET', '/internal/order-prices')

    const refused = await unnamed(method, url, body)
    const empty = await unnamed(method, url, body, { 'x-tenant-id': '' })
    const misspelt = await unnamed(method, url, body, { 'x-tenant-id': '@Platform' })
    const platform = await unnamed(method, url, body, { 'x-tenant-id': '@platform' })
    await harness.operate('PUT', '/internal/order-prices', before.body)

    const detail = 'is required with an operator key: the id of a tenant, or @platform for the platform itself'
    for (const answer of [refused, empty]) {
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ parameter: 'X-Tenant-Id', detail }] } })
    }
    expect(misspelt).toMatchObject({ status: 404, body: { code: 'tenant_not_found' } })
    expect([200, 201, 404]).toContain(platform.status)
    if (platform.status === 404) expect(platform.body.code).not.toBe('tenant_not_found')
  })

  test('for @platform do not reach a tenant’s endpoints', async () => {
    const refused = await harness.operate('GET', '/internal/counts')

    expect(refused).toMatchObject({ status: 400, body: { errors: [{ parameter: 'X-Tenant-Id' }] } })
  })
})

describe('rotating a key', () => {
  const rotate = (id: string, body?: unknown) => harness.tenant.inside('POST', `/internal/keys/${id}/rotate`, body)
  const statusOf = async (key: string) => (await withKey(key)('GET', '/api/tenant')).status
  const after = (ms: number) => new Date(NOON + ms).toISOString()
  const HOUR = 3_600_000

  test('keeps the old key working for an hour', async () => {
    const old = await keyWith({ scopes: ['read', 'write'], name: 'billing', expiresAt: after(100 * HOUR) })

    const made = await rotate(old.id)
    const both = async () => [await statusOf(old.key), await statusOf(made.body.key)]
    const [during, later] = [await both(), await harness.at(NOON + HOUR, both)]

    expect(made).toMatchObject({ status: 201, body: { id: expect.any(String), key: expect.stringMatching(/^sim_/) } })
    expect([during, later]).toEqual([
      [200, 200],
      [401, 200],
    ])
    expect(await listed(old.id)).toMatchObject({ expiresAt: after(HOUR), replacedBy: made.body.id })
    expect(await listed(made.body.id)).toMatchObject({
      name: 'billing',
      scopes: ['read', 'write', 'esim'],
      expiresAt: after(100 * HOUR),
      replacedBy: null,
    })
  })

  test.each([
    ['PT0S', null, 0],
    ['P7D', null, 7 * 24 * HOUR],
    ['P7D', 2 * HOUR, 2 * HOUR],
    [null, 60_000, 60_000],
  ])('over %s with expiry %s ms ends after %s ms', async (expireOldAfter, expiresIn, endsIn) => {
    const { id } = await keyWith({ scopes: ['read'], ...(expiresIn === null ? {} : { expiresAt: after(expiresIn) }) })

    const made = await rotate(id, { expireOldAfter })

    expect(made.status).toBe(201)
    expect(await listed(id)).toMatchObject({ expiresAt: after(endsIn) })
  })

  const WRONG = ['1 hour', 'P31D', 'P99999999999999999999W', '-PT1H', 3600]
  test.each(WRONG)('refuses %j as expireOldAfter', async (wrong) => {
    const { id } = await keyWith({ scopes: ['read'] })

    const answer = await rotate(id, { expireOldAfter: wrong })

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/expireOldAfter' }] } })
    expect(await listed(id)).toMatchObject({ expiresAt: null, replacedBy: null })
  })

  test('refuses a revoked, expired or rotated key', async () => {
    const revoked = await keyWith({ scopes: ['read'] })
    await harness.tenant.inside('DELETE', `/internal/keys/${revoked.id}`)
    const expired = await keyWith({ scopes: ['read'], expiresAt: after(1) })
    const rotated = await keyWith({ scopes: ['read'] })
    const { body: successor } = await rotate(rotated.id)

    const all = [revoked.id, expired.id, rotated.id]
    const answers = await harness.at(NOON + 1, () => Promise.all(all.map((id) => rotate(id))))

    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([409, 'key_not_active']))
    expect(answers[2]?.body.detail).toContain(successor.id)
    expect((await rotate(successor.id)).status).toBe(201)
  })

  test('answers 404 for the platform’s and unknown keys', async () => {
    const ours = await keyWith({ scopes: ['read'] })

    const answers = [await harness.operate('POST', `/internal/keys/${ours.id}/rotate`), await rotate('nobody')]

    expect(answers.map(({ body }) => body.code)).toEqual(['key_not_found', 'key_not_found'])
  })

  test('makes one key under two requests at once', async () => {
    const { id } = await keyWith({ scopes: ['read'] })

    const answers = await Promise.all([rotate(id), rotate(id)])

    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409])
  })

  test('works for an operator key without a tenant', async () => {
    const old = await harness.operate('POST', '/internal/keys', { name: 'ops', scopes: ['operator'] })

    const made = await harness.operate('POST', `/internal/keys/${old.body.id}/rotate`)
    const named = { 'x-tenant-id': '@platform' }
    const ask = asking(harness.inside, { authorization: `Bearer ${made.body.key}`, ...named })
    const asked = await ask('GET', '/internal/keys')

    expect(made.status).toBe(201)
    expect(asked.body).toContainEqual(expect.objectContaining({ id: old.body.id, replacedBy: made.body.id }))
  })

  test('is in the audit trail, without a secret', async () => {
    const old = await keyWith({ scopes: ['read'], name: 'traced' })
    const made = await rotate(old.id, { expireOldAfter: 'PT0S' })
    await harness.tenant.inside('DELETE', `/internal/keys/${made.body.id}`)

    const trailOf = async (id: string) =>
      (await harness.tenant.inside('GET', `/internal/audit?subject=key&subjectId=${id}`)).body.data
    const [ofOld, ofNew] = [await trailOf(old.id), await trailOf(made.body.id)]

    const now = after(0)
    expect(ofOld).toMatchObject([
      { action: 'rotateKey', before: { expiresAt: null }, after: { expiresAt: now, replacedBy: made.body.id } },
      { action: 'createKey', before: null, after: { name: 'traced', scopes: ['read'], expiresAt: null } },
    ])
    expect(ofNew).toMatchObject([
      { action: 'revokeKey', before: { revokedAt: null }, after: { revokedAt: now } },
      { action: 'rotateKey', before: null, after: { name: 'traced', scopes: ['read'], rotatedFrom: old.id } },
    ])
    for (const { key } of [old, made.body]) expect(JSON.stringify([ofOld, ofNew])).not.toContain(key.slice(-43))
  })
})

describe('Idempotency-Key', () => {
  test('is the same in quotes, for a body in another order, and of its tenant only', async () => {
    const body = { displayName: 'Once', type: 0, standardTariff: FEELESS }
    const reordered = Object.fromEntries(Object.entries(body).reverse())

    const first = await harness.tenant.inside('POST', '/internal/tariffs', body, { 'idempotency-key': 'a' })
    const second = await harness.tenant.inside('POST', '/internal/tariffs', reordered, { 'idempotency-key': '"a"' })
    const theirs = await harness.other.inside('POST', '/internal/sims', { sims: [] }, { 'idempotency-key': 'a' })

    expect(second).toMatchObject({ status: 201, body: first.body, headers: { 'idempotency-replayed': 'true' } })
    expect(theirs).toMatchObject({ status: 200, body: { created: [], rejected: [] } })
  })

  test('answers 409 while the first request runs', async () => {
    const headers = { 'idempotency-key': 'd' }
    const again = () => harness.tenant.inside('POST', '/internal/sims', { sims: [] }, headers)

    const meanwhile = await inTenant(harness.store, harness.tenant.id, async (tx) => {
      await lockIdempotencyKey(tx, 'd')
      return again()
    })
    const after = await again()

    expect(meanwhile).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } })
    expect(meanwhile.headers['retry-after']).toBe('1')
    expect(after.status).toBe(200)
  })
})

test.each([
  [{ name: 'x' }, '/name'],
  [{ billingEmail: 'nobody' }, '/billingEmail'],
  [{ billingCycle: 'P2M' }, '/billingCycle'],
  [{ currency: 'euro' }, '/currency'],
  [{ currency: 'QQQ' }, '/currency'],
])('a tenant is refused with %j', async (wrong, pointer) => {
  const body = { name: 'Fine', billingEmail: 'fine@example.com', ...wrong }
  const answer = await harness.operate('POST', '/internal/tenants', body)

  expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
})
