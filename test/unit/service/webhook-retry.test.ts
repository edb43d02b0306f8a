import { expect, test } from 'vitest'
import { nextAttempt, pausedUntil, verdictOn } from '../../../service/channels/retry-webhook.ts'
import { newSecret, open, seal } from '../../../service/channels/secrets.ts'

const HOUR = 3_600_000
const FROM = Date.UTC(2026, 10, 20, 12)

test('tries a delivery after growing pauses, and last after three days', () => {
  const pauses: number[] = []
  let now = FROM
  for (let attempts = 1; ; attempts++) {
    const at = nextAttempt({ attempts, triedFrom: FROM }, now)
    if (at === null) break
    pauses.push((at - now) / 1000)
    now = at
  }

  expect(pauses).toEqual([5, 30, 120, 900, 3600, 14_400, 43_200, 86_400, 86_400, 24_145])
  expect(now - FROM).toBe(72 * HOUR)
})

test('waits as long as the endpoint asks', () => {
  expect(nextAttempt({ attempts: 1, triedFrom: FROM }, FROM, 60_000)).toBe(FROM + 60_000)
  expect(nextAttempt({ attempts: 5, triedFrom: FROM }, FROM, 60_000)).toBe(FROM + HOUR)
})

test('leaves an endpoint alone for a quarter of an hour at most', () => {
  expect([1, 2, 3, 4, 5, 20].map((failures) => (pausedUntil(failures, FROM) - FROM) / 1000)).toEqual([
    5, 30, 120, 900, 900, 900,
  ])
})

test.each([
  ['delivered', [200, 204, 299]],
  ['gone', [410]],
  ['away', [null, 408, 425, 429, 500, 502, 503, 504]],
  ['refused', [301, 307, 400, 401, 404, 413]],
] as const)('finds an endpoint %s by its answer', (verdict, statuses) => {
  expect(statuses.map(verdictOn)).toEqual(statuses.map(() => verdict))
})

const [key, older] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

test('seals a secret so that its tenant’s is opened by its key only', () => {
  const secret = newSecret()
  const sealed = seal(secret, 't1', [older])

  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(sealed).not.toContain(secret.slice(6))
  expect(seal(secret, 't1', [older])).not.toBe(sealed)
  expect(open(sealed, 't1', [key, older])).toBe(secret)
  expect(() => open(sealed, 't1', [key])).toThrow('which WEBHOOK_SECRETS_KEY does not have')
  expect(() => open(sealed, 't2', [older])).toThrow()
  expect(() => open(`${sealed.slice(0, -4)}AAA=`, 't1', [older])).toThrow()
})

test('keeps a secret as it is without a key, and reads it once there is one', () => {
  const secret = newSecret()

  expect(seal(secret, 't1', [])).toBe(secret)
  expect(open(secret, 't1', [key])).toBe(secret)
})
