/** Every route gets a hundred requests of one tenant at once, and another tenant asks for something meanwhile. */
import { describe, expect, test } from 'vitest'
import { useEstates } from '../full-tenant.ts'
import { LINES, lineOf, OPERATIONS, urlOf } from './calls.ts'

const estates = useEstates()
const CROWD = 100

/** An operator's requests about the platform: no tenant's key can send them. */
const OF_THE_PLATFORM = [
  'listKeys',
  'createKey',
  'rotateKey',
  'revokeKey',
  'listSessions',
  'endSession',
  'endSessionsOfKey',
]

const here = OPERATIONS.filter(
  ({ operationId, path, headers }) =>
    headers.includes('X-Tenant-Id') &&
    LINES[operationId]?.asksTemporal !== true &&
    !OF_THE_PLATFORM.includes(operationId) &&
    // Answered without the database.
    !path.endsWith('/metadata'),
)

describe('a hundred requests at once', () => {
  test.each(here)('to $method $path let another tenant go first', async (operation) => {
    const { ours, theirs } = estates
    const { body, ...call } = await lineOf(operation).call(ours)
    const ask = operation.listener === 'outside' ? ours.tenant.ask : ours.tenant.inside
    let open = CROWD
    const crowd = Array.from({ length: CROWD }, () =>
      ask(operation.method, urlOf(operation, call), body).finally(() => (open -= 1)),
    )

    const answer = await theirs.tenant.ask('GET', '/api/tenant')
    const openThen = open
    const answers = await Promise.all(crowd)

    expect(answer.status).toBe(200)
    expect(openThen).toBeGreaterThan(CROWD / 2)
    expect(answers.filter(({ status }) => status >= 500).map((failed) => failed.body)).toEqual([])
  })
})
