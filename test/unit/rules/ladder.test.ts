import { beforeAll, describe, expect, test } from 'vitest'
import { LogLevel, WatchdogMode } from '../../../domain/codes.ts'
import type { AlertState } from '../../../rules/alerts/alert-state.ts'
import { type AlertDecision, decideAlert, levelOf } from '../../../rules/alerts/decide-alert.ts'
import { firedMessage, resolvedMessage } from '../../../rules/alerts/message.ts'
import { asWanted, permitted } from '../../../rules/alerts/permission.ts'
import { settled } from '../../../rules/alerts/take-back.ts'
import { COMPARISONS } from '../../../rules/compile/comparisons.ts'
import { compileRule } from '../../../rules/compile/compile-rule.ts'
import { rowOf } from '../../../rules/compile/fact-row.ts'
import { diffRules } from '../../../rules/diff-rules.ts'
import { evaluateSubject, type RuleOutcome } from '../../../rules/engine/evaluate-subject.ts'
import type { Facts } from '../../../rules/facts.ts'
import { type Ladder, levelAt, stepAbove, stepReached } from '../../../rules/ladder.ts'
import { lintRules } from '../../../rules/lint/lint-rules.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import type { Rule } from '../../../rules/rule.ts'
import {
  aFile,
  aLadder,
  aLadderRule,
  aQuestion,
  examplesOf,
  leaf,
  NOON,
  NOVEMBER,
  STEPS,
  suspending,
} from './samples.ts'

const HOUR = 3_600_000
const episode = { conditions: undefined, ladder: { fact: 'activeSimCount', steps: STEPS } }
const [highest, none] = examplesOf({ activeSimCount: 120 }, { activeSimCount: 0 })
const examples = [{ ...highest, step: 100 }, none]

async function outcomeOf(rule: Rule, facts: Facts): Promise<RuleOutcome> {
  const [outcome] = await evaluateSubject([rule], facts)
  if (outcome === undefined) throw new Error('no outcome')
  return outcome
}

/** What is told of a usage that changes every hour: `<part>/<kind>` in the log, and in mails. */
async function told(
  rule: Rule,
  usage: readonly (number | null)[],
  {
    stages = [] as ('shadow' | 'log' | 'notify')[],
    escalateAfterMs = null as number | null,
    taken = [] as number[],
  } = {},
) {
  let state: AlertState | null = null
  const [logged, mailed, states]: [string[], string[], AlertState[]] = [[], [], []]
  for (const [n, value] of usage.entries()) {
    const outcome = await outcomeOf(rule, { usagePct: value, activeSimCount: value })
    const permission = permitted(stages[n] ?? 'notify', WatchdogMode.Monitor)
    const asked = { permission, escalateAfterMs, previous: state, now: NOON + n * HOUR }
    const decision: AlertDecision = decideAlert(aQuestion(outcome, asked))
    const keys = decision.takeBack?.fired.map(({ key }) => key) ?? []
    const after = settled(decision, new Set(taken.includes(n) ? keys : []))
    const short = (key: string) => `${n}:${key.split('/').slice(3).join('/').replace('2026-11/', '')}`
    logged.push(...decision.entries.map(({ key }) => short(key)))
    mailed.push(...after.notices.map(({ key }) => short(key)))
    state = after.next
    states.push(state)
  }
  return { logged, mailed, state, states }
}

let monthly: Rule
let each: Rule
let resolving: Rule
beforeAll(async () => {
  monthly = await aLadderRule()
  each = await aLadderRule({ ...episode, examples }, { once: 'episode' })
  resolving = await aLadderRule({}, { resolve: 'email' })
})

