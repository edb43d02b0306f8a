import { describe, expect, test } from 'vitest'
import { alertSubject, gistOf, SUBJECT_CHARS } from '../../../adapters/channels/mail/subject.ts'
import { LogLevel } from '../../../domain/codes.ts'
import type { AlertNotification } from '../../../domain/notifications/notification.ts'
import { anAlert, aSummary, aWarning } from './notifications.ts'

const METER = { kind: 'sim', id: 12, label: 'meter-012', iccid: '8944000000000000012' } as const
const NORTH = { kind: 'pool', id: 7, label: 'North' } as const
const UNKNOWN = { usageMB: null, limitMB: null, usagePct: null, overageMB: null }

/** 100.18 of 100 MB. */
const aMeterOver = (over: Partial<AlertNotification> = {}) => {
  const facts = { usageMB: 100.18, limitMB: 100, usagePct: 100.18, overageMB: 0.18 }
  return anAlert({ subject: METER, facts, follows: 'suspended', ...over })
}
const aPoolAt = (usagePct: number, over: Partial<AlertNotification> = {}) => {
  const facts = { usageMB: usagePct * 30, limitMB: 3000, usagePct, overageMB: 0 }
  return aWarning({ subject: NORTH, facts, ...over })
}
const ofType = (type: string, message: string, over: Partial<AlertNotification> = {}) => {
  const rule = { name: `my-${type}`, file: 'f', version: 1, type }
  return aWarning({ rule, subject: METER, message, facts: UNKNOWN, ...over })
}

const OVER = 'over its limit (100.18 of 100 MB)'
const OVER_POOL = { usageMB: 3340, limitMB: 3000, usagePct: 111, overageMB: 340 }
const AT = 'suspended at 2026-11-21 15:02 +01:00'
const STALE = 'No usage received for 36 h: limits are not watched until it arrives'
const ACME = { kind: 'tenant', id: 'ten_acme', label: 'Acme' } as const

describe('alertSubject', () => {
  test.each<[string, AlertNotification]>([
    [`meter-012 ${OVER}: suspended`, aMeterOver()],
    [`meter-012 ${OVER}: not suspended`, aMeterOver({ follows: 'not suspended' })],
    [`meter-012 ${OVER}: suspended in 10 h`, aMeterOver({ kind: 'graceStarted', follows: 'suspended in 10 h' })],
    [`meter-012 180 kB over: ${AT}`, aMeterOver({ kind: 'graceEnding', follows: AT })],
    ['Pool North at 80.2 % (2.4 of 3 GB)', aPoolAt(80.254)],
    ['Again: Pool North at 80.1 % (2.4 of 3 GB)', aPoolAt(80.1, { times: 2 })],
    ['Resolved: Pool North at 78 % (2.34 of 3 GB)', aPoolAt(78, { kind: 'resolved' })],
    ['Pool North 340 MB over (3.34 of 3 GB): SIMs suspended', anAlert({ subject: NORTH, facts: OVER_POOL })],
    ['meter-012 has been silent for 3 d', ofType('silent', 'SIM meter-012 has been silent for 3 d. It is Active.')],
    ['Resolved: meter-012 was seen', ofType('silent', 'SIM meter-012 was seen. It is Active.', { kind: 'resolved' })],
    [STALE, ofType('usage-feed-silent', `${STALE}. Active SIMs: 3.`, { subject: ACME, level: LogLevel.Critical })],
    ['Decision needed: 31 held in North', ofType('', 'Decision needed: 31 held in North. Rule …', { subject: NORTH })],
    ['Not acknowledged: meter-012 180 kB over: suspended', aMeterOver({ kind: 'escalated' })],
    [`meter-012 ${OVER}: it has ended`, aMeterOver({ isOfEndedCycle: true, follows: 'it has ended' })],
    ['meter-012: Data at night', ofType('night', 'Data at night.')],
    ['meter-012: rule my-night', ofType('night', ' ')],
    ['Pool St. Ann is full', ofType('full', 'Pool St. Ann is full. Go!', { subject: { ...NORTH, label: 'St. Ann' } })],
  ])('says %s', (subject, alert) => {
    expect(alertSubject(alert)).toBe(subject)
    expect(subject.length).toBeLessThanOrEqual(SUBJECT_CHARS)
  })

  test('cuts a long name in its middle, and keeps figure and consequence', () => {
    const label = 'meters-of-the-northern-district-of-the-town-012'

    expect(alertSubject(aMeterOver({ subject: { ...METER, label } }))).toBe(
      'meters-of-th…the-town-012 over its limit (100.18 of 100 MB): suspended',
    )
    expect(alertSubject(aPoolAt(80.254, { subject: { ...NORTH, label } }))).toBe(
      'Pool meters-of-the-northe…rict-of-the-town-012 at 80.2 % (2.4 of 3 GB)',
    )
  })

  test('never cuts an ICCID', () => {
    const subject = { kind: 'sim', id: 1, label: '8944000000000000012' } as const

    expect(alertSubject(aMeterOver({ subject }))).toBe(`SIM ${subject.label} ${OVER}: suspended`)
    expect(alertSubject(aMeterOver({ subject, times: 2 }))).toBe(`Again: SIM ${subject.label} 180 kB over: suspended`)
  })

  test('leaves out the last clauses of a long message', () => {
    const long =
      'SIM meter-012 uses data 2.1 times as fast as its 100 MB allow: 40 % used with 20 % gone; at this pace 210 %.'

    expect(alertSubject(ofType('burn-rate', long))).toBe('meter-012 uses data 2.1 times as fast as its 100 MB allow')
  })
})

describe('gistOf', () => {
  const over = (id: number) => aMeterOver({ subject: { ...METER, id } })
  const near = (id: number) => aWarning({ subject: { ...METER, id } })
  const silent = (id: number) => ofType('silent', 'SIM x silent', { subject: { ...METER, id } })
  const GRACES = ['graceStarted', 'graceEnding'] as const
  const gone = aWarning({ kind: 'resolved' })
  const times = <T>(n: number, make: (id: number) => T) => Array.from({ length: n }, (_, id) => make(id))

  test.each([
    ['180 SIMs over their limit: suspended', times(180, over)],
    ['5 SIMs near their limit, 3 silent, 1 resolved', [...times(5, near), ...times(3, silent), gone]],
    ['1 SIM over its limit, 1 pool near its limit', [over(1), aPoolAt(81)]],
    ['2 alerts resolved', [gone, { ...gone, key: 'another' }]],
    ['1 SIM in grace: suspended', GRACES.map((kind) => ({ ...over(1), kind, key: kind }))],
    ['1 decision needed, 1 SIM over its limit', [anAlert({ key: 'guard/3' }), over(1)]],
    ['1 billing cycle closed, 1 SIM in grace', [aSummary(), { ...over(1), kind: 'graceStarted' as const }]],
    ['2 SIMs of rule my-night', times(2, (id) => ofType('night', 'x', { subject: { ...METER, id } }))],
  ])('says %s', (gist, notifications) => {
    expect(gistOf(notifications, SUBJECT_CHARS)).toBe(gist)
  })

  test('counts what does not fit', () => {
    const named = (n: number) =>
      aWarning({ rule: { name: `a-rule-with-a-long-name-${n}`, file: '', version: 1, type: 'x' } })

    expect(gistOf(times(5, named), SUBJECT_CHARS)).toBe('1 SIM of rule a-rule-with-a-long-name-0, 4 more')
  })
})
