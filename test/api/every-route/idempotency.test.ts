/** `Idempotency-Key` on every POST. What the key itself does is in keys.test.ts. */
import { describe, expect, test } from 'vitest'
import { useEstates } from '../full-tenant.ts'
import { LINES, OPERATIONS } from './calls.ts'
import { isIdempotent } from './route-checks.ts'

const estates = useEstates()

const POSTS = OPERATIONS.filter(({ method }) => method === 'POST')
const takesKey = ({ headers }: (typeof OPERATIONS)[number]) => headers.includes('Idempotency-Key')

test('every POST takes one, or has a reason not to', () => {
  const without = POSTS.filter((operation) => !takesKey(operation)).map(({ operationId }) => operationId)

  expect(without.filter((id) => LINES[id]?.notOnce === undefined)).toEqual([])
  expect(POSTS.filter((operation) => takesKey(operation) && LINES[operation.operationId]?.notOnce)).toEqual([])
})

test('nothing but a POST takes one', () => {
  expect(OPERATIONS.filter((operation) => operation.method !== 'POST' && takesKey(operation))).toEqual([])
})

describe('under one key the same is done once, and something else is refused:', () => {
  // Those that ask Temporal: test/workflows/asks.test.ts.
  const here = POSTS.filter(({ operationId }) => LINES[operationId]?.asksTemporal === undefined)
  test.each(here.filter(takesKey))('$method $path', async (operation) => {
    await isIdempotent(estates, operation)
  })
})