describe('an alert with a ladder', () => {
  test.each<[string, () => Rule, (number | null)[], string[]]>([
    ['tells each step once', () => monthly, [49, 50, 79, 80, 80, 100], ['1:fired', '3:at-80/fired', '5:at-100/fired']],
    ['tells only the highest of several', () => monthly, [0, 100], ['1:at-100/fired']],
    [
      'goes on above the last',
      () => monthly,
      [99, 124, 126, 180],
      ['0:at-80/fired', '1:at-100/fired', '2:at-125/fired', '3:at-175/fired'],
    ],
    ['tells nothing anew on the way down', () => monthly, [100, 80, 50, 90, 101], ['0:at-100/fired']],
    ['resolves below the first', () => monthly, [50, 80, 60, 49], ['0:fired', '1:at-80/fired', '3:at-80/resolved']],
    [
      'begins anew with a return',
      () => monthly,
      [80, 0, 50, 80],
      ['0:at-80/fired', '1:at-80/resolved', '2:again-2/fired', '3:again-2/at-80/fired'],
    ],
    [
      'begins anew with an episode',
      () => each,
      [80, 0, 50, 80],
      ['0:episode-1/at-80/fired', '1:episode-1/at-80/resolved', '2:episode-2/fired', '3:episode-2/at-80/fired'],
    ],
    ['has no further steps without every', () => each, [100, 500], ['0:episode-1/at-100/fired']],
    ['does not fire on what is unknown', () => monthly, [null, 80, null], ['1:at-80/fired', '2:at-80/resolved']],
  ])('%s', async (_, rule, usage, expected) => {
    expect((await told(rule(), usage)).logged).toEqual(expected)
  })

  test('remembers its step over an end that is not told', async () => {
    const silent = await aLadderRule({}, { resolve: 'none' })
    expect((await told(silent, [80, 0, 50, 80, 100])).logged).toEqual(['0:at-80/fired', '4:at-100/fired'])
  })

  test('tells the highest step after its `for`', async () => {
    const lasting = await aLadderRule({}, { for: 'PT2H' })
    expect((await told(lasting, [50, 100, 80, 100])).logged).toEqual(['2:at-80/fired', '3:at-100/fired'])
  })

  test('goes on from its step while it recovers', async () => {
    const kept = await aLadderRule({}, { keepFiring: 'PT5H' })
    expect((await told(kept, [80, 0, 50, 100])).logged).toEqual(['0:at-80/fired', '3:at-100/fired'])
  })

  test('does not end above its clear, and climbs on', async () => {
    const clear = { all: [leaf('usagePct', 'lessThan', 40)] }
    const { logged } = await told(await aLadderRule({}, { clear }), [80, 45, 80, 100, 39])
    expect(logged).toEqual(['0:at-80/fired', '3:at-100/fired', '4:at-100/resolved'])
  })

  test('tells its present step when its stage is raised', async () => {
    const { logged, mailed } = await told(monthly, [50, 80, 80, 80], { stages: ['shadow', 'shadow', 'log', 'notify'] })
    expect([logged, mailed]).toEqual([['2:at-80/fired'], ['3:at-80/fired']])
  })

  test('is since when the step was reached', async () => {
    expect((await told(monthly, [50, 60, 80])).states.map(({ began, steppedAt }) => [began, steppedAt])).toEqual([
      [NOON, undefined],
      [NOON, undefined],
      [NOON, NOON + 2 * HOUR],
    ])
  })

  test('is acknowledged only up to its step', async () => {
    const { state } = await told(monthly, [80])
    if (state === null) throw new Error('there is no alert')
    const at = { previous: { ...state, acknowledged: { at: NOON, by: 'Ann' } }, now: NOON + 1 }
    const outcome = await outcomeOf(monthly, { usagePct: 100 })
    expect(decideAlert(aQuestion({ ...outcome, step: 80 }, at)).next.acknowledged).toBeDefined()
    expect(decideAlert(aQuestion(outcome, at)).next.acknowledged).toBeUndefined()
  })

  test('is escalated from a Critical step on', async () => {
    const { mailed } = await told(monthly, [80, 80, 80, 100, 100, 100], { escalateAfterMs: HOUR })
    expect(mailed).toEqual(['0:at-80/fired', '3:at-100/fired', '4:at-100/escalated'])
  })
})

