import { describe, expect, test } from 'vitest'
import { linesOf } from '../../../console/pages/overview/log.ts'
import { levelsWords, needsOf, type Situation, verdictOf } from '../../../console/pages/overview/needs.ts'
import { LogLevel } from '../../../domain/codes.ts'

const AT = '2026-11-20T12:00:00.000Z'
const WELL = { receivedAt: AT, newestAt: AT, staleSince: null }
const QUIET = {
  failedTickets: 0,
  failedMails: 0,
  retryingWorkflows: 0,
  longestRetry: null,
  feed: WELL,
  enforcementEnabled: true,
}
const HOLD = { id: 1, what: 'suspensions' as const, rule: 'sim-overage', waiting: 4, allowed: 20, openedAt: AT }

type Cause = Situation['causes'][number]
const cause = (level: LogLevel, more: Partial<Cause> = {}): Cause => ({
  rule: `rule-${level}`,
  level,
  kind: 'sim',
  alerts: 3,
  firing: 3,
  acknowledged: 0,
  withheld: 0,
  since: AT,
  newest: { id: 7, message: 'SIM 1 is over.', isLogged: true, withheld: [] },
  ...more,
})
const situation = (more: Partial<Situation> = {}): Situation => ({ holds: [], causes: [], status: QUIET, ...more })
const critical = cause(LogLevel.Critical)
const warning = cause(LogLevel.Warning)
const failing = { ...QUIET, failedTickets: 2 }
const observed = { id: 7, message: 'SIM 1 is over.', isLogged: false, withheld: ['stage' as const] }

describe('the verdict', () => {
  test.each([
    ['decisions first', situation({ holds: [HOLD], causes: [critical], status: failing }), '1 decision waits for you'],
    ['critical alerts', situation({ causes: [warning, critical], status: failing }), '3 critical alerts are open'],
    ['faults', situation({ causes: [warning], status: failing }), '2 tickets failed'],
    ['late usage', situation({ status: { ...QUIET, feed: { ...WELL, staleSince: AT } } }), 'Usage is late'],
    ['a stop', situation({ status: { ...QUIET, enforcementEnabled: false } }), 'Enforcement is stopped'],
    ['retries', situation({ status: { ...QUIET, failedMails: 1, retryingWorkflows: 3 } }), '3 workflows retry'],
    ['mails', situation({ status: { ...QUIET, failedMails: 1 } }), '1 mail given up'],
    ['warnings', situation({ causes: [warning] }), 'Nothing is urgent, 3 warnings are open'],
    ['nothing', situation(), 'Nothing needs you'],
  ])('says %s', (_, given, words) => {
    expect(verdictOf(given).words).toBe(words)
  })

  test.each([
    ['acknowledged', { acknowledged: 3 }],
    ['not firing yet', { firing: 0 }],
    ['of a rule that only observes', { newest: observed }],
  ])('leaves out alerts that are %s', (_, more) => {
    expect(verdictOf(situation({ causes: [cause(LogLevel.Critical, more)] })).words).toBe('Nothing needs you')
  })

  test('leaves out alerts for information', () => {
    expect(verdictOf(situation({ causes: [cause(LogLevel.Info)] })).words).toBe('Nothing needs you')
  })

  test('counts what is not acknowledged', () => {
    const words = verdictOf(situation({ causes: [cause(LogLevel.Critical, { acknowledged: 2 })] })).words
    expect(words).toBe('1 critical alert is open')
  })
})

describe('the needs', () => {
  test('are in the order of the verdict, and causes that ask for nobody last', () => {
    const seen = cause(LogLevel.Critical, { rule: 'seen', acknowledged: 3 })
    const given = situation({ holds: [HOLD], causes: [seen, critical, warning], status: failing })

    expect(needsOf(given).map(({ words }) => words)).toEqual([
      '4 suspensions held',
      'rule-2: 3 SIMs',
      '2 tickets failed',
      'rule-1: 3 SIMs',
      'seen: 3 SIMs',
    ])
  })

  test('lead to the alerts of a cause, and to a single alert', () => {
    const one = cause(LogLevel.Critical, { alerts: 1, firing: 1 })

    expect(needsOf(situation({ causes: [one, cause(LogLevel.Warning, { rule: 'a&b' })] }))).toMatchObject([
      { words: 'SIM 1 is over.', detail: '', path: '/alerts/7' },
      { words: 'a&b: 3 SIMs', detail: 'The newest: SIM 1 is over.', path: '/alerts?rule=a%26b&level=1' },
    ])
  })

  test('lead to the failed tickets', () => {
    expect(needsOf(situation({ status: failing }))).toMatchObject([
      { words: '2 tickets failed', path: '/tickets?status=3', since: null },
    ])
  })

  test('lead to the mails that were given up', () => {
    expect(needsOf(situation({ status: { ...QUIET, failedMails: 1 } }))).toMatchObject([
      { words: '1 mail given up', path: '/mails?status=failed' },
    ])
  })

  test('lead to retrying workflows, with the failure of the longest', () => {
    const longestRetry = { since: AT, detail: 'the service does not answer' }
    expect(needsOf(situation({ status: { ...QUIET, retryingWorkflows: 1, longestRetry } }))).toMatchObject([
      { words: '1 workflow retries', detail: longestRetry.detail, path: '/workflows?trouble=true', since: AT },
    ])
  })

  test.each([
    ['1 acknowledged', { acknowledged: 1 }],
    ['acknowledged', { acknowledged: 3 }],
    ['2 not firing yet', { firing: 1 }],
    ['withheld in part', { withheld: 3 }],
    ['its rule only observes', { withheld: 3, newest: observed }],
  ])('say %s', (words, more) => {
    const [need] = needsOf(situation({ causes: [cause(LogLevel.Critical, more)] }))
    expect(need?.detail).toBe(`The newest: SIM 1 is over. · ${words}`)
  })
})

test('levels are counted in words', () => {
  expect(levelsWords({ critical: 1200, warning: 1, info: 2, isWhole: false })).toBe(
    '1,200 critical, 1 warning, 2 info of the newest 5,000',
  )
  expect(levelsWords({ critical: 0, warning: 0, info: 0, isWhole: true })).toBe('none')
})

test('equal entries of the log are one line, where the newest of them is', () => {
  const entry = (id: number, message: string, simId: number | null = null) => ({
    id,
    message,
    simId,
    poolId: null,
    level: LogLevel.Info,
    date: AT,
  })
  const log = [entry(5, 'a'), entry(4, 'b'), entry(3, 'a'), entry(2, 'a', 9), entry(1, 'a')]

  expect(linesOf(log).map(({ entry: { id }, times }) => [id, times])).toEqual([
    [5, 3],
    [4, 1],
    [2, 1],
  ])
})
