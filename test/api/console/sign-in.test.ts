/** Signing in and out of the console, and what holds for each of its answers. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { NOON, times, useHarness } from '../harness.ts'
import { useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)
const limited = useConsole(harness, { refusalLimit: 3, anonymousLimit: 5 })

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const keyWith = async (body: Record<string, unknown> = {}) =>
  (await harness.tenant.inside('POST', '/internal/keys', { name: 'night shift', scopes: ['read'], ...body })).body
const hashOf = (token = '') => createHash('sha256').update(token).digest()
const stored = async (token: string | undefined) => {
  const { rows } = await sql<Record<string, unknown>>`
    select * from sessions where token_hash = ${hashOf(token)}`.execute(harness.root)
  return rows[0]
}
/** A page that is not there costs the least: who is not signed in does not hear of it. */
const ANY = '/none'
/** Asks for a page at these times after noon. @returns the statuses */
async function visits(browser: { get: (url: string) => Promise<{ status: number }> }, ats: readonly number[]) {
  const statuses: number[] = []
  for (const at of ats) statuses.push(await harness.at(NOON + at, async () => (await browser.get(ANY)).status))
  return statuses
}
const SIGNED_IN = 404
const AT_THE_DOOR = 303

describe('sign in', () => {
  test('leads to the page that was asked for', async () => {
    const { key } = await keyWith()
    const browser = pages.open()
    const asked = await browser.get('/sims?search=a%20b')
    const door = await browser.get(String(asked.headers.location))
    const sent = await browser.post('/sign-in', { key: ` ${key}\n`, next: '/sims?search=a%20b' })
    const first = await browser.get(ANY)

    expect(asked).toMatchObject({ status: 303, headers: { location: '/sign-in?next=%2Fsims%3Fsearch%3Da%2520b' } })
    expect(door.body).toContain('name="next" value="/sims?search=a%20b"')
    expect(sent).toMatchObject({ status: 303, headers: { location: '/sims?search=a%20b' } })
    expect(first.status).toBe(SIGNED_IN)
    expect(first.body).toContain('night shift')
  })

  test('says that a browser may drop the cookie, unless the browser calls the connection secure', async () => {
    const { body } = await harness.operate('POST', '/internal/sign-in-links')
    for (const path of ['/sign-in', body.path]) {
      expect((await pages.open().get(path)).body).toContain('only by\nhttps')
      expect((await pages.open().get(path, { 'sec-fetch-site': 'none' })).body).not.toContain('https')
    }
  })

  test('leads to no other site', async () => {
    const { key } = await keyWith()
    const sent = await pages.open().post('/sign-in', { key, next: '//evil.example/' })

    expect(sent.headers.location).toBe('/')
  })

  test('sets a cookie of this host alone, and stores its hash', async () => {
    const { id, key } = await keyWith()
    const browser = pages.open()
    const form = { 'sec-fetch-site': 'same-origin', 'user-agent': 'Browser 1.0' }
    const sent = await browser.post('/sign-in', { key }, form)
    const token = browser.token()

    expect(sent.headers['set-cookie']).toBe(
      `__Host-simherd=${token}; Max-Age=7776000; Path=/; HttpOnly; Secure; SameSite=Lax`,
    )
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(await stored(token)).toEqual({
      token_hash: hashOf(token),
      key_id: id,
      created_at: new Date(NOON),
      seen_at: new Date(NOON),
      expires_at: new Date(NOON + 12 * HOUR),
      user_agent: 'Browser 1.0',
      is_link: false,
    })
  })

  test.each([
    ['of another form', async () => 'secret'],
    ['unknown', async () => `sim_0123456789ab_${'x'.repeat(43)}`],
    ['with another secret', async () => (await keyWith()).key.replace(/.{10}$/, 'AAAAAAAAAA')],
  ])('refuses a key %s, without repeating it', async (_, make) => {
    const key = await make()
    const browser = pages.open()
    const sent = await browser.post('/sign-in', { key, next: '/sims' })

    expect(sent.status).toBe(401)
    expect(sent.body).toContain('There is no such API key.')
    expect(sent.body).toContain('value="/sims"')
    expect(sent.body).not.toContain(key)
    expect(browser.token()).toBeUndefined()
  })

  test('refuses revoked and expired keys', async () => {
    const revoked = await keyWith()
    await harness.tenant.inside('DELETE', `/internal/keys/${revoked.id}`)
    const expired = await keyWith({ expiresAt: new Date(NOON + 1).toISOString() })
    const bodies = await harness.at(NOON + 1, async () => [
      (await pages.open().post('/sign-in', { key: revoked.key })).body,
      (await pages.open().post('/sign-in', { key: expired.key })).body,
    ])

    expect(bodies[0]).toContain('The API key was revoked.')
    expect(bodies[1]).toContain('The API key has expired.')
  })

  test('ends the session that the browser had', async () => {
    const browser = await pages.signedIn((await keyWith()).key)
    const before = browser.token()
    await browser.post('/sign-in', { key: (await keyWith()).key })

    expect(browser.token()).not.toBe(before)
    expect(await pages.open(before).get(ANY)).toMatchObject({ status: AT_THE_DOOR })
  })

  test('takes so many tries of an address', async () => {
    const { key } = await keyWith()
    const answers = await times(4, () => limited.open().post('/sign-in', { key }))

    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303, 429])
    expect(answers[3]?.body).toContain('127.0.0.1 may try to sign in 3 times a minute: go on in ')
    expect(Number(answers[3]?.headers['retry-after'])).toBeGreaterThan(0)
  })

  test('is in the audit trail, as is the sign out', async () => {
    const { id, key } = await keyWith()
    const browser = await pages.signedIn(key)
    const token = browser.token()
    await browser.post('/sign-out', {})
    const trail = await harness.tenant.inside('GET', `/internal/audit?subject=session&keyId=${id}`)

    const subjectId = hashOf(token).toString('hex').slice(0, 12)
    expect(trail.body.data).toMatchObject([
      { action: 'signOut', subjectId, actor: `key:${id}`, before: { keyId: id }, after: null },
      { action: 'signIn', subjectId, actor: `key:${id}`, before: null, after: { keyId: id } },
    ])
    expect(JSON.stringify(trail.body)).not.toContain(token)
  })
})