describe('mails of a ladder that had not left', () => {
  test.each<[string, number[], number[], string[]]>([
    ['all left: the end of the last is mailed', [50, 80, 0], [], ['0:fired', '1:at-80/fired', '2:at-80/resolved']],
    ['a lower step had not left', [50, 80, 0], [1], ['0:fired', '1:at-80/fired', '2:at-80/resolved']],
    ['none had left when it ended', [50, 80, 0, 0], [1, 2], ['0:fired', '1:at-80/fired']],
  ])('%s', async (_, usage, taken, expected) => {
    expect((await told(resolving, usage, { taken })).mailed).toEqual(expected)
  })

  test('the end of a lower step that left is mailed', async () => {
    const { state: previous } = await told(resolving, [50, 80])
    const outcome = await outcomeOf(resolving, { usagePct: 0 })
    const decision = decideAlert(aQuestion(outcome, { previous, now: NOON + 3 * HOUR }))
    const { next, notices } = settled(decision, new Set(['some-rule/pool/7/2026-11/at-80/fired']))

    expect(decision.takeBack?.fired.map(({ part }) => part)).toEqual(['/at-80', ''])
    expect(notices.map(({ key }) => key)).toEqual(['some-rule/pool/7/2026-11/resolved'])
    expect(next.mailed).toEqual(['fired', 'resolved'])
  })
})

describe('a step', () => {
  const stepAt = (at: number) => ({ at, level: LogLevel.Info })
  const ladder: Ladder = { fact: 'usagePct', steps: [stepAt(0.5), stepAt(1)], every: 0.1 }
  test.each([
    [0.4, null, 0.5],
    [0.5, 0.5, 1],
    [1, 1, 1.1],
    [1.35, 1.3, 1.4],
    [Number.NaN, null, null],
    ['1', null, null],
    [null, null, null],
  ])('of %s is %s, below %s', (value, reached, above) => {
    expect(stepReached(ladder, value)).toBe(reached)
    if (above !== null && typeof value === 'number') expect(stepAbove(ladder, value)).toBeCloseTo(above, 9)
  })

  test('has a level, also above the last and after an edit', () => {
    expect([49, 50, 79, 80, 100, 175].map((step) => levelAt(monthly, step))).toEqual([0, 0, 0, 1, 2, 2])
  })

  test('decides the level that permission and silences go by', async () => {
    const outcome = await outcomeOf(monthly, { usagePct: 85 })
    const at = { outcome, cycle: NOVEMBER, staleSince: null, now: NOON }
    const level = levelOf({ ...at, previous: null })
    expect(level).toBe(LogLevel.Warning)
    expect(asWanted(permitted('notify', WatchdogMode.Monitor), level, LogLevel.Critical).notify).toBe(false)
    expect(levelOf({ ...at, outcome: { ...outcome, error: 'none' }, previous: null })).toBe(LogLevel.Info)
  })

  test('stands in messages with its unit, and in the explanation', async () => {
    const { step, explanation } = await outcomeOf(monthly, { usagePct: 85, poolName: 'Vans' })
    expect(firedMessage(monthly, { poolName: 'Vans' }, step)).toBe('Pool Vans at 80 %')
    const below = await aLadderRule({}, { resolvedMessage: 'Below {{step}} %.' })
    expect(resolvedMessage(below, {}, 50)).toBe('Below 50 %.')
    expect(explanation.map(({ value, operand, result }) => [value, operand, result])).toEqual([[85, 80, true]])
  })

  test('is reached by time alone when flipAt says', async () => {
    const facts = (elapsedPct: number) => ({ elapsedPct })
    const rule = await aLadderRule({
      ladder: { fact: 'elapsedPct', steps: [10, 20].map((at) => ({ at, level: 'Info' })), every: 25 },
      examples: examplesOf(facts(12), facts(1)),
    })
    const { flipAt, step } = compileRule(rule, COMPARISONS)
    const length = NOVEMBER.endsAt - NOVEMBER.startsAt
    const flipOf = (pct: number) => {
      const now = NOVEMBER.startsAt + (length * pct) / 100
      return ((flipAt(rowOf(facts(pct)), { now, cycle: NOVEMBER }, 0) - NOVEMBER.startsAt) * 100) / length
    }
    expect([5, 12, 20, 50].map(flipOf).map(Math.round)).toEqual([10, 20, 45, 70])
    expect([5, 12, 50].map((pct) => step(rowOf(facts(pct))))).toEqual([null, 10, 45])
  })
})

