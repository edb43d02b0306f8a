/** Which rules are effective for subjects that share their settings, and why none is. Pure. */
import { SimStatus } from '../../domain/codes.ts'
import type { UncoveredReason } from '../../domain/rules/rule-coverage.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { NO, YES } from '../compile/comparisons.ts'
import { compileConditions } from '../compile/compile-conditions.ts'
import { rowOf } from '../compile/fact-row.ts'
import { type Condition, isReference, type Leaf } from '../conditions.ts'
import { type MatchProperties, misfitsOf } from '../engine/match.ts'
import type { Facts } from '../facts.ts'
import type { Rule } from '../rule.ts'

/** Subjects with the same answer from every rule. */
export interface SubjectClass {
  readonly matched: MatchProperties
  /** Why nothing is evaluated for them; null: they are evaluated. */
  readonly unwatched: Extract<UncoveredReason, 'exempt' | 'mode'> | null
  /** Their settings, as facts. Other facts count as unknown. */
  readonly settings: Facts
}

export interface Effective {
  /** Names of the rules attached to them. */
  readonly attached: ReadonlySet<string>
  /** Names of rules in stage log or higher that can hold with these settings, for any values of the other facts. */
  readonly effective: ReadonlySet<string>
  /** Why no rule is effective; null: one is. */
  readonly reason: UncoveredReason | null
}

const NOTHING: ReadonlySet<string> = new Set()

/** Makes the function that finds a class's effective rules. @param rules those in force, of any kind of subject */
export function effectiveBy(rules: readonly Rule[]): (to: SubjectClass) => Effective {
  const asked = rules.map((rule): RuleQuestion => {
    const answer = answerBy(rule.conditions, rule.subject)
    return { rule, canHold: (settings) => answer(settings) !== NO }
  })
  return (to) => {
    const fitting = asked.filter(
      ({ rule }) =>
        rule.subject === to.matched.subject && misfitsOf(rule, to.matched).every(({ field }) => field === 'stage'),
    )
    const isStock = to.matched.status === SimStatus.Unprovisioned
    const unwatched = isStock && fitting.length === 0 ? 'notProvisioned' : to.unwatched
    if (unwatched !== null) return { attached: NOTHING, effective: NOTHING, reason: unwatched }
    const attached = fitting.filter((one) => stageOf(one) !== 'off')
    const heard = attached.filter((one) => stageOf(one) !== 'shadow')
    const effective = heard.filter(({ canHold }) => canHold(to.settings))
    return {
      attached: namesOf(attached),
      effective: namesOf(effective),
      reason: effective.length > 0 ? null : reasonFor(fitting, heard, to.settings),
    }
  }
}

interface RuleQuestion {
  readonly rule: Rule
  /** Whether its conditions can be met with these settings, for any values of the other facts. */
  readonly canHold: (settings: Facts) => boolean
}

const stageOf = ({ rule }: RuleQuestion) => rule.event.params.stage
const namesOf = (some: readonly RuleQuestion[]): ReadonlySet<string> => new Set(some.map(({ rule }) => rule.name))

function reasonFor(fitting: readonly RuleQuestion[], heard: readonly RuleQuestion[], settings: Facts): UncoveredReason {
  if (fitting.length === 0) return 'match'
  if (heard.length === 0) return 'stage'
  const { warningThresholdPct, ...others } = settings
  const lacksThreshold = warningThresholdPct === null && heard.some(({ canHold }) => canHold(others))
  return lacksThreshold ? 'threshold' : 'settings'
}

/** An answer in Kleene's logic: no is less than unknown, and unknown less than yes. */
type AnswerTo = (settings: Facts) => number

function answerBy(condition: Condition, subject: SubjectKind): AnswerTo {
  const each = (members: readonly Condition[]) => members.map((member) => answerBy(member, subject))
  if ('all' in condition) {
    const members = each(condition.all)
    return (settings) => Math.min(YES, ...members.map((answer) => answer(settings)))
  }
  if ('any' in condition) {
    const members = each(condition.any)
    // An empty group is met, as the engine has it.
    return (settings) => (members.length === 0 ? YES : Math.max(...members.map((answer) => answer(settings))))
  }
  if ('not' in condition) {
    const answer = answerBy(condition.not, subject)
    return (settings) => YES - answer(settings)
  }
  return leafBy(condition, subject)
}

/** A comparison of two facts with one null has the same answer for any other value, so the result is null here too. */
function leafBy(leaf: Leaf, subject: SubjectKind): AnswerTo {
  const { decide } = compileConditions(leaf, subject)
  const { fact, value } = leaf
  if (!isReference(value)) return (settings) => decide(rowOf(settings))
  return (settings) => {
    const isNull = settings[fact] === null || settings[value.fact] === null
    return decide(rowOf(isNull ? { [fact]: null, [value.fact]: null, ...settings } : settings))
  }
}
