/** What the log says of a request. */
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { RunningApi } from '../../../api/main.ts'
import { aSim, startedApi, useHarness } from '../harness.ts'

const harness = useHarness()
const lines: string[] = []
let api: RunningApi

beforeAll(async () => {
  const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  api = await startedApi(harness, { logger })
})
afterAll(() => api.close())
beforeEach(() => void lines.splice(0))

/** The lines that end requests, without the fields of every line. */
const ended = (): object[] =>
  lines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'request')
    .map(({ time, pid, hostname, msg, ...line }) => line)

const ask = (
  path: string,
  { key = harness.tenant.key, trace = '', body }: { key?: string; trace?: string; body?: object } = {},
) =>
  fetch(api.apiUrl + path, {
    headers: {
      authorization: `Bearer ${key}`,
      'x-request-id': 'find-me',
      'content-type': 'application/json',
      ...(trace !== '' && { traceparent: `00-${trace}-b7ad6b7169203331-01` }),
    },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
const keyId = () => harness.tenant.key.split('_')[1] ?? ''
/** Of a read of pools, at level info. */
const LINE = { level: 30, reqId: 'find-me', method: 'GET', route: '/api/pools', ms: expect.any(Number) }

describe('a request is one line', () => {
  test('that names method, route, status, time, tenant, key and trace', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c'
    await ask('/api/pools?page=1', { trace })

    expect(ended()).toEqual([{ ...LINE, status: 200, tenant: harness.tenant.id, keyId: keyId(), trace }])
    expect(lines.join('')).not.toContain(harness.tenant.key.slice(-43))
  })

  test('that says why it was refused without a key', async () => {
    await ask('/api/pools', { key: 'nobodys' })

    expect(ended()).toEqual([{ ...LINE, status: 401, code: 'unauthorized', detail: expect.any(String) }])
    expect(lines).toHaveLength(1)
  })

  test('that says what it conflicts with', async () => {
    const { id } = await aSim(harness.tenant)
    await ask('/api/tickets/suspend', { body: { simId: id } })

    const line = { method: 'POST', route: '/api/tickets/suspend', status: 409, code: 'sim_state_conflict' }
    expect(ended()).toMatchObject([{ ...line, tenant: harness.tenant.id }])
    expect(lines).toHaveLength(1)
  })

  test('beside the error, if the service failed', async () => {
    await sql`revoke select on pools from simherd_tenant`.execute(harness.root)
    onTestFinished(async () => {
      await sql`grant select on pools to simherd_tenant`.execute(harness.root)
    })
    await ask('/api/pools')

    const line = { status: 500, route: '/api/pools', tenant: harness.tenant.id, code: 'internal_error' }
    expect(ended()).toMatchObject([line])
    expect(lines.filter((line) => line.includes('permission denied'))).toHaveLength(1)
    expect(lines).toHaveLength(2)
  })

  test('of a path that is not there', async () => {
    await ask('/nothing')

    expect(ended()).toMatchObject([{ status: 404, code: 'not_found' }])
  })

  test('at debug, for what a monitor or a page asks every few seconds, unless it is refused', async () => {
    await fetch(`${api.internalUrl}/readyz`)
    await fetch(`${api.internalUrl}/metrics`)
    const status = (key: string) =>
      fetch(`${api.internalUrl}/internal/status`, {
        headers: { authorization: `Bearer ${key}`, 'x-tenant-id': harness.tenant.id },
      })
    await status(harness.operatorKey)
    await status(harness.tenant.key)

    expect(ended()).toMatchObject([
      { level: 20, route: '/readyz' },
      { level: 20, route: '/metrics' },
      { level: 20, route: '/internal/status', status: 200 },
      { level: 30, route: '/internal/status', status: 403 },
    ])
  })
})
