/** Compares the engine's outcomes for one subject with the answers of the compiled rules. */
import { type Answer, UNKNOWN, YES } from '../../../../rules/compile/comparisons.ts'
import type { CompiledRule } from '../../../../rules/compile/compile-rule.ts'
import type { FactRow } from '../../../../rules/compile/fact-row.ts'
import type { RuleOutcome } from '../../../../rules/engine/evaluate-subject.ts'

export const PARTS = ['attached', 'conditions', 'clear', 'occurrence', 'step'] as const

/** A rule about which the two do not agree, and what each says. */
export interface RuleDifference {
  readonly rule: string
  readonly part: (typeof PARTS)[number]
  readonly engine: string
  readonly compiled: string
}

const DECIDED = ['not met', 'unknown', 'met'] as const
const wordOf = (answer: Answer): string => DECIDED[answer]
const wordOfMet = (isMet: boolean): string => (isMet ? 'met' : 'not met')

/**
 * The rules about which engine and compiled rules differ, for one subject.
 *
 * The answer unknown differs from nothing, because the engine is asked then. A rule that the engine could not decide
 * differs from an answer.
 *
 * @param outcomes the engine's outcomes of the rules attached by `rulesFor`, on facts that the row has too
 * @param attached the rules that `attach` gives for the subject
 */
export function differencesBetween(
  outcomes: readonly RuleOutcome[],
  attached: readonly CompiledRule[],
  row: FactRow,
): RuleDifference[] {
  const byName = new Map(attached.map((compiled) => [compiled.rule.name, compiled]))
  const decided = new Set(outcomes.map(({ rule }) => rule.name))
  const undecided = [...byName.keys()].filter((name) => !decided.has(name))
  return [
    ...outcomes.flatMap((outcome) => {
      const { name } = outcome.rule
      const compiled = byName.get(name)
      return compiled === undefined ? [attachedDiffers(name, 'yes', 'no')] : differencesOf(outcome, compiled, row)
    }),
    ...undecided.map((name) => attachedDiffers(name, 'no', 'yes')),
  ]
}

const attachedDiffers = (rule: string, engine: string, compiled: string): RuleDifference => ({
  rule,
  part: 'attached',
  engine,
  compiled,
})

function differencesOf(outcome: RuleOutcome, compiled: CompiledRule, row: FactRow): RuleDifference[] {
  const { name: rule } = outcome.rule
  const differences: RuleDifference[] = []
  const compare = (part: RuleDifference['part'], engine: string, answer: string) => {
    if (engine !== answer) differences.push({ rule, part, engine, compiled: answer })
  }
  const compareAnswer = (part: RuleDifference['part'], isMet: boolean, answer: Answer) => {
    if (answer !== UNKNOWN) compare(part, wordOfMet(isMet), wordOf(answer))
  }
  const holds = compiled.holds(row)
  const clear = compiled.clear === null ? null : compiled.clear(row)
  if (outcome.error !== undefined) {
    // The engine does not say whether conditions or clear conditions failed: one of them has to be unknown.
    if (holds !== UNKNOWN && clear !== UNKNOWN) compare('conditions', `failed: ${outcome.error}`, wordOf(holds))
    return differences
  }
  compareAnswer('conditions', outcome.met, holds)
  if (clear !== null) compareAnswer('clear', outcome.clear ?? false, clear)
  if (holds === YES) compare('step', String(outcome.step ?? null), String(compiled.step(row)))
  const occurrence = compiled.occurrence(row)
  if (occurrence !== undefined) compare('occurrence', String(outcome.occurrence), String(occurrence))
  return differences
}
