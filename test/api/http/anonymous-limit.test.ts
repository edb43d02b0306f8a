/** How many requests an address may make without a key. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../api/http/app.ts'
import { buildInternal, buildPublic } from '../../../api/server.ts'
import { INTERNAL, times, useHarness } from '../harness.ts'

const harness = useHarness()
const LIMIT = 3

type Ask = (
  url: string,
  options?: { method?: 'GET' | 'POST' | 'DELETE'; from?: string; key?: string },
) => Promise<{ status: number; retryAfter: number; body: string }>

/** Both listeners. Each test asks from addresses of its own. */
const asking = {} as { outside: Ask; inside: Ask }
let apps: App[] = []
beforeAll(async () => {
  const options = { store: harness.store, anonymousLimit: LIMIT, refusalLimit: 0 }
  const outside = await buildPublic({ ...options, hasMailLinks: true })
  const inside = await buildInternal({ ...options, ...INTERNAL, dependencies: [] })
  apps = [outside, inside]
  const askingOf =
    (app: App): Ask =>
    async (url, { method = 'GET', from = '192.0.2.7', key } = {}) => {
      const headers = key === undefined ? {} : { 'x-api-key': key }
      const answer = await app.inject({ method, url, remoteAddress: from, headers })
      return { status: answer.statusCode, retryAfter: Number(answer.headers['retry-after']), body: answer.body }
    }
  Object.assign(asking, { outside: askingOf(outside), inside: askingOf(inside) })
})
afterAll(() => Promise.all(apps.map((app) => app.close())))

/** Uses up the count of an address. */
const useUp = (ask: Ask, from: string) => times(LIMIT, () => ask('/none', { from }))

const KEYLESS = ['/docs', '/docs/', '/openapi.json', '/problems/sim_not_found', '/n/no.token', '/', '/api/none', '/api']

describe('paths that take no key', () => {
  test.each(KEYLESS)('answer 429 to %s beyond the limit of an address', async (url) => {
    const from = `192.0.2.${100 + KEYLESS.indexOf(url)}`
    const ask = () => asking.outside(url, { from })
    const within = await times(LIMIT, ask)
    const beyond = await ask()
    const other = await asking.outside(url, { from: from.replace('192', '198') })

    expect(within.map(({ status }) => status)).not.toContain(429)
    expect(beyond.status).toBe(429)
    expect(beyond.retryAfter).toBeGreaterThan(0)
    expect(beyond.body).toContain(`${from} may make 3 requests a minute without a key: go on in `)
    expect(other.status).toBe(within[0]?.status)
  })

  test('share one count, with methods that a path has not', async () => {
    const from = '192.0.2.8'
    const answers = [
      await asking.outside('/docs/', { from }),
      await asking.outside('/api/tenant', { from, method: 'DELETE' }),
      await asking.outside('/n/no.token', { from, method: 'POST' }),
      await asking.outside('/none', { from }),
      await asking.outside('/api/tenant', { from, method: 'DELETE' }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([200, 405, 404, 429, 429])
  })

  test('have no limit with 0', async () => {
    await useUp(asking.outside, '127.0.0.1')
    const limited = await asking.outside('/none', { from: '127.0.0.1' })
    const answers = await times(LIMIT + 1, () => harness.outside.inject('/none'))

    expect(limited.status).toBe(429)
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404, 404])
  })
})

describe('the limit without a key', () => {
  test('leaves requests with a key alone', async () => {
    const from = '192.0.2.10'
    await useUp(asking.outside, from)
    const { key } = harness.tenant
    const answers = [
      await asking.outside('/none', { from }),
      await asking.outside('/api/tenant', { from, key }),
      await asking.outside('/api/tenant', { from, key }),
      await asking.outside('/api/tenant', { from }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([429, 200, 200, 401])
  })

  test('leaves probes and metrics of the internal listener alone', async () => {
    const from = '192.0.2.11'
    await useUp(asking.inside, from)
    const answers = []
    for (const url of ['/none', '/healthz', '/readyz', '/metrics', '/healthz', '/readyz', '/metrics', '/openapi.json'])
      answers.push((await asking.inside(url, { from })).status)

    expect(answers).toEqual([429, 200, 200, 200, 200, 200, 200, 429])
  })
})
