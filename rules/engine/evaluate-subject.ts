/**
 * Decides which rules one subject meets, and why, with json-rules-engine.
 *
 * Pure: the same rules and facts give the same outcomes. Each evaluation of a rule has a separate Engine. Overlapping
 * runs on one Engine can end each other early, and a failing rule makes the others in its run fail too.
 */

import { Engine, type RuleResult } from 'json-rules-engine'
import type { FactValue } from '../../domain/watchdog/fact-value.ts'
import { factsRead, forEngine, type Group, isReference, type Leaf, leavesOf } from '../conditions.ts'
import type { Facts } from '../facts.ts'
import { stepReached } from '../ladder.ts'
import type { Rule } from '../rule.ts'
import { useStrictOperators } from './operators.ts'

/** A comparison: its operands, and whether it was met. */
export interface LeafExplanation {
  readonly fact: string
  readonly value: FactValue
  readonly operator: string
  /** Value that the fact was compared with. */
  readonly operand: FactValue | readonly FactValue[]
  /** Name of the fact that gives the operand; null if the rule gives the value. */
  readonly operandFact: string | null
  /** Null: not evaluated, because other comparisons had decided already. */
  readonly result: boolean | null
}

export interface RuleOutcome {
  readonly rule: Rule
  /** Whether the conditions are met; false if they could not be decided. */
  readonly met: boolean
  /** Whether the clear conditions are met; only for rules that have some. */
  readonly clear?: boolean
  /** Highest reached step of the rule's ladder; only for rules with one, and only if the conditions are met. */
  readonly step?: number
  /** Value of the rule's `occurrence` fact as text; null if it is unknown or empty, or the rule has none. */
  readonly occurrence: string | null
  /** Why the rule could not be decided; absent if it was. */
  readonly error?: string
  /** The comparisons of the conditions, in the order of the file. */
  readonly explanation: readonly LeafExplanation[]
}

/** Names of the facts that the conditions, clear conditions and occurrence of a rule read, without duplicates. */
export function factsReadBy({ conditions, clear, event }: Rule): string[] {
  const { occurrence = [] } = event.params
  return [...new Set([factsRead(conditions), clear === null ? [] : factsRead(clear), occurrence].flat())]
}

/** Decides the rules attached to a subject. If a rule fails, its outcome has an `error`, and the others go on. */
export async function evaluateSubject(rules: readonly Rule[], facts: Facts): Promise<RuleOutcome[]> {
  const outcomes: RuleOutcome[] = []
  for (const rule of rules) outcomes.push(await outcomeOf(rule, facts))
  return outcomes
}

async function outcomeOf(rule: Rule, facts: Facts): Promise<RuleOutcome> {
  const occurrence = occurrenceOf(rule, facts)
  try {
    const { met, leaves } = await decideRule(rule.conditions, facts)
    const clear = rule.clear === null ? {} : { clear: (await decideRule(rule.clear, facts)).met }
    const step = met && rule.ladder !== null ? stepReached(rule.ladder, facts[rule.ladder.fact]) : null
    if (step === null) return { rule, met, ...clear, occurrence, explanation: leaves }
    return { rule, met, step, ...clear, occurrence, explanation: withStep(leaves, step) }
  } catch (error) {
    return {
      rule,
      met: false,
      occurrence,
      error: error instanceof Error ? error.message : String(error),
      explanation: [],
    }
  }
}

/** The last comparison is that of the ladder: it names the reached step. */
const withStep = (leaves: readonly LeafExplanation[], step: number): LeafExplanation[] =>
  leaves.map((leaf, n) => (n === leaves.length - 1 ? { ...leaf, operand: step } : leaf))

function occurrenceOf({ event }: Rule, facts: Facts): string | null {
  const { occurrence } = event.params
  const value = occurrence === undefined ? null : facts[occurrence]
  return value === null || value === undefined || value === '' ? null : String(value)
}

/** Decides conditions on facts. @throws Error if a needed fact is missing */
export async function decideRule(
  conditions: Group,
  facts: Facts,
): Promise<{ readonly met: boolean; readonly leaves: readonly LeafExplanation[] }> {
  const engine = new Engine([{ conditions: forEngine(conditions), event: { type: 'met' } }])
  useStrictOperators(engine)
  // Only the facts that conditions read, because the engine hashes every fact in every run.
  const read = factsRead(conditions).filter((name) => Object.hasOwn(facts, name))
  const { results, failureResults } = await engine.run(Object.fromEntries(read.map((name) => [name, facts[name]])))
  const [result] = [...results, ...failureResults]
  if (result === undefined) throw new Error('the engine answered with no result')
  const decided = resultsOf(result.conditions)
  const leaves = leavesOf(conditions).map((leaf, n) => explained(leaf, facts, decided[n] ?? null))
  return { met: results.length > 0, leaves }
}

type ResultNode = RuleResult['conditions'] | Extract<RuleResult['conditions'], { all: unknown }>['all'][number]

/** Results of the comparisons, in the order of the file; null: not evaluated. */
function resultsOf(node: ResultNode): (boolean | null)[] {
  if ('all' in node) return node.all.flatMap(resultsOf)
  if ('any' in node) return node.any.flatMap(resultsOf)
  if ('not' in node) return resultsOf(node.not)
  return [node.result ?? null]
}

/** A comparison of a condition with facts. @param result null: not evaluated */
export const explained = ({ fact, operator, value }: Leaf, facts: Facts, result: boolean | null): LeafExplanation => ({
  fact,
  value: facts[fact] ?? null,
  operator,
  operand: isReference(value) ? (facts[value.fact] ?? null) : value,
  operandFact: isReference(value) ? value.fact : null,
  result,
})
