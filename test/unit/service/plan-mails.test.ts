import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MailKind } from '../../../domain/channels/mail.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { mailWaits } from '../../../domain/notifications/waits.ts'
import { type PastMail, planMails, type Waiting } from '../../../service/channels/plan-mails.ts'
import { anAlert, aSummary, aWarning } from '../channels/notifications.ts'

const MONTH = 30 * 86_400_000
const [SECOND, MINUTE] = [1000, 60_000]
const WAITS = mailWaits(MONTH)
const NOW = Date.parse('2026-11-10T12:00:00Z')

let ids = 0
const waits = (body: Waiting['body'], createdAgo: number, dueIn = WAITS.forNextMs - createdAgo): Waiting => ({
  id: ++ids,
  body,
  createdAt: NOW - createdAgo,
  dueAt: NOW + dueIn,
})
const ofPool = (id: number) => anAlert({ subject: { kind: 'pool', id, label: `pool ${id}` } })
const past = (count: number, kind: MailKind, ago: number): PastMail[] => Array(count).fill({ kind, at: NOW - ago })
const planOf = (waiting: readonly Waiting[], mails: readonly PastMail[] = []) => {
  const { mails: made, putOff } = planMails(waiting, mails, WAITS, NOW)
  return { made: made.map(({ kind, parts }) => [kind, parts.map(({ id }) => id)] as const), putOff }
}

describe('mailWaits', () => {
  test.each([
    ['a month', MONTH, [30, 120, 600, 3600]],
    ['an hour', 3600 * SECOND, [30, 120, 60, 360]],
    ['five minutes', 300 * SECOND, [5, 20, 5, 30]],
  ])('shortens with a cycle of %s', (_, cycleMs, seconds) => {
    const { forNextMs, mostMs, soonMs, stormMs } = mailWaits(cycleMs)

    expect([forNextMs, mostMs, soonMs, stormMs].map((ms) => ms / SECOND)).toEqual(seconds)
  })
})

describe('planMails', () => {
  test('sends a cause when nothing new of it has come for a while', () => {
    const [first, second] = [waits(ofPool(1), 50 * SECOND), waits(ofPool(1), 30 * SECOND)]
    const fresh = waits(ofPool(1), 29 * SECOND)

    expect(planOf([first, second])).toEqual({ made: [['cause', [first.id, second.id]]], putOff: [] })
    expect(planOf([first, fresh])).toEqual({ made: [], putOff: [{ id: first.id, at: NOW + SECOND }] })
  })

  test('sends a cause after two minutes, whatever follows', () => {
    const [first, fresh] = [waits(ofPool(1), 120 * SECOND), waits(ofPool(1), 0)]

    expect(planOf([first, fresh]).made).toEqual([['cause', [first.id, fresh.id]]])
  })

  test('joins causes from the third on', () => {
    const causes = [1, 2, 3].map((id) => waits(ofPool(id), 40 * SECOND))
    const [first, second, third] = causes

    expect(planOf(causes.slice(0, 2)).made.map(([kind]) => kind)).toEqual(['cause', 'cause'])
    expect(planOf(causes).made).toEqual([['joined', [first?.id, second?.id, third?.id]]])
    expect(planOf(causes.slice(0, 2), past(1, 'cause', 9 * MINUTE)).made.map(([kind]) => kind)).toEqual(['joined'])
    expect(planOf(causes.slice(0, 1), past(2, 'cause', 9 * MINUTE)).made).toEqual([])
    expect(planOf(causes.slice(0, 1), past(2, 'cause', 11 * MINUTE)).made).toHaveLength(1)
  })

  test('makes a digest of causes every ten minutes in a storm', () => {
    const causes = [1, 2].map((id) => waits(ofPool(id), 121 * SECOND))
    const storm = past(20, 'joined', 30 * MINUTE)

    expect(planOf(causes, storm).made.map(([kind]) => kind)).toEqual(['digest'])
    expect(planOf(causes, [...storm, ...past(1, 'digest', 9 * MINUTE)])).toEqual({
      made: [],
      putOff: causes.map(({ id }) => ({ id, at: NOW + MINUTE })),
    })
    expect(planOf(causes, past(20, 'grouped', MINUTE)).made.map(([kind]) => kind)).toEqual(['cause', 'cause'])
  })

  test('leaves what is not critical to its own mail', () => {
    const [critical, warning] = [waits(ofPool(1), 40 * SECOND), waits(aWarning(), 40 * SECOND, MINUTE)]
    const [due, later] = [waits(aWarning(), 70 * SECOND, 0), waits(aWarning(), SECOND, MINUTE)]
    const grace = waits(aWarning({ kind: 'graceStarted' }), 40 * SECOND)

    expect(planOf([critical, warning, grace]).made).toEqual([
      ['cause', [critical.id]],
      ['cause', [grace.id]],
    ])
    expect(planOf([due, later]).made).toEqual([['grouped', [due.id, later.id]]])
  })

  test('gives a summary and a hold of the guard mails of their own', () => {
    const [summary, critical] = [waits(aSummary(), MINUTE), waits(ofPool(1), MINUTE)]
    const hold = waits({ ...ofPool(1), key: 'guard/3' }, MINUTE)

    expect(planOf([summary, critical, hold]).made).toEqual([
      ['cause', [critical.id]],
      ['cause', [hold.id]],
      ['summary', [summary.id]],
    ])
  })

  test('sends each notification once, and none before it is due or after two minutes', () => {
    const notice = fc.record({
      pool: fc.integer({ min: 1, max: 4 }),
      level: fc.constantFrom(LogLevel.Critical, LogLevel.Warning),
      ago: fc.integer({ min: 0, max: 300 * SECOND }),
    })
    fc.assert(
      fc.property(fc.array(notice, { maxLength: 12 }), fc.integer({ min: 0, max: 6 }), (all, mails) => {
        const waiting = all.map(({ pool, level, ago }) => waits({ ...ofPool(pool), level }, ago))
        const { made, putOff } = planOf(waiting, past(mails, 'cause', 5 * MINUTE))
        const sent = made.flatMap(([, parts]) => parts)

        expect(new Set(sent).size).toBe(sent.length)
        for (const { id, body, createdAt, dueAt } of waiting) {
          const later = putOff.find((one) => one.id === id)
          if (body.level !== LogLevel.Critical) expect(later).toBeUndefined()
          else if (sent.includes(id)) expect(later).toBeUndefined()
          else expect(createdAt).toBeGreaterThan(NOW - WAITS.mostMs)
          if (later !== undefined) expect(later.at).toBeGreaterThan(NOW)
          if (!sent.includes(id) && dueAt <= NOW) expect(later).toBeDefined()
        }
      }),
    )
  })
})
