/** What holds of every alert, whatever happens to it: histories that a property test makes up. */
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { WatchdogMode } from '../../../domain/codes.ts'
import { type AlertPhase, type AlertState, isFiring, isSame, scopeOf } from '../../../rules/alerts/alert-state.ts'
import { type AlertDecision, decideAlert, withdrawAlert } from '../../../rules/alerts/decide-alert.ts'
import { type GuardAnswer, isHeld } from '../../../rules/alerts/guard.ts'
import { stepOfPart, withoutStep } from '../../../rules/alerts/keys.ts'
import { permitted } from '../../../rules/alerts/permission.ts'
import type { Quiet } from '../../../rules/alerts/quiet.ts'
import type { AlertQuestion } from '../../../rules/alerts/telling.ts'
import type { Rule } from '../../../rules/rule.ts'
import { RESOLVE, STAGES } from '../../../rules/rule-file.ts'
import { cases } from '../../setup/cases.ts'
import { aLadderRule, aQuestion, aRule, examplesOf, leaf, NOVEMBER, suspending } from './samples.ts'

const HOUR = 3_600_000

let rules: Rule[]
beforeAll(async () => {
  const free = {
    conditions: { all: [leaf('totalSimCount', 'greaterThan', 5)] },
    examples: examplesOf({ totalSimCount: 6 }, { totalSimCount: 5 }),
  }
  const waits = [{}, { for: 'PT2H' }, { keepFiring: 'PT2H' }, { for: 'PT1H', keepFiring: 'PT3H' }]
  const all = [
    { once: 'cycle' },
    { once: 'episode' },
    { once: 'occurrence', occurrence: 'poolName', resolve: 'none' },
    {
      once: 'cycle',
      ...suspending('all', 'renewal'),
      actions: ['log', 'email', 'suspend'],
      stage: 'enforce',
      level: 'Critical',
    },
  ].flatMap((params) => waits.map((wait) => ({ actions: ['log', 'email'], ...params, ...wait })))
  rules = await Promise.all(
    all.map((params, n) => aRule({ name: `rule-${n}`, ...(params.once === 'cycle' ? {} : free) }, params)),
  )
  const ladders = waits.flatMap((wait) =>
    ['cycle', 'episode'].map((once) => ({ actions: ['log', 'email'], once, ...wait })),
  )
  rules.push(...(await Promise.all(ladders.map((params, n) => aLadderRule({ name: `ladder-${n}` }, params)))))
})

/** What happens at an instant: an evaluation, or the rule no longer covers the subject. */
interface Happening {
  readonly hours: number
  readonly withdrawn: boolean
  readonly met: boolean
  readonly clear: boolean | undefined
  readonly occurrence: string | null
  /** Step of a rule with a ladder, where it is met. */
  readonly step: number
  readonly error: boolean
  readonly stage: (typeof STAGES)[number]
  readonly mode: WatchdogMode
  readonly quiet: 'silenced' | 'inhibited' | null
  readonly guard: GuardAnswer
}
const some = <T>(value: T, other: fc.Arbitrary<T>) => fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, other)
const happening: fc.Arbitrary<Happening> = fc.record({
  hours: fc.constantFrom(0, 0.1, 1, 2, 5, 30),
  withdrawn: some(false, fc.boolean()),
  met: fc.boolean(),
  clear: fc.constantFrom(undefined, true, false),
  occurrence: fc.constantFrom(null, 'a', 'b'),
  step: fc.constantFrom(50, 80, 100, 125),
  error: some(false, fc.boolean()),
  stage: some('enforce', fc.constantFrom(...STAGES)),
  mode: some<WatchdogMode>(WatchdogMode.Enforce, fc.constantFrom(WatchdogMode.Monitor, WatchdogMode.Enforce)),
  quiet: some<Happening['quiet']>(null, fc.constantFrom('silenced', 'inhibited')),
  guard: some<GuardAnswer>('pass', fc.constantFrom<GuardAnswer[]>('pass', 'released', 'discarded', 1)),
})
const resolve = fc.constantFrom(...RESOLVE)
const histories = fc.record({
  rule: fc.integer({ min: 0, max: 23 }),
  resolve,
  escalate: fc.constantFrom(null, 2 * HOUR),
  happenings: fc.array(happening, { maxLength: 60 }),
})
type History = typeof histories extends fc.Arbitrary<infer T> ? T : never

interface Step {
  readonly happening: Happening
  readonly question: AlertQuestion
  readonly previous: AlertState | null
  readonly decision: AlertDecision
}

