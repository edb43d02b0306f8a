import { describe, expect, test } from 'vitest'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import { LogLevel } from '../../../domain/codes.ts'
import type { AlertNotification } from '../../../domain/notifications/notification.ts'
import { anAlert, aWarning } from './notifications.ts'
import { numbersOf, wordsOf } from './reading.ts'

let keys = 0
const sim = (id: number, over: Partial<AlertNotification> = {}): AlertNotification =>
  anAlert({
    key: `sim/${keys++}`,
    rule: { name: 'sim-overage', file: 'sim/sim-overage.json', version: 3 },
    subject: { kind: 'sim', id, label: `meter-${id}` },
    poolName: id % 2 === 0 ? 'North' : 'South',
    message: `SIM meter-${id} is over its limit.`,
    facts: { usageMB: 100 + id, limitMB: 100, usagePct: 100 + id, overageMB: id },
    ...over,
  })
/** A SIM that the rule of the pool meters-eu has suspended, or active again. */
const ofPool = (id: number, kind: 'suspended' | 'broughtBack', over: Partial<AlertNotification> = {}) =>
  sim(id, {
    kind,
    level: kind === 'suspended' ? LogLevel.Critical : LogLevel.Info,
    rule: anAlert().rule,
    poolName: 'meters-eu',
    causePoolId: 7,
    at: '2026-11-21T08:41:00.000Z',
    message: `SIM meter-${id} was ${kind}.`,
    whatNext: `After ${kind}.`,
    ...over,
  })

describe('a mail of one cause', () => {
  const WITHIN = { facts: { ...sim(1).facts, overageMB: 0 } }
  const IN_GRACE = { kind: 'graceStarted', level: LogLevel.Warning } as const
  const suspended = [ofPool(1, 'suspended'), ofPool(2, 'suspended')]
  test.each([
    ['SIMs that are over', [sim(1), sim(2), sim(3)], '3 SIMs over their limit'],
    ['SIMs of another rule', [sim(1, WITHIN), sim(2, WITHIN)], '2 SIMs found by rule sim-overage'],
    ['a pool and its SIMs', [anAlert(), ...suspended], 'Pool meters-eu 12 MB over: 2 SIMs suspended'],
    ['SIMs alone', suspended, '2 SIMs suspended in meters-eu'],
    ['their end', [ofPool(1, 'broughtBack'), ofPool(2, 'broughtBack')], '2 SIMs active again in meters-eu'],
    ['graces', [sim(1, IN_GRACE), sim(2, IN_GRACE)], '2 SIMs in a grace that has begun'],
  ])('has a subject that says how many: %s', (_, alerts, subject) => {
    expect(renderMail(alerts).subject).toBe(subject)
  })

  test('cuts a long name of a pool, and keeps figure and consequence', () => {
    const label = 'the-meters-of-the-northern-district-of-the-town'
    const inPool = suspended.map((one) => ({ ...one, poolName: label }))

    const { subject, text } = renderMail([anAlert({ subject: { kind: 'pool', id: 7, label } }), ...inPool])

    expect(subject).toMatch(/^Pool the-meters-of-th.*…-?.*the-town 12 MB over: 2 SIMs suspended$/)
    expect(subject.length).toBeLessThanOrEqual(70)
    expect(text).toContain(`Pool ${label} 12 MB over: 2 SIMs suspended`)
  })

  test('names the pools of its SIMs, those with most first', () => {
    const alerts = [sim(1), sim(2), sim(4), ...Array.from({ length: 6 }, (_, n) => sim(10 + n, { poolName: `P${n}` }))]

    expect(renderMail(alerts).text).toContain(
      '\nNorth 2, South 1, P0 1, P1 1, P2 1, and 3 more pools; noticed 2026-11-21 08:40 UTC',
    )
  })

  test('has a row for each SIM, the largest excess first, with what was done', () => {
    const ofThree = [ofPool(1, 'suspended'), ofPool(30, 'suspended'), ofPool(1, 'broughtBack')]
    const { text, html } = renderMail([anAlert(), ...ofThree])

    expect(text.match(/^- [^:]*/gm)).toEqual(['- meters-eu', '- meter-30', '- meter-1'])
    expect(text).toContain('- meter-30: 130 of 100 MB (130 %), +30 MB\n  suspended 2026-11-21 08:41 UTC')
    expect(text).toContain('  suspended 2026-11-21 08:41 UTC · active again 2026-11-21 08:41 UTC')
    expect(text).toContain('What happens next: After suspended. (1)')
    expect(text).toContain('What happens next: After broughtBack. (1)')
    expect(numbersOf(wordsOf(html)).filter((number) => !text.includes(number))).toEqual([])
  })

  test('shows a hundred rows and says where the others are', () => {
    const { text, html } = renderMail(Array.from({ length: 5000 }, (_, n) => sim(n)))

    expect(text.match(/^- /gm)).toHaveLength(100)
    expect(text).toContain('and 4,900 more: notices.csv, attached, has them all')
    expect(Buffer.byteLength(html)).toBeLessThan(102_000)
  })

  test('shows one subject in full, with what was done to it', () => {
    const { subject, text } = renderMail([
      sim(7),
      sim(7, { kind: 'suspended', at: '2026-11-21T09:00:00Z', message: 'It was cut.', whatNext: 'It comes back.' }),
    ])

    expect(subject).toContain('meter-7 is over its limit')
    expect(text).toContain('What happens next: It was cut. It comes back.')
    expect(text).toContain('Usage: 107 of 100 MB')
  })

  test('shows both findings of a subject that was found twice', () => {
    const { text } = renderMail([sim(7, { message: 'First.' }), sim(7, { message: 'Again.', times: 2 })])

    expect(text).toContain('First.')
    expect(text).toContain('Again.')
  })

  test('is none if causes differ, or nothing is urgent', () => {
    const notUrgent = [aWarning(), aWarning({ subject: { kind: 'sim', id: 2, label: 'b' } })]

    for (const alerts of [[sim(1), anAlert()], notUrgent]) {
      expect(renderMail(alerts).text).toContain('\n2 notices: ')
    }
  })
})