describe('a link', () => {
  const makeLink = async (): Promise<{ path: string; expiresAt: string }> => {
    const headers = { authorization: `Bearer ${harness.operatorKey}` }
    return (await harness.inside.inject({ method: 'POST', url: '/internal/sign-in-links', headers })).json()
  }

  test('signs in once, by its form, with the rights of the key', async () => {
    const { path, expiresAt } = await makeLink()
    const browser = pages.open()
    const looks = await times(2, () => browser.get(path))
    const sent = await browser.post(path, {})
    const again = await pages.open().post(path, {})

    expect(looks.map(({ status }) => status)).toEqual([200, 200])
    expect(looks[0]?.body).toContain(`method="post" action="${path}"`)
    expect(looks[0]?.body).toContain('with the rights of the key')
    expect(sent).toMatchObject({ status: 303, headers: { location: '/' } })
    expect(await visits(browser, [0])).toEqual([SIGNED_IN])
    expect(again.status).toBe(401)
    expect(again.body).toContain('This link was used')
    expect(expiresAt).toBe(new Date(NOON + 15 * MINUTE).toISOString())
  })

  test('signs in one of two that use it at the same time', async () => {
    const { path } = await makeLink()
    const answers = await Promise.all([1, 2, 3].map(() => pages.open().post(path, {})))

    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 401, 401])
  })

  test('is no session, and no session is a link', async () => {
    const token = (await makeLink()).path.split('/').at(-1)
    const session = (await pages.signedIn(harness.operatorKey)).token()

    expect(await visits(pages.open(token), [0])).toEqual([AT_THE_DOOR])
    expect((await pages.open().post(`/sign-in/${session}`, {})).status).toBe(401)
  })

  test('ends after 15 minutes, and with its key', async () => {
    const { path } = await makeLink()
    const at = (ms: number) => harness.at(NOON + ms, async () => (await pages.open().get(path)).status)
    const statuses = [await at(15 * MINUTE - 1), await at(15 * MINUTE)]
    const { body: made } = await harness.operate('POST', '/internal/keys', { name: 'left', scopes: ['operator'] })
    const headers = { authorization: `Bearer ${made.key}` }
    const left = await harness.inside.inject({ method: 'POST', url: '/internal/sign-in-links', headers })
    await harness.operate('DELETE', `/internal/keys/${made.id}`)

    expect(statuses).toEqual([200, 401])
    expect((await pages.open().post(left.json().path, {})).status).toBe(401)
  })

  test('is in the audit trail, and in that of its session', async () => {
    const { path } = await makeLink()
    await pages.open().post(path, {})
    const { body } = await harness.operate('GET', '/internal/audit?subject=session&pageSize=2')

    const link = hashOf(path.split('/').at(-1)).toString('hex').slice(0, 12)
    expect(body.data).toMatchObject([
      { action: 'signIn', before: null, after: { link } },
      { action: 'createSignInLink', subjectId: link, before: null, after: { linkUntil: expect.any(String) } },
    ])
  })

  test('that is not whole says so', async () => {
    const { path } = await makeLink()
    const { status, body } = await pages.open().get(path.slice(0, -1))

    expect([status, body.includes('is not whole')]).toEqual([401, true])
  })
})

