/** Runs the examples of a rule file. Each must give its stated result, and both results must occur. */

import { didYouMean } from '../../domain/did-you-mean.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { factsRead, type Group } from '../conditions.ts'
import { decideRule } from '../engine/evaluate-subject.ts'
import { type Fact, type Facts, factsOf } from '../facts.ts'
import { type Ladder, stepReached } from '../ladder.ts'
import type { Examples } from '../rule-file.ts'
import { below, type Report } from './faults.ts'

interface ExampleRule {
  readonly subject: SubjectKind
  readonly conditions: Group
  /** Null: the rule has none. */
  readonly ladder: Ladder | null
  readonly examples: Examples
}

/** Reports examples with missing or wrong facts, or with another result than stated. Also reports a missing result. */
export async function checkExamples(
  { subject, conditions, ladder, examples }: ExampleRule,
  report: Report,
): Promise<void> {
  for (const [n, { fires, facts, step }] of examples.entries()) {
    const pointer = `/examples/${n}`
    if (!checkFacts(facts, { subject, conditions, pointer: `${pointer}/facts` }, report)) continue
    const { met, leaves } = await decideRule(conditions, facts)
    checkStep(step, met && ladder !== null ? stepReached(ladder, facts[ladder.fact]) : null, pointer, report)
    if (met === fires) continue
    const seen = leaves.map(
      ({ fact, value, operator, operand }) => `${fact} ${value} ${operator} ${JSON.stringify(operand)}`,
    )
    report(`${pointer}/fires`, fires, `${met}, which is what the conditions say: ${seen.join('; ')}`)
  }
  for (const fires of [true, false]) {
    if (examples.some((example) => example.fires === fires)) continue
    report('/examples', examples.length, `at least one example with "fires": ${fires}`)
  }
}

function checkStep(stated: number | undefined, reached: number | null, pointer: string, report: Report): void {
  if (stated === undefined || stated === reached) return
  report(`${pointer}/step`, stated, reached === null ? 'nothing: no step of a ladder is reached' : String(reached))
}

function checkFacts(
  given: Facts,
  { subject, conditions, pointer }: { subject: SubjectKind; conditions: Group; pointer: string },
  report: Report,
): boolean {
  const facts = factsOf(subject)
  const wrong = Object.entries(given).filter(([name, value]) => {
    const fact = facts.get(name)
    if (fact === undefined) {
      report(below(pointer, name), name, `a fact of the subject ${subject}`, didYouMean(name, facts.keys()))
    } else if (!isValueOf(fact, value)) {
      report(below(pointer, name), value, valueOf(fact))
    }
    return fact === undefined || !isValueOf(fact, value)
  })
  const missing = factsRead(conditions).filter((name) => !Object.hasOwn(given, name))
  for (const name of missing) report(below(pointer, name), undefined, `a value for ${name}, which the conditions read`)
  return wrong.length === 0 && missing.length === 0
}

/** What values a fact has, for a person. */
export const valueOf = ({ type, nullable, form }: Fact): string =>
  `${form === null ? `a value of type ${type}` : form.expected}${nullable ? ', or null' : ''}`

export function isValueOf({ type, nullable, form }: Fact, value: unknown): boolean {
  if (value === null) return nullable
  if (form !== null) return typeof value === 'string' && form.pattern.test(value)
  if (type === 'integer') return Number.isInteger(value)
  return type === 'number' ? Number.isFinite(value) : typeof value === type
}