describe('the gate on ladders', () => {
  const steps = (...at: [number, string][]) => at.map(([value, level]) => ({ at: value, level }))
  const ladder = (changes: Record<string, unknown>) =>
    aLadder({ ladder: { fact: 'usagePct', steps: STEPS, ...changes } })
  const [fires, not] = examplesOf({ usagePct: 80 }, { usagePct: 0 })
  const wrongStep = [{ ...fires, step: 50 }, not]
  test.each<[string, ReturnType<typeof aFile>, string[]]>([
    ['a fact that is none', ladder({ fact: 'usagPct' }), ['/ladder/fact']],
    ['a text', ladder({ fact: 'poolName' }), ['/ladder/fact']],
    ['a code', ladder({ fact: 'watchdogMode' }), ['/ladder/fact']],
    ['a fact of another subject', ladder({ fact: 'smsCount' }), ['/ladder/fact']],
    ['no steps', ladder({ steps: [] }), ['/ladder/steps']],
    ['steps that fall', ladder({ steps: steps([80, 'Info'], [50, 'Info']) }), ['/ladder/steps/1/at']],
    ['levels that fall', ladder({ steps: steps([50, 'Warning'], [80, 'Info']) }), ['/ladder/steps/1/level']],
    ['a level that is none', ladder({ steps: steps([50, 'info']) }), ['/ladder/steps/0/level']],
    ['a step that is no number', ladder({ steps: [{ at: '50', level: 'Info' }] }), ['/ladder/steps/0/at']],
    ['a distance of 0', ladder({ every: 0 }), ['/ladder/every']],
    ['a field that is none', ladder({ evry: 5 }), ['/ladder/evry']],
    ['a level beside it', aLadder({}, { level: 'Info' }), ['/event/params/level']],
    ['occurrences', aLadder({}, { once: 'occurrence', occurrence: 'poolId' }), ['/event/params/once']],
    ['a suspension', aLadder({}, suspending('all')), ['/event/params/actions']],
    ['another step than an example says', aLadder({ examples: wrongStep }), ['/examples/0/step']],
    ['a step in an example without a ladder', aFile({ examples: wrongStep }), ['/examples/0/step']],
    ['a step in a message, and no ladder', aFile({}, { message: '{{usagePct}} {{step}}' }), ['/event/params/message']],
    ['neither conditions nor ladder', aFile({ conditions: undefined }), ['/conditions']],
    ['no level', aFile({}, { level: undefined }), ['/event/params/level']],
  ])('names %s', async (_, file, pointers) => {
    const { rules, faults } = await loadRuleSet([file])
    expect(rules).toEqual([])
    expect(faults.map(({ pointer }) => pointer)).toEqual(pointers)
  })

  test('says what is wrong in words', async () => {
    const { faults } = await loadRuleSet([ladder({ steps: steps([80, 'Warning'], [50, 'Info']) })])
    expect(faults.map(({ got, expected }) => `${got}: ${expected}`)).toEqual([
      '50: more than the step before, 80',
      '"Info": at least the level of the step before, Warning',
    ])
  })
})

describe('rules that differ by their ladder', () => {
  test('are told apart by meaning', async () => {
    const other = { fact: 'usagePct', steps: [...STEPS.slice(0, 1), { at: 90, level: 'Warning' }, ...STEPS.slice(2)] }
    const [before, after] = [['usagePct 80 Warning', 'usagePct every 25'], ['usagePct 90 Warning']]
    expect(diffRules([monthly], [await aLadderRule({ ladder: other })])).toMatchObject([
      { name: 'some-rule', differences: [{ aspect: 'when', field: 'ladder', before, after }] },
    ])
  })

  test('are linted at their places in the file', async () => {
    const ofTime = (steps: number[], changes: object = {}) =>
      aLadderRule({
        ladder: { fact: 'elapsedPct', steps: steps.map((at) => ({ at, level: 'Info' })) },
        examples: examplesOf({ elapsedPct: 100, totalSimCount: 2 }, { elapsedPct: 0, totalSimCount: 2 }),
        ...changes,
      })
    const found = (rule: Rule) => lintRules([rule]).map(({ code, pointer }) => `${code} ${pointer}`)
    const any = [leaf('totalSimCount', 'greaterThanInclusive', 0), leaf('totalSimCount', 'equal', 2)]

    expect(found(await ofTime([50, 101]))).toEqual(['impossible /ladder/steps/1/at'])
    expect(found(await ofTime([50], { conditions: { any } }))).toEqual(['always /conditions/any/0'])
    expect(found(monthly)).toEqual([])
  })
})
