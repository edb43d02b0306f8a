/** Whom a request comes from, behind proxies and with hostile headers. */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import type { App } from '../../../api/http/app.ts'
import { buildPublic } from '../../../api/server.ts'
import { parseNetworks } from '../../../domain/networks.ts'
import { startedApi, useHarness } from '../harness.ts'

const harness = useHarness()
const PROXY = '10.0.0.1'

const listeners = new Map<string, Promise<App>>()
afterAll(async () => {
  for (const app of listeners.values()) await (await app).close()
})

/** A listener on which an address may ask once without a key. @param trusted as in TRUSTED_PROXIES */
function aListener(trusted: string): Promise<App> {
  const options = { store: harness.store, anonymousLimit: 1, refusalLimit: 1 }
  const known = listeners.get(trusted) ?? buildPublic(options, { trustedProxies: parseNetworks(trusted) ?? [] })
  listeners.set(trusted, known)
  return known
}

/** The address that a request is counted by. */
async function countedAs(trusted: string, from: string, forwarded?: string): Promise<string | undefined> {
  const app = await aListener(trusted)
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  const ask = () => app.inject({ method: 'GET', url: '/none', remoteAddress: from, headers })
  await ask()
  const { body } = await ask()
  return /"detail":"(\S*) may make/.exec(body)?.[1]
}

describe('X-Forwarded-For', () => {
  test('counts for nobody by default', async () => {
    expect(await countedAs('', PROXY, '192.0.2.7')).toBe(PROXY)
  })

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['198.51.100.1, 192.0.2.7', '192.0.2.7'],
    ['198.51.100.1, 192.0.2.7, 10.0.0.2', '192.0.2.7'],
    ['192.0.2.7:50123', '192.0.2.7'],
    ['192.0.2.7, 10.0.0.2:50123', '192.0.2.7'],
    ['2001:db8:0:1::a', '2001:db8:0:1::'],
    ['[2001:db8:0:1::a]', '2001:db8:0:1::'],
    ['[2001:db8:0:1::a]:443', '2001:db8:0:1::'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['fe80::1%eth0', 'fe80::'],
    ['10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ])('of a trusted proxy: %s is %s', async (forwarded, counted) => {
    expect(await countedAs('10.0.0.0/8', PROXY, forwarded)).toBe(counted)
    expect(await countedAs('10.0.0.0/8', `::ffff:${PROXY}`, forwarded)).toBe(counted)
  })

  test('of others is passed over', async () => {
    expect(await countedAs('10.0.0.0/8', '192.0.2.9', '10.0.0.1')).toBe('192.0.2.9')
    expect(await countedAs('10.0.0.0/8', '192.0.2.9', '10.0.0.2, 10.0.0.1')).toBe('192.0.2.9')
    expect(await countedAs('10.0.0.0/8', '::ffff:192.0.2.9', '10.0.0.1')).toBe('192.0.2.9')
    expect(await countedAs('fd00::/8', 'fe80::9', 'fd00::1')).toBe('fe80::')
  })

  test.each([
    ['nothing', ''],
    ['white space and commas', ' , ,, '],
    ['a word', 'unknown'],
    ['what looks like an address', '999.1.1.1'],
    ['one number', '1'],
    ['markup', '<script>alert(1)</script>'],
    ['a query', "' or 1=1 --"],
    ['a long word', 'x'.repeat(12_000)],
    ['a long number', '1'.repeat(12_000)],
    ['a long zone', `192.0.2.7%${'x'.repeat(12_000)}`],
    ['brackets', '['.repeat(6000) + ']'.repeat(6000)],
    ['a port that is none', '192.0.2.7:123456'],
    ['two ports', '192.0.2.7:1:2'],
  ])('that is %s counts as its proxy', async (_, forwarded) => {
    expect(await countedAs(PROXY, PROXY, forwarded)).toBe(PROXY)
    expect(await countedAs(PROXY, PROXY, `${forwarded}, 192.0.2.7`)).toBe('192.0.2.7')
  })

  test('of ten hops at most counts', async () => {
    const hops = (count: number) => Array.from({ length: count }, (_, n) => `10.0.1.${n + 1}`).join(', ')

    expect(await countedAs('10.0.0.0/8', PROXY, `192.0.2.7, ${hops(9)}`)).toBe('192.0.2.7')
    expect(await countedAs('10.0.0.0/8', PROXY, `192.0.2.7, ${hops(200)}`)).toBe('10.0.1.191')
  })

  test('that comes twice is read as one, on both listeners', async () => {
    const trustedProxies = parseNetworks('127.0.0.1') ?? []
    const api = await startedApi(harness, { trustedProxies, anonymousLimit: 1 })
    onTestFinished(api.close)
    for (const url of [api.apiUrl, api.internalUrl]) {
      const ask = (more: string) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.end(`GET /none HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-forwarded-for: 198.51.100.1\r\n${more}\r\n`)
        return text(socket)
      }
      const both = 'X-FORWARDED-FOR: 192.0.2.7\r\n'
      const answers = [await ask(both), await ask(both), await ask(`x-forwarded-for: ${'1,'.repeat(10_000)}\r\n`)]

      expect(answers.map((answer) => answer.split(' ', 2)[1])).toEqual(['404', '429', '431'])
      expect(answers[1]).toContain('192.0.2.7 may make')
    }
  })

  test('does not open or close an address for others', async () => {
    const app = await aListener(PROXY)
    const ask = async (forwarded: string, key?: string) => {
      const headers = { 'x-forwarded-for': forwarded, ...(key === undefined ? {} : { 'x-api-key': key }) }
      return (await app.inject({ method: 'GET', url: '/api/tenant', remoteAddress: PROXY, headers })).statusCode
    }
    const first = [await ask('192.0.2.7'), await ask('192.0.2.7'), await ask('192.0.2.8')]

    expect(first).toEqual([401, 429, 401])
    for (const other of ['198.51.100.1', '192.0.2.8', PROXY]) expect(await ask(`${other}, 192.0.2.7`)).toBe(429)
    expect(await ask('192.0.2.7', harness.tenant.key)).toBe(200)
  })

  test('names no other host for redirects', async () => {
    const app = await aListener(PROXY)
    const headers = { 'x-forwarded-for': '192.0.2.70', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'a b' }
    const answer = await app.inject({ method: 'GET', url: '/docs', remoteAddress: PROXY, headers })

    expect([answer.statusCode, answer.headers.location]).toEqual([301, '/docs/'])
  })
})
