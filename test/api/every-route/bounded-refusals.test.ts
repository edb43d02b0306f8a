/** What a refused request costs in bytes, whatever is sent, and what it never leaves in the log. */
import { beforeEach, describe, expect, test } from 'vitest'
import { sealLink } from '../../../domain/channels/link.ts'
import { createLog } from '../../../process/create-log.ts'
import { linkKey } from '../../../service/channels/rows/link-key.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { cases, drawn } from '../../setup/cases.ts'
import { aSim, useHarness } from '../harness.ts'
import { fill, LISTENERS, type Listener, PATHS, type Paths, sample } from './samples.ts'

const MOST_LOG = 8 * 1024
const MOST_ANSWER = 32 * 1024

const lines: string[] = []
const logger = createLog({ LOG_LEVEL: 'debug' }, 'api', { write: (line) => void lines.push(line) })
const harness = useHarness({ logger, checkAnswers: false })
beforeEach(() => void lines.splice(0))

interface Sent {
  readonly method: string
  readonly url: string
  readonly headers?: Record<string, string>
  readonly payload?: string
}

const LONG = 15_000
/** Longest parameter of a path that reaches its route. */
const PARAMETER = 1000
/** In UTF-8 up to four bytes a sign, in JSON up to six. */
const SIGNS = ['a', '9', '"', '\\', '\u0001', '💩', '/'] as const
const repeated = (sign: string, bytes: number) => sign.repeat(Math.floor(bytes / Buffer.byteLength(sign)))
const encoded = (sign: string, length: number) => {
  const code = encodeURIComponent(sign)
  return code.repeat(Math.floor(length / code.length))
}

const keyOf = (listener: Listener) => (listener === 'outside' ? harness.tenant.key : harness.operatorKey)
const asOurs = (listener: Listener): Record<string, string> => ({
  authorization: `Bearer ${keyOf(listener)}`,
  ...(listener === 'inside' && { 'x-tenant-id': harness.tenant.id }),
})

/** Sends a request. @returns its id, and the bytes of the answer if it was refused */
async function ask(listener: Listener, { method, url, headers = asOurs(listener), payload }: Sent) {
  const body = payload === undefined ? {} : { payload }
  const answer = await harness[listener].inject({ method: method as 'GET', url, headers, ...body })
  const head = Buffer.byteLength(JSON.stringify(answer.headers))
  return {
    id: String(answer.headers['x-request-id']),
    status: answer.statusCode,
    bytes: answer.statusCode < 400 ? 0 : head + Buffer.byteLength(answer.rawPayload),
    body: answer.body,
  }
}

/** Bytes of the lines of a request, by its id. */
function linesOf(): Map<string, number> {
  const bytes = new Map<string, number>()
  for (const line of lines) {
    const { reqId } = JSON.parse(line) as { reqId: string }
    bytes.set(reqId, (bytes.get(reqId) ?? 0) + Buffer.byteLength(line))
  }
  return bytes
}

/** At a time: some routes ask a Temporal server that is away, and wait. */
const AT_ONCE = 20

/** @returns what was too long in answer or log, and how many were refused */
async function look(listener: Listener, requests: Iterable<Sent>) {
  const answers: { readonly what: string; readonly id: string; readonly bytes: number }[] = []
  const iterator = requests[Symbol.iterator]()
  const send = async () => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
      const { method, url, payload } = next.value
      const { id, status, bytes } = await ask(listener, next.value)
      answers.push({ id, bytes, what: `${method} ${url.slice(0, 60)} ${payload?.slice(0, 40) ?? ''}: ${status}` })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  // The last line is written after the answer.
  await new Promise(setImmediate)
  const log = linesOf()
  const tooLong = answers.flatMap(({ what, id, bytes }) => [
    ...(bytes > MOST_ANSWER ? [`${what}, ${bytes} of answer`] : []),
    ...((log.get(id) ?? 0) > MOST_LOG ? [`${what}, ${log.get(id)} of log`] : []),
  ])
  return { tooLong, refused: answers.filter(({ bytes }) => bytes > 0).length, logged: log.size }
}

const HEADERS = [
  ['authorization', 'x-api-key', 'x-tenant-id', 'x-request-id', 'idempotency-key', 'if-match', 'if-none-match'],
  ['simherd-workflow', 'traceparent', 'content-type', 'content-encoding', 'accept'],
].flat()
const JSON_TYPE = { 'content-type': 'application/json' }

