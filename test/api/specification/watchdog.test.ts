/** Service document, sections 4.1 and 2.2. */
import { expect, test } from 'vitest'
import { useHarness } from '../harness.ts'
import { BAD_LOG_QUERIES, letters, logQueries, useLog } from './estate.ts'
import { expectLabels, expectPage, LOG_ENTRY } from './shape.ts'

const harness = useHarness()
const log = useLog(harness)

test('4.1 GET /api/watchdog/logs + 2.2 Watchdog log entry: lists entries with exactly their fields', async () => {
  const { status, body } = await harness.tenant.ask('GET', '/api/watchdog/logs')

  expect(status).toBe(200)
  expectPage(body, LOG_ENTRY)
  expect(body.data[2]).toEqual({
    id: expect.any(Number),
    simId: null,
    poolId: log.poolId,
    level: 0,
    message: 'b: 80 % of pool',
    date: '2026-11-20T00:00:00.000Z',
  })
})

test.each(logQueries('estate'))('4.1 GET /api/watchdog/logs: query ?%s finds %j', async (query, found) => {
  expect(letters((await harness.tenant.ask('GET', `/api/watchdog/logs?${query}`)).body)).toBe(found)
})

test('4.1 GET /api/watchdog/logs: filters by SIM, pool or both', async () => {
  const found = async (query: string) => letters((await harness.tenant.ask('GET', `/api/watchdog/logs?${query}`)).body)

  expect(await found(`simId=${log.simId}`)).toBe('ca')
  expect(await found(`poolId=${log.poolId}`)).toBe('cb')
  expect(await found(`simId=${log.simId}&poolId=${log.poolId}`)).toBe('c')
  expect(await found('simId=9007199254740991')).toBe('')
  expect(await found('poolId=9007199254740991')).toBe('')
})

const BAD_QUERIES: typeof BAD_LOG_QUERIES = [
  ...BAD_LOG_QUERIES,
  ['simId=0', 'simId'],
  ['simId=9007199254740992', 'simId'],
  ['poolId=x', 'poolId'],
]
test.each(BAD_QUERIES)('4.1 GET /api/watchdog/logs: ?%s is 400 and names %s', async (query, parameter) => {
  const answer = await harness.tenant.ask('GET', `/api/watchdog/logs?${query}`)

  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ parameter }] } })
})

test('4.1 GET /api/watchdog/metadata: has the codes of logLevel and mode only', async () => {
  expectLabels(await harness.tenant.ask('GET', '/api/watchdog/metadata'), {
    logLevel: { 0: 'Info', 1: 'Warning', 2: 'Critical' },
    mode: { 0: 'Disabled', 1: 'Monitor', 2: 'Enforce' },
  })
})
