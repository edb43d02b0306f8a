import { describe, expect, test } from 'vitest'
import { failureOfResponse, isRetryable } from '../../activities/failures.ts'
import { refusalOf } from '../../domain/enforcement/refusal.ts'
import { ERRORS } from '../../domain/errors.ts'
import { retryAfterMs } from '../../domain/http.ts'

const responseOf = (status: number, headers: Record<string, string> = {}) => {
  const response = new Response('', { status, headers })
  Object.defineProperty(response, 'url', { value: 'http://127.0.0.1:8081/internal/x' })
  return response
}

describe('failureOfResponse', () => {
  test.each([408, 425, 429, 500, 502, 503])('retries a response of status %i', (status) => {
    expect(failureOfResponse(responseOf(status), {}).nonRetryable).toBe(false)
  })

  test.each(Object.entries(ERRORS))('treats %s as the ERRORS table says', (code, { status, retryable }) => {
    expect(isRetryable(status, code)).toBe(retryable || status >= 500)
    expect(failureOfResponse(responseOf(status), { code, detail: 'why' })).toMatchObject({ type: code, message: 'why' })
  })

  test.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [401, undefined],
  ])('retries a refused key after 30 s: %i, code %s', (status, code) => {
    expect(failureOfResponse(responseOf(status), { code })).toMatchObject({
      nonRetryable: false,
      nextRetryDelay: 30_000,
    })
    expect(failureOfResponse(responseOf(status, { 'retry-after': '7' }), { code }).nextRetryDelay).toBe(7000)
  })

  test.each([
    [403, undefined],
    [403, 'another_code'],
    [404, 'sim_not_found'],
  ])('does not retry %i with code %s', (status, code) => {
    expect(failureOfResponse(responseOf(status), { code }).nonRetryable).toBe(true)
  })

  test('waits for Retry-After, at most an hour', () => {
    const now = Date.parse('2026-11-21T08:00:00Z')
    expect(failureOfResponse(responseOf(503, { 'retry-after': '7' }), {}).nextRetryDelay).toBe(7000)
    expect(retryAfterMs('Sat, 21 Nov 2026 08:00:30 GMT', now, 3_600_000)).toBe(30_000)
    expect(retryAfterMs('86400', now, 3_600_000)).toBe(3_600_000)
    expect(retryAfterMs('soon', now, 3_600_000)).toBeUndefined()
  })
})

describe('refusalOf', () => {
  const sim = {
    simId: 1,
    iccid: '',
    status: 1,
    poolId: 7,
    processing: false,
    overLimit: true,
    mode: 2,
    exempt: false,
    enforcementEnabled: true,
    passedOver: false,
    refused: false,
    suspension: null,
  } as const

  test.each([
    ['permits a SIM that meets every condition', {}, null],
    ['refuses a SIM within its limit', { overLimit: false }, 'not over'],
    ['refuses a SIM outside Enforce mode', { mode: 1 }, 'not enforced'],
    ['refuses while the tenant’s enforcement is off', { enforcementEnabled: false }, 'held'],
    ['refuses a SIM that was passed over', { passedOver: true }, 'passed over'],
    ['refuses an exempt SIM', { exempt: true }, 'exempt'],
    ['refuses a SIM that is not Active', { status: 2 }, 'not active'],
    ['refuses what the carrier has refused', { refused: true }, 'refused by the carrier'],
    ['names no refusal of an overage that is over', { refused: true, overLimit: false }, 'not over'],
  ] as const)('%s', (_, change, refusal) => {
    expect(refusalOf({ ...sim, ...change })).toBe(refusal)
  })
})
