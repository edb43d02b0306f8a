import { connect as connectTo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { buildInternal } from '../../../api/server.ts'
import { databaseDependency } from '../../../process/health.ts'
import { INTERNAL, startedApi, useHarness } from '../harness.ts'

const harness = useHarness()

describe('startApi', () => {
  test('listens on both ports, reports dependencies, and stops', async () => {
    const away = () => Promise.reject(new Error('connection refused'))
    const silent = () => new Promise<never>(() => undefined)
    let needed: () => Promise<string> = async () => 'there'
    const dependencies = [
      databaseDependency(harness.store.db),
      { name: 'carrier', isRequired: false, check: away },
      { name: 'temporal', isRequired: false, check: silent },
      { name: 'needed', isRequired: true, check: () => needed() },
    ]
    const api = await startedApi(harness, { dependencies })
    const ready = () => fetch(`${api.internalUrl}/readyz`)

    const pools = await fetch(`${api.apiUrl}/api/pools`, { headers: { 'x-api-key': harness.tenant.key } })
    const withoutTwo = await ready()
    const metrics = await (await fetch(`${api.internalUrl}/metrics`)).text()
    needed = away
    const withoutNeeded = await ready()
    await api.close()

    expect(pools.status).toBe(200)
    expect(withoutTwo.status).toBe(200)
    const others = [
      { name: 'process', required: true, ok: true, detail: 'runs' },
      { name: 'postgresql', required: true, ok: true, detail: 'reachable and migrated' },
      { name: 'carrier', required: false, ok: false, detail: 'connection refused' },
      { name: 'temporal', required: false, ok: false, detail: expect.stringMatching(/^no answer within (0\.5|3) s$/) },
    ]
    const there = { name: 'needed', required: true, ok: true, detail: 'there' }
    expect(await withoutTwo.json()).toEqual({ ok: true, dependencies: [...others, there] })
    for (const [name, up] of Object.entries({ postgresql: 1, carrier: 0, temporal: 0, needed: 1 })) {
      expect(metrics).toContain(`simherd_dependency_up{name="${name}"} ${up}\n`)
    }
    expect(withoutNeeded.status).toBe(503)
    expect(await withoutNeeded.json()).toEqual({
      ok: false,
      dependencies: [...others, { ...there, ok: false, detail: 'connection refused' }],
    })
    await expect(fetch(`${api.apiUrl}/api/pools`)).rejects.toThrow('fetch failed')
  })

  test('answers until load balancers have seen that it ends', async () => {
    let seen = () => {}
    const api = await startedApi(harness, { untilUnused: () => new Promise<void>((resolve) => (seen = resolve)) })
    const ask = async () => {
      const ready = await fetch(`${api.internalUrl}/readyz`)
      const pools = await fetch(`${api.apiUrl}/api/pools`, { headers: { 'x-api-key': harness.tenant.key } })
      return [ready, pools].map(({ status, headers }) => [status, headers.get('connection')])
    }

    const before = await ask()
    const closing = api.close()
    const meanwhile = await ask()
    seen()
    await closing

    expect(before).toEqual([
      [200, 'keep-alive'],
      [200, 'keep-alive'],
    ])
    expect(meanwhile).toEqual([
      [503, 'close'],
      [200, 'close'],
    ])
    await expect(ask()).rejects.toThrow('fetch failed')
  })

  test('rejects with EADDRINUSE if a port is taken', async () => {
    const first = await startedApi(harness)

    const second = startedApi(harness, { internalPort: Number(new URL(first.internalUrl).port) })

    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await first.close()
  })

  test('answers bytes that are not HTTP with a problem', async () => {
    const api = await startedApi(harness)
    const socket = connectTo(Number(new URL(api.apiUrl).port), '127.0.0.1')

    socket.write('HELLO\r\n\r\n')
    const answer = await text(socket)
    await api.close()

    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('application/problem+json')
    expect(answer).toContain('"code":"invalid_request"')
  })

  test('answers 408 to a late body, later for files', async () => {
    const options = { store: harness.store, ...INTERNAL, dependencies: [], refusalLimit: 0 }
    const app = await buildInternal(options, { arrivalMs: 300, uploadMs: 60_000 })
    onTestFinished(() => app.close())
    const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
    const begin = (path: string) => {
      const socket = connectTo(Number(url.port), '127.0.0.1')
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${harness.operatorKey}\r\n` +
          `x-tenant-id: ${harness.tenant.id}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
      )
      return socket
    }

    const upload = begin('/internal/sims').resume()
    const ended = vi.fn()
    upload.on('close', ended)
    await text(begin('/internal/keys'))
    // Begins long after the upload has arrived, and is refused after it would be.
    const slow = await text(begin('/internal/keys'))

    expect(slow).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/)
    expect(slow).toContain('did not arrive in time')
    expect(ended).not.toHaveBeenCalled()
    upload.destroy()
  })

  test('sends nosniff and no-store with every response that may change', async () => {
    for (const path of ['/api/pools', '/api/none', '/problems/none', '/docs/', '/api/%zz']) {
      const { headers } = await harness.outside.inject(path)
      expect(headers, path).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
    }
  })
})