/** Requests to one operation that are long in each of their parts. */
function* longRequests(
  listener: Listener,
  method: string,
  path: string,
  operation: Paths[string][string],
): Generator<Sent> {
  const url = fill(path, '1')
  const ours = asOurs(listener)
  yield { method, url: fill(path, encoded('"', LONG)), headers: {} }
  if (path.includes('{')) {
    for (const sign of SIGNS) yield { method, url: fill(path, encoded(sign, PARAMETER)) }
    yield { method, url: fill(path, encoded('a', LONG)) }
  }
  for (const { in: place, name } of operation?.parameters ?? []) {
    if (place === 'query') yield { method, url: `${url}?${name}=${encoded(name.length % 2 === 0 ? '9' : '"', LONG)}` }
  }
  yield { method, url: `${url}?${encoded('n', LONG)}=1&page=${encoded('x', 1000)}` }
  yield { method, url, headers: { ...ours, 'x-tenant-id': repeated('"', 10_000) } }
  yield { method, url, headers: { ...ours, 'simherd-workflow': repeated('%01', 10_000) } }
  const content = operation?.requestBody?.content ?? {}
  for (const type of Object.keys(content).filter((type) => type !== 'application/json')) {
    const headers = { ...ours, 'content-type': type }
    yield { method, url, headers, payload: repeated('"', 30_000) }
    yield { method, url, headers, payload: `${repeated('n', 30_000)},${repeated('m,', 30_000)}\n1,2,3\n` }
    yield { method, url, headers, payload: `{"${repeated('n', 60_000)}":1}\n`.repeat(3) }
  }
  const schema = content['application/json']?.schema
  if (schema === undefined) return
  const headers = { ...ours, ...JSON_TYPE }
  const send = (body: unknown) => ({ method, url, headers, payload: JSON.stringify(body) })
  const fitting = sample(schema) as object
  yield send({ ...fitting, [repeated('\u0001', 100_000)]: 1 })
  yield send(Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`${n}${repeated('💩', 2000)}`, n])))
  yield { method, url, headers: { ...ours, 'content-type': repeated('x/', 10_000) }, payload: '{}' }
  yield { method, url, headers, payload: `{"${repeated('"', 10_000)}` }
  for (const [n, [name, field]] of Object.entries(schema.properties ?? {}).entries()) {
    yield send({ ...fitting, [name]: repeated(SIGNS[n % SIGNS.length] ?? 'a', 50_000) })
    if ([field.type ?? []].flat().includes('array')) {
      const item = field.items === undefined ? repeated('a', 100) : sample(field.items)
      yield send({ ...fitting, [name]: Array.from({ length: 500 }, () => ({ [repeated('i', 500)]: 1 })) })
      yield send({ ...fitting, [name]: Array.from({ length: 2000 }, () => item) })
      yield send({ ...fitting, [name]: Array.from({ length: 500 }, (_, n) => `${n}${repeated('\u0001', 300)}`) })
    }
  }
}

function* everyOperation(listener: Listener): Generator<Sent> {
  for (const [path, item] of Object.entries(PATHS[listener])) {
    for (const [name, operation] of Object.entries(item)) {
      yield* longRequests(listener, name.toUpperCase(), path, operation)
    }
    yield { method: 'PROPFIND', url: fill(path, encoded('a', PARAMETER)) }
  }
}

describe('a refused request costs at most 8 KB of log and 32 KB of answer', () => {
  test.each(LISTENERS)('on every route: %s', async (listener) => {
    await aSim(harness.tenant)
    const { tooLong, refused, logged } = await look(listener, drawn(everyOperation(listener)))

    expect(tooLong).toEqual([])
    expect(Math.min(refused, logged)).toBeGreaterThan(cases(listener === 'outside' ? 300 : 1000))
  })

  test.each(LISTENERS)('on paths that are not there: %s', async (listener) => {
    const folders = ['api', 'internal', 'docs', 'n', 'problems', 'openapi.json', 'readyz', 'metrics']
    const places = ['/', '/%zz', ...folders.map((name) => `/${name}/`)]
    const urls = places.flatMap((place) => SIGNS.map((sign) => `${place}${encoded(sign, LONG)}`))
    const requests = ['GET', 'POST', 'DELETE', 'OPTIONS'].flatMap((method) =>
      urls.map((url) => ({ method, url, headers: {} })),
    )
    const { tooLong, refused, logged } = await look(listener, requests)

    expect(tooLong).toEqual([])
    expect(Math.min(refused, logged)).toBeGreaterThan(200)
  })

  test.each(LISTENERS)('with long headers: %s', async (listener) => {
    const url = listener === 'outside' ? '/api/pools' : '/internal/silences'
    const requests = HEADERS.flatMap((name) =>
      ['a', '"', ' b', ',"1"'].flatMap((sign) =>
        ['GET', 'POST'].map((method) => ({
          method,
          url,
          headers: { ...asOurs(listener), ...JSON_TYPE, [name]: repeated(sign, 10_000).trim() },
          ...(method === 'POST' && { payload: '{}' }),
        })),
      ),
    )

    expect((await look(listener, requests)).tooLong).toEqual([])
  })

  test('with a field name of a megabyte', async () => {
    const { id } = await aSim(harness.tenant)
    lines.splice(0)
    const url = `/api/sims/${id}/tag`
    const headers = { ...asOurs('outside'), ...JSON_TYPE }
    const payload = JSON.stringify({ tag: 'a', [`first${repeated('n', 1_000_000)}last`]: 1 })

    const { status, body, bytes } = await ask('outside', { method: 'PATCH', url, headers, payload })

    expect(status).toBe(400)
    const { detail, errors } = JSON.parse(body)
    expect(detail).toMatch(/^\/firstn+…n+last is not a field of this request\.$/)
    expect(errors).toEqual([
      { pointer: expect.stringMatching(/^\/firstn+…n+last$/), detail: 'is not a field of this request' },
    ])
    expect(bytes).toBeLessThan(4000)
    expect(lines.join('').length).toBeLessThan(4000)
  })

  test('and says how many fields it does not name', async () => {
    const sims = Array.from({ length: 1000 }, (_, n) => ({ simId: 90_000_000 + n }))
    const { status, body } = await ask('inside', {
      method: 'POST',
      url: '/internal/workflows/provision-in-bulk',
      headers: { ...asOurs('inside'), ...JSON_TYPE },
      payload: JSON.stringify({ sims, defaults: null }),
    })

    const { detail, errors } = JSON.parse(body)
    expect(status, body).toBe(422)
    expect(errors.length).toBeGreaterThan(100)
    expect(detail).toMatch(new RegExp(` The first ${errors.length} of 1000 are in errors\\.$`))
  })
})

