/** Answers that are always the same: the documentation's page and script, the documents, the kinds of problem. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { SLOWEST, timed } from '../../setup/timed.ts'
import { times, useHarness } from '../harness.ts'

const harness = useHarness()
const SCRIPT = '/docs/js/scalar.js'
const MIB = 1024 * 1024

const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  harness.outside.inject({ method, url, headers })

describe.each([SCRIPT, '/openapi.json', '/problems/sim_not_found'])('GET %s', (url) => {
  test('is compressed as the caller takes it, and may be cached', async () => {
    const plain = await get(url)
    const gzip = await get(url, { 'accept-encoding': 'gzip, deflate' })
    const brotli = await get(url, { 'accept-encoding': 'gzip, deflate, br' })

    expect([plain, gzip, brotli].map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'gzip', 'br'])
    expect(gunzipSync(gzip.rawPayload).equals(plain.rawPayload)).toBe(true)
    expect(brotliDecompressSync(brotli.rawPayload).equals(plain.rawPayload)).toBe(true)
    expect(new Set([plain, gzip, brotli].map(({ headers }) => headers.etag)).size).toBe(3)
    for (const { headers } of [plain, gzip, brotli]) {
      expect(headers).toMatchObject({
        'cache-control': 'public, max-age=300',
        vary: 'accept-encoding',
        'x-content-type-options': 'nosniff',
        'content-type': expect.stringMatching(/^application\/(json|javascript); charset=utf-8$/),
      })
    }
  })

  test('is 304 to a caller who has it', async () => {
    const coded = { 'accept-encoding': 'gzip' }
    const { headers } = await get(url, coded)
    const tag = String(headers.etag)
    const again = await get(url, { ...coded, 'if-none-match': `"other", W/${tag}` })
    const other = await get(url, { ...coded, 'if-none-match': '"other"' })
    const head = await get(url, coded, 'HEAD')

    expect([again.statusCode, again.rawPayload.length, again.headers.etag]).toEqual([304, 0, tag])
    expect(again.headers.vary).toBe('accept-encoding')
    expect(other.statusCode).toBe(200)
    expect([head.statusCode, head.rawPayload.length, head.headers.etag]).toEqual([200, 0, tag])
  })
})

describe('Accept-Encoding', () => {
  test.each([
    ['', undefined],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip;q=0', undefined],
    ['*;q=0', undefined],
    ['identity, deflate', undefined],
    ['gzip;q=much', undefined],
    [' , x,, gzip ;q=0.5 ', 'gzip'],
  ])('%j gets %s', async (header, coding) => {
    const { statusCode, headers } = await get('/problems/sim_not_found', { 'accept-encoding': header })

    expect([statusCode, headers['content-encoding']]).toEqual([200, coding])
  })
})

describe('the page at /docs', () => {
  test('has a nonce of its own, its script has none, and nothing comes from elsewhere', async () => {
    const [first, second] = [await get('/docs/'), await get('/docs/')]
    const [policy = '', other = ''] = [first, second].map(({ headers }) => String(headers['content-security-policy']))
    const nonces = [policy, other].map((text) => /'nonce-([^']+)'/.exec(text)?.[1])
    const used = new Set([...first.body.matchAll(/ nonce="([^"]+)"/g)].map(([, nonce]) => nonce))
    const script = await get(SCRIPT)

    expect(new Set(nonces).size).toBe(2)
    expect(used).toEqual(new Set([nonces[0]]))
    expect(policy).toContain("default-src 'self'")
    expect(policy).toContain(`script-src 'nonce-${nonces[0]}';`)
    expect(first.body).not.toMatch(/(src|href)="?https?:/)
    expect(second.body).not.toContain(String(nonces[0]))
    expect(first.headers['cache-control']).toBe('no-store')
    expect(script.rawPayload.length).toBeGreaterThan(4 * MIB)
    expect(script.headers['content-security-policy']).toBeUndefined()
  })

  test('asks for no other description than /openapi.json', async () => {
    const { body } = await get('/docs/')
    const copies = [await get('/docs/openapi.json'), await get('/docs/openapi.yaml')]

    expect(body).toContain('../openapi.json')
    expect(copies.map(({ statusCode }) => statusCode)).toEqual([404, 404])
  })

  test.each(['outside', 'inside'] as const)('is where / leads, %s too', async (listener) => {
    const answers = [await harness[listener].inject('/'), await harness[listener].inject('/docs/')]

    expect(answers.map(({ statusCode, headers }) => [statusCode, headers.location])).toEqual([
      [302, '/docs/'],
      [200, undefined],
    ])
  })

  test.each(['[', 'a b', '', 'x'.repeat(8000)])('answers under the host %j', async (host) => {
    const answers = [await get('/docs', { host }), await get('/docs/', { host })]

    expect(answers.map(({ statusCode, headers }) => [statusCode, headers.location])).toEqual([
      [301, '/docs/'],
      [200, undefined],
    ])
  })

  // Asked by HEAD: what the test itself makes of a body costs more than to send it.
  test.each([SCRIPT, '/docs/', '/openapi.json'])('costs the serving thread 2 ms at most for %s', async (url) => {
    const ask = () => get(url, { 'accept-encoding': 'gzip' }, 'HEAD')
    await ask()
    const [, ms] = await timed(() => times(20, ask))

    expect(ms / 20).toBeLessThan(2 * SLOWEST)
  })
})
