/** Every route: with keys that must not open it and another tenant's, its entries in the audit trail, and sent twice. */
import { beforeAll, describe, expect, test } from 'vitest'
import { fingerprintOf, spyOn, tenantTables, useEstates } from '../full-tenant.ts'
import { LINES, OPERATIONS, type Operation } from './calls.ts'
import { isIdempotent, type Keys, opensToNobodyElse, someKeys } from './route-checks.ts'

const estates = useEstates()
const { harness } = estates
let keys: Keys

beforeAll(async () => {
  keys = await someKeys(harness)
})

describe('the estates', () => {
  test('have rows in every table of the tenants', async () => {
    for (const { id } of [harness.tenant, harness.other]) {
      const prints = await fingerprintOf(harness, id)
      expect((await tenantTables(harness)).filter((table) => prints[table]?.startsWith('0 '))).toEqual([])
    }
  })

  test('are shown to their own tenant only', async () => {
    const { ours, theirs } = estates
    const spy = await spyOn(ours)
    const outside = ['sims', 'pools', 'tariffs', 'orders', 'tickets', 'events', 'watchdog/logs', 'tenant']
    const inside = ['keys', 'audit', 'mails', 'bulk-tickets', 'exports/sims.csv', 'cycles/2026-10/statement']
    const pages = [...outside.map((page) => `/api/${page}`), ...inside.map((page) => `/internal/${page}`)]
    for (const page of pages) {
      const look = async ({ tenant }: typeof ours) => {
        const ask = page.startsWith('/api') ? tenant.ask : tenant.inside
        return spy(JSON.stringify((await ask('GET', page)).body), '')
      }

      expect(await look(ours), page).not.toEqual([])
      expect(await look(theirs), page).toEqual([])
    }
  })
})

test('every route has a line in LINES, and conversely', () => {
  const known = OPERATIONS.map(({ operationId }) => operationId)

  expect(known.filter((id) => !(id in LINES))).toEqual([])
  expect(Object.keys(LINES).filter((id) => !known.includes(id))).toEqual([])
})

const takesKey = ({ headers }: Operation) => headers.includes('Idempotency-Key')

test('every POST takes an Idempotency-Key or says why not, and nothing else does', () => {
  const faults = OPERATIONS.filter((operation) => {
    const mayTake = operation.method === 'POST' && LINES[operation.operationId]?.notOnce === undefined
    return takesKey(operation) !== mayTake
  })

  expect(faults.map(({ operationId }) => operationId)).toEqual([])
})

test('every change declares its audit entry or why none, and no read does', () => {
  const faults = OPERATIONS.filter(
    ({ method, operationId }) => (method === 'GET') !== (LINES[operationId]?.audit === undefined),
  )

  expect(faults.map(({ operationId }) => operationId)).toEqual([])
})

// Operations that need Temporal are tested in test/workflows/asks.test.ts.
const here = OPERATIONS.filter(({ operationId }) => LINES[operationId]?.asksTemporal !== true)

describe('routes', () => {
  test.each(here)('$method $path opens to its own keys only, and leaves its trail', async (operation) => {
    await opensToNobodyElse(estates, keys, operation)
  })
})

describe('Idempotency-Key', () => {
  test.each(here.filter(takesKey))('has one effect on $method $path', async (operation) => {
    await isIdempotent(estates, operation)
  })
})
