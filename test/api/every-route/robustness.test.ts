import { expect, test } from 'vitest'
import { drawn } from '../../setup/cases.ts'
import { type Ask, aSim, useHarness } from '../harness.ts'
import { fill, LISTENERS, PATHS, type Paths, sample } from './samples.ts'

const harness = useHarness()

const SEGMENTS = [
  '0',
  '-1',
  '1',
  '1.5',
  '1e3',
  '0x10',
  '2147483648',
  '9007199254740993',
  '%00',
  '0000-01-01',
  '0000-01-01T00:00:00Z',
  '2026-11-31T00:00:00Z',
  '%ED%A0%80',
  '%F0%9F%92%A9',
  "'--",
  'null',
  '..%2F..',
]
const VALUES = [
  null,
  true,
  -1,
  0,
  1.5,
  2 ** 31,
  2 ** 53,
  1e300,
  '2016-12-31T23:59:60Z',
  '0000-01-01T00:00:00Z',
  '2026-11-31T00:00:00Z',
  '2026-11-20T12:00:00+05',
  '',
  '1',
  "'; drop table sims --",
  '\u0000',
  'half \ud800',
  '\udc00',
  '💩'.repeat(2000),
  [],
  {},
  [1],
]
// Operations that need Temporal are tested with a Temporal server.
const ELSEWHERE = /workflows|schedules/

type Sent = readonly [method: string, url: string, body?: unknown]

/** @returns the requests that got 500 or worse, or neither JSON nor CSV */
async function failuresOf(ask: Ask, requests: Iterable<Sent>): Promise<string[]> {
  const failures: string[] = []
  for (const [method, url, body] of requests) {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await ask(method, url, body === undefined ? undefined : JSON.stringify(body), headers)
    const isRead = /json|csv/.test(answer.headers['content-type'] ?? '')
    if (answer.status >= 500 || !isRead)
      failures.push(`${method} ${url} ${JSON.stringify(body)?.slice(0, 100)}: ${answer.status}`)
  }
  return failures
}

/** Requests to each operation, with what does not fit in each of their parts. */
function* hostileRequests(paths: Paths): Generator<Sent> {
  for (const [path, item] of Object.entries(paths)) {
    if (ELSEWHERE.test(path) || !/^\/(api|internal)/.test(path)) continue
    for (const [name, operation] of Object.entries(item)) {
      const method = name.toUpperCase()
      if (path.includes('{'))
        for (const segment of SEGMENTS) yield [method, fill(path, segment), method === 'GET' ? undefined : {}]
      const filters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
      for (const filter of filters) {
        for (const segment of SEGMENTS) yield [method, `${fill(path, '1')}?${filter.name}=${segment}`]
      }
      const body = operation.requestBody?.content['application/json']?.schema
      if (body === undefined) continue
      const fitting = sample(body)
      for (const value of [fitting, ...VALUES]) yield [method, fill(path, '1'), value]
      for (const field of Object.keys(body.properties ?? {})) {
        for (const value of VALUES) yield [method, fill(path, '1'), { ...(fitting as object), [field]: value }]
      }
    }
  }
}

test.each(LISTENERS)('no request makes the listener fail: %s', async (listener) => {
  await aSim(harness.tenant)
  const ask = listener === 'outside' ? harness.tenant.ask : harness.tenant.inside

  expect(await failuresOf(ask, drawn(hostileRequests(PATHS[listener])))).toEqual([])
})

test.each([
  [' \t\r\n', 200],
  ['\f', 400],
  ['\v', 400],
  ['\u00a0', 400],
  ['\ufeff', 200],
  ['\ufeff\ufeff', 400],
])('white space %j as a body answers %i', async (body, status) => {
  const { id } = await aSim(harness.tenant)
  const headers = { 'content-type': 'application/json' }

  expect((await harness.tenant.inside('PATCH', `/internal/sims/${id}/watchdog`, body, headers)).status).toBe(status)
  const cancelled = await harness.tenant.inside('DELETE', `/internal/sims/${id}/queued-change`, body, headers)
  expect(cancelled.status === 400).toBe(status === 400)
})
