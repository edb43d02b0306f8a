/** Long answers: sent as the client takes them, ended with it, and broken off where they fail. */
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect as connectTo, type Socket } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type AppOptions, buildApp } from '../../../api/http/app.ts'
import { MOST_UNDER_WAY, sendArray } from '../../../api/http/streaming.ts'
import { keysetPages } from '../../../store/keyset-pages.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { soon, until } from '../../setup/soon.ts'
import { openConnections, useHarness } from '../harness.ts'

const harness = useHarness()

/** An application whose path `/` sends these pages. */
function anApp(pages: () => AsyncGenerator<unknown[]>, options: AppOptions = {}) {
  const app = buildApp(options)
  onTestFinished(() => app.close())
  app.decorateRequest('keyId', 'a key')
  app.get('/', (_request, reply) => sendArray(reply, pages()))
  return app
}

/** Pages of a MiB without an end, read in transactions of their own, and how many were begun and have ended. */
function anEndlessList() {
  const seen = { begun: 0, pages: 0, ended: 0 }
  async function* pages() {
    seen.begun += 1
    try {
      yield* keysetPages(harness.store, harness.tenant.id, async (tx, after: number | null) => {
        const { rows } = await sql`select repeat('x', 1048576) as text`.execute(tx.q)
        seen.pages += 1
        return { items: rows, next: (after ?? 0) + 1 }
      })
    } finally {
      seen.ended += 1
    }
  }
  return { seen, pages }
}

/** A client that asks and reads nothing. */
async function aClient(url: string): Promise<Socket> {
  const { port } = new URL(url)
  const socket = connectTo(Number(port), '127.0.0.1').pause()
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  return socket
}

test('ends the connection of a client that never reads', async () => {
  const { seen, pages } = anEndlessList()
  const app = anApp(pages, { takingMs: 500 })
  await aClient(await app.listen({ host: '127.0.0.1', port: 0 }))

  await until('the list has ended', () => seen.ended === 1)

  // What the operating system keeps for both ends, and a page on each side of Node's stream.
  expect(seen.pages).toBeLessThan(32)
  await soon(async () => expect(await openConnections(app)).toBe(0))
})

test('holds no connection of the database for clients that do not read, and ends with them', async () => {
  const { seen, pages } = anEndlessList()
  const app = anApp(pages)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  // One more than the connections that there are.
  const clients = await Promise.all(Array.from({ length: 6 }, () => aClient(url)))
  await until('all lists have begun', () => seen.begun === 6 && seen.pages >= 6)

  const { status } = await harness.tenant.ask('GET', '/api/tenant')
  for (const client of clients) client.destroy()

  expect(status).toBe(200)
  await soon(() => expect(seen.ended).toBe(6))
})

test('gives a handler its time on a connection that had an answer before', async () => {
  const app = buildApp({ takingMs: 100 })
  onTestFinished(() => app.close())
  app.get('/slow', async () => sleep(400, { done: true }))
  const connections = vi.fn()
  app.server.on('connection', connections)
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/slow`

  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const ask = async () => {
    const [response] = await once(get(url, { agent }), 'response')
    return json(response)
  }

  const answers = [await ask(), await ask()]

  expect(answers).toEqual([{ done: true }, { done: true }])
  expect(connections).toHaveBeenCalledTimes(1)
})

test('ends a list whose client has gone before its first page', async () => {
  const { promise: goOn, resolve: letGoOn } = Promise.withResolvers<void>()
  const { seen, pages } = anEndlessList()
  const isAsked = vi.fn()
  const app = anApp(async function* () {
    isAsked()
    await goOn
    yield* pages()
  })
  const client = await aClient(await app.listen({ host: '127.0.0.1', port: 0 }))
  await until('the list is asked for', () => isAsked.mock.calls.length === 1)

  client.destroy()
  await until('the service has noticed', async () => (await openConnections(app)) === 0)
  letGoOn()

  await soon(() => expect(seen).toEqual({ begun: 1, pages: 1, ended: 1 }))
})

test('breaks off an answer whose next page fails', async () => {
  const app = anApp(async function* () {
    yield [1, 2]
    yield [3]
    await inTenant(harness.store, harness.tenant.id, (tx) => sql`select 1 / 0`.execute(tx.q))
  })
  const response = await fetch(await app.listen({ host: '127.0.0.1', port: 0 }))

  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow('terminated')
})

test('answers a problem where the first page fails', async () => {
  const app = anApp(async function* () {
    await inTenant(harness.store, harness.tenant.id, (tx) => sql`select 1 / 0`.execute(tx.q))
    yield []
  })

  const answer = await app.inject('/')

  expect(answer.statusCode).toBe(500)
  expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
})

test('reads a single page for HEAD', async () => {
  const { seen, pages } = anEndlessList()

  const answer = await anApp(pages).inject({ method: 'HEAD', url: '/' })

  expect([answer.statusCode, answer.body]).toEqual([200, ''])
  await soon(() => expect(seen).toEqual({ begun: 1, pages: 1, ended: 1 }))
})

test('refuses a key that has as many long answers under way as it may', async () => {
  const { promise: goOn, resolve: letGoOn } = Promise.withResolvers<void>()
  let begun = 0
  const app = anApp(async function* () {
    begun += 1
    yield ['first']
    await goOn
    yield ['last']
  })
  const ask = () => app.inject('/')
  const answers = Array.from({ length: MOST_UNDER_WAY }, ask)
  await until('all have begun', () => begun === MOST_UNDER_WAY)

  const refused = await ask()
  letGoOn()

  expect(refused.statusCode).toBe(429)
  expect(refused.headers['retry-after']).toBe('5')
  expect(refused.json()).toMatchObject({
    code: 'quota_exceeded',
    detail: 'This key has 100 long answers under way, as many as it may: read them to their end, or close them.',
  })
  for (const answer of await Promise.all(answers)) expect(answer.body).toBe('["first","last"]')
  await soon(async () => expect((await ask()).statusCode).toBe(200))
})
