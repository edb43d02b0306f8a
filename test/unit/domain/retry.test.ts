import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../domain/channels/channel.ts'
import { mailRetries, nextStep, pausedUntil, type Retries, WEBHOOK_RETRIES } from '../../../domain/channels/retry.ts'

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]
const FROM = new Date('2026-11-20T12:00:00Z')
const after = (ms: number) => new Date(FROM.getTime() + ms)
const retries = mailRetries({ retryMaxMs: 6 * HOUR, giveUpAfterMs: 3 * DAY })

/** The pauses of a delivery that always meets an outcome, in milliseconds, and when it is given up. */
function tried(outcome: Outcome, retries: Retries, triedSince: Date | null) {
  const pauses: number[] = []
  let [now, step] = [FROM, nextStep(outcome, { attempts: 1, triedSince, refusedAt: null }, { retries, now: FROM })]
  while (step.status === 'pending') {
    pauses.push(step.nextAt.getTime() - now.getTime())
    now = step.nextAt
    step = nextStep(outcome, { ...step, attempts: pauses.length + 1 }, { retries, now })
  }
  return { pauses, forMs: now.getTime() - FROM.getTime() }
}

describe('a mail', () => {
  test('is tried for three days if the server may take it later, with pauses up to six hours', () => {
    const { pauses, forMs } = tried('later', retries, null)

    expect(pauses.slice(0, 3)).toEqual([2 * SECOND, 4 * SECOND, 8 * SECOND])
    expect(Math.max(...pauses)).toBe(6 * HOUR)
    expect(pauses.length).toBeLessThan(30)
    expect(forMs).toBeGreaterThanOrEqual(3 * DAY)
    expect(forMs).toBeLessThan(3.5 * DAY)
  })

  test('is never given up for our own trouble, and is tried within five minutes', () => {
    const long = { attempts: 1000, triedSince: FROM, refusedAt: FROM }

    expect(nextStep('ours', long, { retries, now: after(30 * DAY) })).toEqual({
      status: 'pending',
      nextAt: after(30 * DAY + 300 * SECOND),
      triedSince: FROM,
      refusedAt: FROM,
    })
  })

  test('is given up at once if it is refused, after an hour if its address is', () => {
    const again = { attempts: 2, triedSince: null, refusedAt: FROM }

    expect(tried('refused', retries, null)).toEqual({ pauses: [], forMs: 0 })
    expect(tried('gone', retries, null)).toEqual({ pauses: [HOUR], forMs: HOUR })
    expect(nextStep('gone', again, { retries, now: after(HOUR - 1) })).toMatchObject({
      status: 'pending',
      nextAt: after(HOUR),
    })
  })
})

describe('a webhook’s delivery', () => {
  test.each(['later', 'refused'] as const)(
    'is tried after growing pauses, and last after three days: %s',
    (outcome) => {
      const { pauses, forMs } = tried(outcome, WEBHOOK_RETRIES, FROM)

      expect(pauses.map((ms) => ms / SECOND)).toEqual([5, 30, 120, 900, 3600, 14_400, 43_200, 86_400, 86_400, 24_145])
      expect(forMs).toBe(3 * DAY)
      expect(tried('gone', WEBHOOK_RETRIES, FROM)).toEqual({ pauses: [], forMs: 0 })
    },
  )

  test('waits as long as the endpoint asks', () => {
    const asked = { retries: WEBHOOK_RETRIES, now: FROM, askedMs: MINUTE }
    const nextAt = (attempts: number) =>
      nextStep('later', { attempts, triedSince: FROM, refusedAt: null }, asked).nextAt

    expect([nextAt(1), nextAt(5)]).toEqual([after(MINUTE), after(HOUR)])
  })

  test('leaves an endpoint alone for a quarter of an hour at most', () => {
    const pauses = [1, 2, 3, 4, 5, 20].map((failures) => pausedUntil(failures, FROM))

    expect(pauses).toEqual([5, 30, 120, 900, 900, 900].map((seconds) => after(seconds * SECOND)))
  })
})