describe('the log has no key and no token, wherever they are sent', () => {
  /** The secret parts. */
  const secrets = (...given: string[]) => given.map((secret) => secret.slice(-43))
  const found = (secret: string[]) => lines.filter((line) => secret.some((part) => line.includes(part)))

  test('a key', async () => {
    const { key } = harness.tenant
    const urls = [
      `/api/pools?key=${key}`,
      `/api/sims?poolId=${key}`,
      `/api/sims/${key}`,
      `/api/tickets/${key}`,
      `/nothing/${key}`,
      `/nothing?key=${key}`,
      `/${key.replaceAll('_', '%5F')}`,
      `/%zz/${key}`,
      `/problems/${key}`,
      `/openapi.json/${key}`,
    ]
    for (const url of urls) for (const method of ['GET', 'POST', 'OPTIONS']) await ask('outside', { method, url })
    const names = ['x-request-id', 'x-tenant-id', 'idempotency-key', 'if-match', 'simherd-workflow', 'content-type']
    for (const name of names) {
      for (const listener of LISTENERS) {
        const url = listener === 'outside' ? '/api/pools' : '/internal/silences'
        const headers = { ...asOurs(listener), ...JSON_TYPE, [name]: key }
        expect((await ask(listener, { method: 'POST', url, headers, payload: '{}' })).id).not.toBe(key)
      }
    }
    const headers = { ...asOurs('outside'), ...JSON_TYPE }
    for (const body of [{ [key]: 1 }, { name: key }, { key }, { tariffId: key }]) {
      await ask('outside', { method: 'POST', url: '/api/pools', headers, payload: JSON.stringify(body) })
    }
    await new Promise(setImmediate)

    expect(lines.length).toBeGreaterThan(40)
    expect(found(secrets(key))).toEqual([])
    // Its id stays: it says whose key it was.
    expect(lines.join('')).toContain(`sim_${key.split('_')[1]}_…`)
  })

  test("the token of a mail's link", async () => {
    const signing = await inPlatform(harness.store, linkKey)
    const token = sealLink(signing, { purpose: 'unsubscribe', tenantId: harness.tenant.id }, harness.now + 86_400_000)
    const asWritten = ['/n/T', '/n/T/', '/n/T/more', '/n/T?T', '/n/xT', '/n/T.']
    const paths = [...asWritten, '//n/T', '/n//T', '/N/T', '/n%2FT', '/%6E/T', '/api/n/T', '/T']
    for (const path of paths) {
      for (const method of ['GET', 'OPTIONS', 'DELETE', 'PUT', 'PATCH', 'POST'])
        await ask('outside', { method, url: path.replaceAll('T', token), headers: {} })
    }
    await ask('inside', { method: 'GET', url: `/n/${token}/` })
    await ask('outside', { method: 'GET', url: '/api/pools', headers: { ...asOurs('outside'), 'x-request-id': token } })
    await new Promise(setImmediate)

    expect(lines.length).toBeGreaterThan(30)
    expect(found(secrets(token))).toEqual([])
    expect(lines.join('')).toContain('There is no /n/…')
  })
})