describe('a session', () => {
  test('ends 12 hours after its last use', async () => {
    const browser = await pages.signedIn((await keyWith()).key)

    const uses = [0, 11 * HOUR, 22 * HOUR, 34 * HOUR - 1, 46 * HOUR]
    expect(await visits(browser, uses)).toEqual([SIGNED_IN, SIGNED_IN, SIGNED_IN, SIGNED_IN, AT_THE_DOOR])
  })

  test('ends after 90 days', async () => {
    const browser = await pages.signedIn((await keyWith()).key)
    const uses = Array.from({ length: 180 }, (_, n) => n * 12 * HOUR - n)
    const before = await visits(browser, uses)

    expect(new Set(before)).toEqual(new Set([SIGNED_IN]))
    expect(await visits(browser, [90 * DAY])).toEqual([AT_THE_DOOR])
  })

  test('is written at most once a minute', async () => {
    const browser = await pages.signedIn((await keyWith()).key)
    const seen: unknown[] = []
    for (const at of [MINUTE - 1, MINUTE]) {
      await visits(browser, [at])
      seen.push((await stored(browser.token()))?.['seen_at'])
    }

    expect(seen).toEqual([new Date(NOON), new Date(NOON + MINUTE)])
  })

  test.each([
    ['is revoked', {}, (id: string) => harness.tenant.inside('DELETE', `/internal/keys/${id}`)],
    ['expires', { expiresAt: new Date(NOON + MINUTE).toISOString() }, async () => undefined],
  ])('ends when its key %s', async (_, more, change) => {
    const { id, key } = await keyWith(more)
    const browser = await pages.signedIn(key)
    const before = await visits(browser, [MINUTE - 1])
    await change(id)

    expect([...before, ...(await visits(browser, [MINUTE]))]).toEqual([SIGNED_IN, AT_THE_DOOR])
  })

  test('ends by sign out, for a copy of its cookie too', async () => {
    const browser = await pages.signedIn((await keyWith()).key)
    const token = browser.token()
    const sent = await browser.post('/sign-out', {})

    expect(sent).toMatchObject({ status: 303, headers: { location: '/sign-in' } })
    expect(browser.token()).toBeUndefined()
    expect(await pages.open(token).get(ANY)).toMatchObject({ status: AT_THE_DOOR })
    expect(await stored(token)).toBeUndefined()
  })

  test('that has expired is deleted by a later sign in', async () => {
    const before = await pages.signedIn((await keyWith()).key)
    await harness.at(NOON + 12 * HOUR, async () => pages.signedIn((await keyWith()).key))

    expect(await stored(before.token())).toBeUndefined()
  })

  test.each([
    ['without a cookie', undefined],
    ['with text of another form', "' or 1=1 --"],
    ['with an unknown token', 'x'.repeat(43)],
  ])('does not exist %s', async (_, cookie) => {
    expect(await pages.open(cookie).get(ANY)).toMatchObject({ status: AT_THE_DOOR })
  })

  test('has no limit of requests, unlike its absence', async () => {
    const browser = limited.open((await pages.signedIn((await keyWith()).key)).token())
    const inside = await times(7, () => browser.get(ANY))
    const outside = await times(6, () => limited.open().get('/sign-in', { 'x-forwarded-for': '1.2.3.4' }))

    expect(new Set(inside.map(({ status }) => status))).toEqual(new Set([SIGNED_IN]))
    expect(outside.at(-1)?.status).toBe(429)
  })
})

describe('a form', () => {
  const CROSS = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  test.each([['/sign-in'], ['/sign-out'], ['/nowhere']])('sent by another site to %s is refused', async (url) => {
    const { key } = await keyWith()
    const browser = await pages.signedIn(key)
    const token = browser.token()
    const answers = [await browser.post(url, { key }, CROSS), await browser.post(url, { key }, { origin: 'null' })]

    expect(answers.map(({ status }) => status)).toEqual([403, 403])
    expect(browser.token()).toBe(token)
    expect(await visits(browser, [0])).toEqual([SIGNED_IN])
  })
})

describe('each answer', () => {
  const ANSWERS: [string, string, string][] = [
    ['the door', 'GET', '/sign-in'],
    ['a redirect', 'GET', '/'],
    ['a form of another site', 'POST', '/sign-in'],
    ['an unknown page', 'GET', '/none'],
    ['another method', 'PUT', '/sign-in'],
  ]
  test.each(ANSWERS)('has the policy: %s', async (_, method, url) => {
    const { headers } = await pages.app.inject({ method: method as 'GET', url })

    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;font-src 'self';" +
        "connect-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'",
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    expect(headers).not.toHaveProperty('strict-transport-security')
  })

  test('says what is not there, to those who are signed in', async () => {
    const browser = await pages.signedIn(harness.operatorKey)
    const none = await browser.get('/<script>alert(1)</script>')
    const method = await browser.post('/', {})

    expect(none).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } })
    expect(none.body).not.toContain('<script>')
    expect(method).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
  })
})
