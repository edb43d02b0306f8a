/** Checks the ladder of a rule file: its fact, its steps, and fields that conflict with it. */
import { Value } from 'typebox/value'
import { LogLevel } from '../../domain/codes.ts'
import { didYouMean } from '../../domain/did-you-mean.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { factsOf, subjectsWith } from '../facts.ts'
import type { Ladder, Step } from '../ladder.ts'
import { LadderFile, type RuleEvent } from '../rule-file.ts'
import type { Report } from './faults.ts'

/** Reads a ladder, and reports every fault that its shape does not show. @returns undefined if something is wrong */
export function readLadder(value: unknown, subject: SubjectKind, report: Report): Ladder | undefined {
  if (!Value.Check(LadderFile, value)) return undefined
  const isFact = checkFact(value.fact, subject, report)
  const steps = value.steps.map(({ at, level }): Step => ({ at, level: LogLevel[level] }))
  const areSteps = checkSteps(value, report)
  const [first, ...higher] = steps
  if (!isFact || !areSteps || first === undefined) return undefined
  return { fact: value.fact, steps: [first, ...higher], every: value.every ?? null }
}

function checkFact(name: string, subject: SubjectKind, report: Report): boolean {
  const facts = factsOf(subject)
  const fact = facts.get(name)
  if (fact !== undefined && (fact.type === 'number' || fact.type === 'integer') && fact.codes === null) return true
  const elsewhere = subjectsWith(name)
  const hint =
    fact !== undefined
      ? `${name} is a ${fact.codes === null ? fact.type : 'code'}`
      : elsewhere.length > 0
        ? `${name} is a fact of ${elsewhere.join(' and ')}`
        : didYouMean(name, facts.keys())
  report('/ladder/fact', name, `a fact of the subject ${subject} that is a number`, hint)
  return false
}

function checkSteps({ steps }: LadderFile, report: Report): boolean {
  const wrong = steps.filter(({ at, level }, n) => {
    const before = steps[n - 1]
    if (before === undefined) return false
    const isHigher = at > before.at
    const isNoLess = LogLevel[level] >= LogLevel[before.level]
    if (!isHigher) report(`/ladder/steps/${n}/at`, at, `more than the step before, ${before.at}`)
    if (!isNoLess) report(`/ladder/steps/${n}/level`, level, `at least the level of the step before, ${before.level}`)
    return !isHigher || !isNoLess
  })
  return wrong.length === 0
}

/** Reports fields of an event that conflict with a ladder, and a missing level without one. */
export function checkBesideLadder(hasLadder: boolean, { params }: RuleEvent, report: Report): void {
  const { level, once, actions } = params
  if (!hasLadder) {
    if (level === undefined) report('/event/params/level', undefined, 'Info, Warning or Critical')
    return
  }
  if (level !== undefined) report('/event/params/level', level, 'nothing: the steps of the ladder have levels')
  if (once === 'occurrence') report('/event/params/once', once, 'cycle or episode: a ladder is climbed once in each')
  if (actions.includes('suspend')) {
    report('/event/params/actions', actions, 'no suspend: a ladder only tells', 'suspend by a rule of its own')
  }
}
