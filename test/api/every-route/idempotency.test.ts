/** `Idempotency-Key` on every POST. keys.test.ts tests the key itself. */
import { describe, expect, test } from 'vitest'
import { useEstates } from '../full-tenant.ts'
import { LINES, OPERATIONS } from './calls.ts'
import { isIdempotent } from './route-checks.ts'

const estates = useEstates()

const POSTS = OPERATIONS.filter(({ method }) => method === 'POST')
const takesKey = ({ headers }: (typeof OPERATIONS)[number]) => headers.includes('Idempotency-Key')

test('every POST takes an Idempotency-Key or says why not', () => {
  const without = POSTS.filter((operation) => !takesKey(operation)).map(({ operationId }) => operationId)

  expect(without.filter((id) => LINES[id]?.notOnce === undefined)).toEqual([])
  expect(POSTS.filter((operation) => takesKey(operation) && LINES[operation.operationId]?.notOnce)).toEqual([])
})

test('only POST takes an Idempotency-Key', () => {
  expect(OPERATIONS.filter((operation) => operation.method !== 'POST' && takesKey(operation))).toEqual([])
})

describe('Idempotency-Key', () => {
  // Operations that need Temporal are tested in test/workflows/asks.test.ts.
  const here = POSTS.filter(({ operationId }) => LINES[operationId]?.asksTemporal === undefined)
  test.each(here.filter(takesKey))('has one effect on $method $path', async (operation) => {
    await isIdempotent(estates, operation)
  })
})
