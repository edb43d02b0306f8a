/**
 * Cases that the tests of Prometheus and Alertmanager (Apache License 2.0) try of their alerts, told in the terms of this
 * watchdog. Each names its source. Where a decision differs, docs/alerts.md says why.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { LogLevel } from '../../../domain/codes.ts'
import type { AlertState } from '../../../rules/alerts/alert-state.ts'
import { decideAlert } from '../../../rules/alerts/decide-alert.ts'
import { type Inhibitor, inhibitorOf, type OpenSilence, quietOf } from '../../../rules/alerts/quiet.ts'
import type { Rule } from '../../../rules/rule.ts'
import { aQuestion, aRule, NOVEMBER } from './samples.ts'

const MINUTE = 60_000
const pool = { kind: 'pool', id: 7 } as const

/** Evaluates a rule each minute. @param rules the rule at each minute; the last one goes on */
function eachMinute(rules: readonly Rule[], met: readonly (boolean | 'error')[]) {
  let previous: AlertState | null = null
  return met.map((now, minute) => {
    const rule = rules[Math.min(minute, rules.length - 1)]
    if (rule === undefined) throw new Error('there is no rule')
    const failed = now === 'error' ? { error: 'the query failed' } : {}
    const at = { previous, now: NOVEMBER.startsAt + minute * MINUTE }
    const decision = decideAlert(aQuestion({ rule, met: now === true, ...failed }, at))
    previous = decision.next
    return decision
  })
}
const phases = (...of: Parameters<typeof eachMinute>) => eachMinute(...of).map(({ next }) => next.phase)
const mails = (...of: Parameters<typeof eachMinute>) =>
  eachMinute(...of).map(({ notices }) => notices.map(({ kind }) => kind).join())

let held: Rule
let kept: Rule
let told: Rule
let silentEnd: Rule
beforeAll(async () => {
  const actions = ['log', 'email']
  held = await aRule({ name: 'held' }, { actions, for: 'PT1M' })
  kept = await aRule({ name: 'kept' }, { actions, for: 'PT1M', keepFiring: 'PT1M' })
  told = await aRule({ name: 'told' }, { actions, resolve: 'email' })
  silentEnd = await aRule({ name: 'told' }, { actions, resolve: 'log' })
})

describe('Prometheus, rules/alerting_test.go', () => {
  test('TestAlertingRuleLabelsUpdate: what is pending fires once `for` is over', () => {
    expect(phases([held], [true, true, true, false])).toEqual(['pending', 'firing', 'firing', 'resolved'])
  })

  test('TestKeepFiringFor: it fires on for a while after its conditions have ended', () => {
    const fired = ['firing', 'firing', 'firing']
    expect(phases([kept], [true, true, true, true, false, false])).toEqual([
      'pending',
      ...fired,
      'recovering',
      'resolved',
    ])
  })

  test('TestPendingAndKeepFiringFor: what was only pending ends at once', () => {
    expect(phases([kept], [true, false])).toEqual(['pending', 'inactive'])
  })

  test('a failed query leaves an alert as it was', () => {
    expect(phases([held], [true, true, 'error', 'error', true])).toEqual(['pending', ...Array(4).fill('firing')])
  })

  test('issue 18243, decided otherwise: a raised `for` does not take back what fires', async () => {
    const raised = await aRule({ name: 'held' }, { actions: ['log', 'email'], for: 'PT1H' })

    expect(phases([held, held, raised], [true, true, true])).toEqual(['pending', 'firing', 'firing'])
    expect(phases([held, raised], [true, true, true])).toEqual(['pending', 'pending', 'pending'])
  })
})

describe('Alertmanager, notify/notify_test.go, TestDedupStageNeedsUpdate', () => {
  test('what was not mailed before and fires is mailed; what has ended is not', () => {
    expect(mails([told], [true])).toEqual(['fired'])
    expect(mails([told], [false])).toEqual([''])
  })

  test('what fires on is not mailed again', () => {
    expect(mails([told], [true, true, true])).toEqual(['fired', '', ''])
  })

  test('decided otherwise: there is no repeat interval', () => {
    expect(mails([told], Array(2000).fill(true)).filter((kind) => kind !== '')).toEqual(['fired'])
  })

  test('an end is mailed where the rule says so', () => {
    expect(mails([told], [true, false])).toEqual(['fired', 'resolved'])
    expect(mails([silentEnd], [true, false])).toEqual(['fired', ''])
  })
})

describe('Alertmanager, inhibit/inhibit_test.go', () => {
  const grave: Inhibitor = { ...pool, rule: 'grave', level: LogLevel.Critical, measure: 'usage' }
  const of = (inhibitors: readonly Inhibitor[], id = 7) =>
    inhibitorOf(inhibitors, { rule: told, level: told.level, subject: { kind: 'pool', id }, sharedPoolId: null })?.by ??
    null

  test('TestInhibit: an alert is muted while its source fires, and only then', () => {
    expect([of([]), of([grave])]).toEqual([null, 'grave'])
  })

  test('TestInhibitRuleHasEqual: source and target must be about the same', () => {
    expect([of([grave], 8), of([{ ...grave, measure: 'device' }])]).toEqual([null, null])
  })

  test('TestInhibitRuleMatches: what is source and target at once does not mute itself', () => {
    expect(of([{ ...grave, rule: told.name, level: told.level }])).toBeNull()
  })
})

describe('Alertmanager, silence/silence_test.go', () => {
  const any: OpenSilence = { id: 1, rule: null, simId: null, poolId: null, tag: null, level: null, endsAt: 10 }
  const about = { rule: 'told', level: LogLevel.Warning, subject: pool, poolId: 7, tag: null }

  test('TestSilencer: all that a silence names must fit, and the one that ends last counts', () => {
    expect(quietOf([{ ...any, rule: 'to*' }], about)?.silenceId).toBe(1)
    expect(quietOf([{ ...any, rule: 'to*', poolId: 8 }], about)).toBeNull()
    expect(quietOf([any, { ...any, id: 2, endsAt: 20 }], about)?.silenceId).toBe(2)
    expect(quietOf([], about)).toBeNull()
  })
})
