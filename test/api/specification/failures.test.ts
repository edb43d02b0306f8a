/** Failures on the service document's paths. Section 7 leaves them open, so all are problems of one form. */
import { describe, expect, test } from 'vitest'
import { buildPublic } from '../../../api/server.ts'
import { connect } from '../../../store/connect.ts'
import { aPool, aSim, asking, useHarness } from '../harness.ts'
import { NO_TICKET } from './estate.ts'
import { SECTIONS } from './rows.ts'

const harness = useHarness()

/** The methods of each path of the service document. `{id}` and `{iccid}` of a SIM are one path. */
const PATHS = new Map<string, Set<string>>()
for (const name of SECTIONS.flatMap(({ rows }) => Object.keys(rows))) {
  const [, method, path] = /^4\.\d (\w+) (\/\S+)$/.exec(name) ?? []
  if (method === undefined || path === undefined) continue
  const shown = path.replace('{iccid}', '{id}')
  PATHS.set(shown, (PATHS.get(shown) ?? new Set()).add(method))
}
const filled = (path: string) => path.replace(/\{\w+\}/, path.includes('tickets') ? NO_TICKET : '4711000')

/** What no response may show: SQL, a stack, a file of the service, a table. */
const INNER =
  /\bselect\b.*\bfrom\b|\binsert into\b|node_modules|\.ts\b|\bat \w+ \(|\/work|\/home|postgres|kysely|constraint "/i

function expectProblem(answer: { status: number; headers: Record<string, string>; body: object }, code: string) {
  expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  const fields = ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId']
  expect(Object.keys(answer.body).filter((field) => field !== 'errors')).toEqual(fields)
  const { status, headers } = answer
  expect(answer.body).toMatchObject({ type: `/problems/${code}`, status, code, requestId: headers['x-request-id'] })
  expect(JSON.stringify(answer.body)).not.toMatch(INNER)
}

test('a problem has exactly its fields', async () => {
  const named = { 'x-request-id': 'my-request' }
  const { body } = await harness.tenant.ask('GET', '/api/pools/4711?page=2', undefined, named)

  expect(body).toEqual({
    type: '/problems/pool_not_found',
    title: 'Pool not found',
    status: 404,
    detail: 'There is no pool 4711.',
    instance: '/api/pools/4711',
    code: 'pool_not_found',
    requestId: 'my-request',
  })
})

describe('every path', () => {
  test.each([...PATHS])('%s answers 405 and Allow to other methods', async (path, methods) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
      if (methods.has(method)) continue
      const answer = await harness.tenant.ask(method, filled(path))

      expect(answer.status, method).toBe(405)
      expectProblem(answer, 'method_not_allowed')
      const allowed = new Set(answer.headers.allow?.split(', '))
      expect(allowed).toEqual(new Set([...methods, ...(methods.has('GET') ? ['HEAD'] : [])]))
    }
  })

  const READ = [...PATHS.keys()].filter((path) => PATHS.get(path)?.has('GET'))
  test.each(READ)('%s answers HEAD like GET without a body', async (path) => {
    const { status, headers } = await harness.tenant.ask('GET', filled(path))
    const head = await harness.tenant.ask('HEAD', filled(path))

    expect([head.status, head.body, head.headers['content-type']]).toEqual([status, '', headers['content-type']])
  })
})

describe('an id in a path', () => {
  const BODIES: Readonly<Record<string, object>> = {
    'PUT /api/pools/{id}': { name: 'Fleet', watchdogMode: 0 },
    'PATCH /api/sims/{id}/tag': { tag: 'x' },
  }
  // A SIM is found by its ICCID too, and the ids of tickets are no numbers.
  const numbered = [...PATHS].filter(([path]) => path.includes('{') && !/tickets|sims\/\{id\}$/.test(path))

  test.each(numbered)('of %s is a number that is there', async (path, methods) => {
    const [parameter = ''] = /\w+(?=\})/.exec(path) ?? []
    const [, noun = ''] = /^\/api\/(\w+)s\//.exec(path) ?? []
    for (const method of methods) {
      const ask = (id: string) => harness.tenant.ask(method, path.replace(/\{\w+\}/, id), BODIES[`${method} ${path}`])
      for (const id of ['4711000', '99999999999']) {
        expect(await ask(id), method).toMatchObject({ status: 404, body: { code: `${noun}_not_found` } })
      }
      for (const id of ['9007199254740992', '8944500102198304826', '0', '1.5', 'abc']) {
        expect(await ask(id), method).toMatchObject({ status: 400, body: { errors: [{ parameter }] } })
      }
    }
  })
})

