/** Every route with every key that must not open it, and with another tenant's key. */
import { beforeAll, describe, expect, test } from 'vitest'
import { fingerprintOf, spyOn, tenantTables, useEstates } from '../full-tenant.ts'
import { LINES, lineOf, OPERATIONS } from './calls.ts'
import { type Keys, opensToNobodyElse, someKeys } from './route-checks.ts'

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

describe('routes', () => {
  const here = OPERATIONS.filter((operation) => LINES[operation.operationId]?.asksTemporal !== true)
  test.each(here)('$method $path opens to its own keys only', async (operation) => {
    lineOf(operation)
    await opensToNobodyElse(estates, keys, operation)
  })
})