function ruleOf({ rule, resolve: how }: History): Rule {
  const found = rules[rule]
  if (found === undefined) throw new Error(`there is no rule ${rule}`)
  return found.event.params.once === 'occurrence' ? found : { ...found, resolve: how }
}

function stepsOf(history: History, permissionOf?: AlertQuestion['permission']): Step[] {
  const rule = ruleOf(history)
  let now = NOVEMBER.startsAt
  let state: AlertState | null = null
  return history.happenings.map((each): Step => {
    now += each.hours * HOUR
    const previous = state
    const { met, occurrence, guard } = each
    const outcome = {
      rule,
      met,
      ...(met && rule.ladder !== null ? { step: each.step } : {}),
      ...(each.clear === undefined ? {} : { clear: each.clear }),
      occurrence,
      ...(each.error ? { error: 'no such fact' } : {}),
    }
    const quiets: Record<'silenced' | 'inhibited', Quiet> = {
      silenced: { reason: 'silenced', silenceId: 1, until: now + 4 * HOUR },
      inhibited: { reason: 'inhibited', by: 'other' },
    }
    const question = aQuestion(outcome, {
      permission: permissionOf ?? permitted(each.stage, each.mode),
      quiet: each.quiet === null ? null : quiets[each.quiet],
      guard,
      escalateAfterMs: history.escalate,
      previous,
      now,
    })
    const { subject } = question
    const name = { rule: rule.name, subject, scope: scopeOf(rule, NOVEMBER.key) }
    const decision =
      each.withdrawn && previous !== null ? withdrawAlert({ name, previous, now }) : decideAlert(question)
    state = decision.next
    return { happening: each, question, previous, decision }
  })
}

const CALM: Happening = {
  hours: 0,
  withdrawn: false,
  met: false,
  clear: undefined,
  occurrence: null,
  step: 50,
  error: false,
  stage: 'enforce',
  mode: WatchdogMode.Enforce,
  quiet: null,
  guard: 'pass',
}
/** Rare, and once a bug: it was held back, a person said no, and then it ended. */
const DISCARDED: History = {
  rule: 0,
  resolve: 'email',
  escalate: null,
  happenings: [{ ...CALM, met: true, guard: 1 }, { ...CALM, met: true, guard: 'discarded' }, CALM],
}

/** Tries a property of histories. */
const always = (what: string, holds: (history: History) => void, examples: [History][] = []) =>
  test(what, () => fc.assert(fc.property(histories, holds), { numRuns: cases(1000), examples }))

const isWithdrawal = ({ happening: { withdrawn }, previous }: Step) => withdrawn && previous !== null

