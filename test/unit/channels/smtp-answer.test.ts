import { describe, expect, test } from 'vitest'
import { troubleOf } from '../../../adapters/channels/mail/smtp-answer.ts'
import { afterFailure } from '../../../service/channels/retry.ts'

describe('troubleOf', () => {
  test.each([
    ['a wrong password', { code: 'EAUTH', command: 'AUTH PLAIN', responseCode: 535, response: '535 5.7.8 no' }, 'ours'],
    [
      'a blocked sender',
      { code: 'EENVELOPE', command: 'RCPT TO', responseCode: 550, response: '550 5.7.1 blocked' },
      'ours',
    ],
    ['a policy on the mail', { command: 'DATA', responseCode: 550, response: '550 5.7.1 links' }, 'later'],
    ['a refused sender', { code: 'EENVELOPE', command: 'MAIL FROM', responseCode: 553, response: '553 no' }, 'ours'],
    ['a server that closes', { code: 'EPROTOCOL', command: 'CONN', responseCode: 421, response: '421 busy' }, 'ours'],
    ['no name', { code: 'EDNS', command: 'CONN' }, 'ours'],
    ['nobody who listens', { code: 'ESOCKET', command: 'CONN', syscall: 'connect' }, 'ours'],
    ['a connection that the server closes', { code: 'ECONNECTION', command: 'CONN' }, 'later'],
    ['no such mailbox', { command: 'RCPT TO', responseCode: 550, response: '550 5.1.1 unknown' }, 'address'],
    ['no such mailbox, bare', { command: 'RCPT TO', responseCode: 550, response: '550 unknown' }, 'address'],
    ['no such mailbox, after DATA', { command: 'DATA', responseCode: 550, response: '550 5.1.1 unknown' }, 'address'],
    ['a full mailbox', { command: 'RCPT TO', responseCode: 552, response: '552 5.2.2 full' }, 'later'],
    ['a mail that is too large', { command: 'DATA', responseCode: 552, response: '552 5.3.4 too big' }, 'mail'],
    ['content, bare', { command: 'DATA', responseCode: 550, response: '550 spam' }, 'mail'],
    ['greylisting', { command: 'RCPT TO', responseCode: 451, response: '451 4.3.0 later' }, 'later'],
    ['greylisting as policy', { command: 'RCPT TO', responseCode: 450, response: '450 4.2.0 later' }, 'later'],
    ['a connection lost in the mail', { code: 'ECONNRESET', command: 'DATA' }, 'later'],
  ] as const)('of %s', (_what, failure, trouble) => {
    expect(troubleOf(failure)).toBe(trouble)
  })
})

describe('afterFailure', () => {
  const [SECOND, HOUR, DAY] = [1000, 3_600_000, 86_400_000]
  const retries = { retryMaxMs: 6 * HOUR, giveUpAfterMs: 3 * DAY }
  const fresh = { attempts: 1, triedSince: null, refusedAt: null }

  test('tries for three days what the server may take later, with pauses up to six hours', () => {
    let tried = fresh as Parameters<typeof afterFailure>[1]
    const pauses: number[] = []
    let now = 0
    for (;;) {
      const next = afterFailure('later', tried, now, retries)
      if (next.at === null) break
      pauses.push(next.at - now)
      now = next.at
      tried = { ...next, attempts: tried.attempts + 1 }
    }

    expect(pauses.slice(0, 3)).toEqual([2 * SECOND, 4 * SECOND, 8 * SECOND])
    expect(Math.max(...pauses)).toBe(6 * HOUR)
    expect(pauses.length).toBeLessThan(30)
    expect(now).toBeGreaterThanOrEqual(3 * DAY)
    expect(now).toBeLessThan(3.5 * DAY)
  })

  test('never gives up for our own trouble, and comes back within five minutes', () => {
    const long = { attempts: 1000, triedSince: 0, refusedAt: 0 }

    expect(afterFailure('ours', long, 30 * DAY, retries)).toEqual({
      at: 30 * DAY + 300 * SECOND,
      triedSince: 0,
      refusedAt: 0,
    })
  })

  test('gives up a refused mail at once, a refused address after an hour', () => {
    const first = afterFailure('address', fresh, 0, retries)

    expect(afterFailure('mail', fresh, 0, retries).at).toBeNull()
    expect(first).toEqual({ at: HOUR, triedSince: null, refusedAt: 0 })
    expect(afterFailure('address', { ...first, attempts: 2 }, HOUR - 1, retries).at).toBe(HOUR)
    expect(afterFailure('address', { ...first, attempts: 2 }, HOUR, retries).at).toBeNull()
  })
})