test.each([
  '/api',
  '/api/',
  '/api/nothing',
  '/api/order',
  '/api/orders/1/nothing',
  '/api/pools/1/',
  '/API/pools',
  '/v1/api/pools',
  '/problems/toString',
])('%s is no path and answers 404', async (path) => {
  const answer = await harness.tenant.ask('GET', path)

  expect(answer.status).toBe(404)
  expectProblem(answer, 'not_found')
})

test('a path that cannot be decoded or a query with a NUL character answers 400', async () => {
  for (const path of ['sims/%zz', 'sims?search=a%00b', 'events?searchTerm=%00', 'orders?search=%00']) {
    const answer = await harness.tenant.ask('GET', `/api/${path}`)
    expect(answer.status, path).toBe(400)
    expectProblem(answer, 'invalid_request')
  }
})

test('query parameters are read as their types', async () => {
  const id = await aPool(harness.tenant)
  await aSim(harness.tenant)

  const plain = await harness.tenant.ask('GET', '/api/sims?status=0&page=1&pageSize=100')
  const padded = await harness.tenant.ask('GET', '/api/sims?status=00&page=01&pageSize=1e2')
  const unknown = await harness.tenant.ask('GET', `/api/pools/${id}/sims?colour=red`)

  expect(plain.status).toBe(200)
  expect(padded.body).toEqual(plain.body)
  expect(unknown.status).toBe(200)
})

test.each([
  [400, 'invalid_request', 'POST', '/api/pools', { type: 9 }, {}],
  [404, 'sim_not_found', 'POST', '/api/tickets/activate', { simId: 4_711_000 }, {}],
  [409, 'ticket_not_pending', 'DELETE', '/api/tickets/{ended}', undefined, {}],
  [412, 'precondition_failed', 'PATCH', '/api/tenant/name', { name: 'Ours' }, { 'if-match': '"0"' }],
  [413, 'payload_too_large', 'PATCH', '/api/tenant/name', { name: 'x'.repeat(1_100_000) }, {}],
  [415, 'unsupported_media_type', 'PATCH', '/api/tenant/name', '<name/>', { 'content-type': 'text/xml' }],
  [422, 'idempotency_key_reused', 'POST', '/api/orders', { type: 1, quantity: 2 }, { 'idempotency-key': 'used' }],
] as const)('a problem %i %s shows nothing of the inside', async (status, code, method, path, body, headers) => {
  const { id: simId } = await aSim(harness.tenant)
  const { body: ticket } = await harness.tenant.ask('POST', '/api/tickets/provision', { simId })
  await harness.tenant.ask('DELETE', `/api/tickets/${ticket.id}`)
  await harness.tenant.ask('POST', '/api/orders', { type: 1, quantity: 1 }, { 'idempotency-key': 'used' })

  const answer = await harness.tenant.ask(method, path.replace('{ended}', ticket.id), body, headers)

  expect(answer.status).toBe(status)
  expectProblem(answer, code)
})

test('a 500 shows neither SQL nor a stack', async () => {
  const broken = harness.store.clock
  Object.assign(harness.store, {
    clock: () => {
      throw new Error('select secret from api_keys at file.ts')
    },
  })
  const answer = await harness.tenant.ask('GET', '/api/pools', undefined, { 'x-request-id': 'bad id with spaces' })
  Object.assign(harness.store, { clock: broken })

  expect(answer.status).toBe(500)
  expectProblem(answer, 'internal_error')
  expect(answer.headers['x-request-id']).not.toBe('bad id with spaces')
})

test('an unreachable database answers 503 with Retry-After', async () => {
  const { db, close } = connect('postgresql://nobody@127.0.0.1:1/nothing', { max: 1 })
  const app = await buildPublic({ store: { ...harness.store, db } })

  const answer = await asking(app, { authorization: `Bearer ${harness.tenant.key}` })('GET', '/api/pools')
  await Promise.all([app.close(), close()])

  expect(answer.status).toBe(503)
  expectProblem(answer, 'unavailable')
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
})