describe('an alert, whatever happens', () => {
  always('tells each key once a channel', (history) => {
    const steps = stepsOf(history)
    for (const channel of [
      steps.flatMap(({ decision }) => decision.entries),
      steps.flatMap(({ decision }) => decision.notices),
    ]) {
      const keys = channel.map(({ key }) => key)
      // The log is told again of what was withdrawn; the unique key keeps the first.
      const once = keys.filter((key) => !key.endsWith('/withdrawn'))
      expect(new Set(once).size).toBe(once.length)
    }
  })

  always(
    'tells an end only where it told the beginning, and after it',
    (history) => {
      const steps = stepsOf(history)
      for (const channel of ['entries', 'notices'] as const) {
        const fired = new Set<string>()
        for (const { kind, key } of steps.flatMap(({ decision }) => decision[channel])) {
          if (kind === 'fired') fired.add(key)
          if (kind === 'resolved' || kind === 'withdrawn')
            expect(fired, key).toContain(key.replace(/(resolved|withdrawn)$/, 'fired'))
        }
      }
    },
    [[DISCARDED]],
  )

  always('tells rising steps of an episode', (history) => {
    const before: { entries: string | null; notices: string | null } = { entries: null, notices: null }
    for (const { decision, happening, question } of stepsOf(history)) {
      for (const channel of ['entries', 'notices'] as const) {
        const fired = decision[channel].filter(({ kind }) => kind === 'fired')
        expect(fired.length).toBeLessThanOrEqual(1)
        const [part] = fired.map(({ key }) => key.slice(0, -'/fired'.length))
        if (part === undefined) continue
        if (question.outcome.rule.ladder !== null && happening.met)
          expect(stepOfPart(part) ?? 50).toBeGreaterThanOrEqual(happening.step)
        const last = before[channel]
        if (last !== null && withoutStep(last) === withoutStep(part))
          expect(stepOfPart(part) ?? 0).toBeGreaterThan(stepOfPart(last) ?? 0)
        before[channel] = part
      }
    }
  })

  always('misses nothing that it may tell', (history) => {
    for (const step of stepsOf(history)) {
      const { decision, question } = step
      const { next } = decision
      if (isWithdrawal(step) || step.happening.error) continue
      const { mailed } = next
      if (next.phase === 'firing' && question.permission.log) expect(next.told).toContain(`fired${next.part}`)
      const isLet = question.quiet === null && !isHeld(next)
      const mails = question.permission.notify && isLet
      if (next.phase === 'firing' && mails) expect(mailed).toContain(`fired${next.part}`)
      const believed = (marks: readonly string[]) => marks.findLast((mark) => /^(fired|resolved)/.test(mark)) ?? ''
      const { resolve: how } = question.outcome.rule
      if (next.phase !== 'resolved' || next.withdrawn === true || how === 'none') continue
      if (question.permission.log) expect(believed(next.told)).not.toMatch(/^fired/)
      if (how === 'email' && question.permission.notify) expect(believed(mailed)).not.toMatch(/^fired/)
    }
  })

  always('mails nothing that fires while it is quiet', (history) => {
    for (const { decision, question } of stepsOf(history)) {
      const kinds = decision.notices.map(({ kind }) => kind)
      if (question.quiet !== null) expect(kinds.filter((kind) => kind !== 'resolved')).toEqual([])
    }
  })

  always('mails and asks for nothing that fires while the guard holds it', (history) => {
    for (const { decision, question } of stepsOf(history)) {
      if (!isHeld(decision.next)) continue
      expect(decision.notices).toEqual([])
      if (question.permission.suspend === 'do') expect(decision.wish).not.toBe('over')
    }
  })

  always('asks to suspend only what the log was told', (history) => {
    for (const { decision, question } of stepsOf(history)) {
      if (decision.wish !== 'over' || question.permission.suspend !== 'do') continue
      expect(decision.next.told).toContain(`fired${decision.next.part}`)
    }
  })

  always('moves between phases only as documented', (history) => {
    const ways: Readonly<Record<AlertPhase, readonly AlertPhase[]>> = {
      inactive: ['inactive', 'pending', 'firing'],
      pending: ['pending', 'firing', 'inactive', 'resolved'],
      firing: ['firing', 'recovering', 'resolved', 'pending'],
      recovering: ['recovering', 'firing', 'resolved', 'pending'],
      resolved: ['resolved', 'pending', 'firing'],
    }
    for (const step of stepsOf(history)) {
      const { decision, previous } = step
      if (isWithdrawal(step)) expect(decision.next.phase).toBe('resolved')
      else expect(ways[previous?.phase ?? 'inactive']).toContain(decision.next.phase)
    }
  })

  always('is in the same phase whatever its rule may do', (history) => {
    const withoutStages = {
      ...history,
      happenings: history.happenings.map((each) => ({ ...each, quiet: null, guard: 'pass' as const })),
    }
    const phases = (stage: (typeof STAGES)[number]) =>
      stepsOf(withoutStages, permitted(stage, WatchdogMode.Enforce)).map(({ decision: { next } }) =>
        // Whether what was never told ends as resolved or as inactive is seen by nobody.
        isFiring(next) || next.phase === 'pending' ? next.phase : 'ended',
      )
    expect(phases('shadow')).toEqual(phases('enforce'))
    expect(phases('log')).toEqual(phases('enforce'))
  })

  always('changes by time alone at its next check, and not before', (history) => {
    for (const step of stepsOf(history)) {
      if (isWithdrawal(step)) continue
      const { question, decision } = step
      const { next, nextCheckAt = NOVEMBER.endsAt } = decision
      for (const now of [question.now, question.now + (nextCheckAt - question.now) / 2, nextCheckAt - 1]) {
        if (now < question.now) continue
        const again = decideAlert({ ...question, previous: next, now })
        expect(isSame(again.next, next), JSON.stringify([again.next, next])).toBe(true)
        expect([...again.entries, ...again.notices]).toEqual([])
      }
    }
  })

  always('goes on the same from its state in JSON', (history) => {
    for (const { question } of stepsOf(history)) {
      const previous: AlertState | null = JSON.parse(JSON.stringify(question.previous))
      expect(decideAlert({ ...question, previous })).toEqual(decideAlert(question))
    }
  })
})
