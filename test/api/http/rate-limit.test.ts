/** How many requests a key may make in a minute. */
import { createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openRequestCounts } from '../../../adapters/queues/open-request-counts.ts'
import type { RequestLimit } from '../../../api/http/rate-limit.ts'
import { buildInternal, buildPublic } from '../../../api/server.ts'
import { listenAnywhere } from '../../setup/listen.ts'
import { requireRedis } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { asking, INTERNAL, times, useHarness } from '../harness.ts'

const harness = useHarness()
/** For a Redis that is there: on a busy machine it may answer late. */
const PATIENT_MS = 30_000
const redisUrl = requireRedis('limits of requests that several processes count together')

/** Another process with the public interface. */
async function aProcess(requestLimit: RequestLimit) {
  const app = await buildPublic({ store: harness.store, requestLimit })
  onTestFinished(() => app.close())
  return (key: string, tenantId?: string) =>
    asking(app, { authorization: `Bearer ${key}`, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) })
}

const statuses = (count: number, ask: () => Promise<{ status: number }>) =>
  times(count, async () => (await ask()).status)

/** Speaks just enough of Redis's protocol to be taken for ready. From `stall` on it answers nothing any more. */
async function aStallingRedis() {
  let stalls = false
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('data', (chunk) => {
      const commands = chunk.toString().match(/^\*\d+\r$/gm) ?? []
      if (!stalls) socket.write('+OK\r\n'.repeat(commands.length))
    })
  })
  const port = await listenAnywhere(server)
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `redis://127.0.0.1:${port}`, stall: () => (stalls = true) }
}

describe('rate limit', () => {
  test('counts keys of tenants on the internal interface, too', async () => {
    const inside = await buildInternal({
      ...INTERNAL,
      store: harness.store,
      dependencies: [],
      requestLimit: { perMinute: 2 },
    })
    onTestFinished(() => inside.close())
    const by = (key: string) => asking(inside, { authorization: `Bearer ${key}`, 'x-tenant-id': harness.tenant.id })
    const asked = (key: string) => statuses(3, () => by(key)('GET', '/internal/cycles'))

    expect(await asked(harness.tenant.key)).toEqual([200, 200, 429])
    expect(await asked(harness.operatorKey)).toEqual([200, 200, 200])
  })

  test('counts a key over all paths, then answers 429', async () => {
    const by = await aProcess({ perMinute: 3 })
    const ours = by(harness.tenant.key)

    const first = await ours('GET', '/api/tenant')
    expect(first.headers).toMatchObject({ 'ratelimit-limit': '3', 'ratelimit-remaining': '2' })
    expect((await ours('GET', '/api/sims')).status).toBe(200)
    expect((await ours('PATCH', '/api/tenant/name', { name: 'Ours again' })).status).toBe(200)
    const refused = await ours('GET', '/api/pools')

    expect(refused.status).toBe(429)
    expect(refused.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.body).toMatchObject({ code: 'rate_limited', status: 429, instance: '/api/pools' })
    expect(refused.body.detail).toMatch(/^This key may make 3 requests a minute: go on in \d+ seconds?\.$/)
    expect(await statuses(3, () => by(harness.other.key)('GET', '/api/tenant'))).toEqual([200, 200, 200])
  })

  test('does not apply to operator keys', async () => {
    const ask = (await aProcess({ perMinute: 1 }))(harness.operatorKey, harness.tenant.id)

    expect(await statuses(4, () => ask('GET', '/api/tenant'))).toEqual([200, 200, 200, 200])
  })

  test('is switched off by 0', async () => {
    const by = await aProcess({ perMinute: 0 })
    const { headers } = await by(harness.tenant.key)('GET', '/api/tenant')

    expect(headers['ratelimit-limit']).toBeUndefined()
  })

  test('lets requests pass while Redis is unreachable', async () => {
    const lost: Error[] = []
    const counts = openRequestCounts('redis://127.0.0.1:1', (error) => lost.push(error))
    onTestFinished(counts.close)
    const by = await aProcess({ perMinute: 1, redis: counts.redis })

    expect(await statuses(3, () => by(harness.tenant.key)('GET', '/api/tenant'))).toEqual([200, 200, 200])
    await soon(() => expect(lost.length).toBeGreaterThan(0))
  })

  test('lets requests pass while Redis never answers', async () => {
    const { url, stall } = await aStallingRedis()
    const counts = openRequestCounts(url, () => undefined)
    onTestFinished(counts.close)
    await soon(() => expect(counts.redis.status).toBe('ready'))
    stall()
    const by = await aProcess({ perMinute: 1, redis: counts.redis })

    expect(await statuses(2, () => by(harness.tenant.key)('GET', '/api/tenant'))).toEqual([200, 200])
  })

  test.skipIf(redisUrl === undefined)('is shared by processes with one Redis', async () => {
    const processes = await Promise.all(
      [1, 2].map(async () => {
        const counts = openRequestCounts(redisUrl ?? '', (error) => expect.fail(error.message), PATIENT_MS)
        onTestFinished(counts.close)
        await soon(() => expect(counts.redis.status).toBe('ready'))
        return (await aProcess({ perMinute: 2, redis: counts.redis }))(harness.tenant.key)
      }),
    )
    const answers = await Promise.all([...processes, ...processes].map((ask) => ask('GET', '/api/tenant')))

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429])
  })
})
