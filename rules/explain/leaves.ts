/** The comparisons of a rule, each with its answer, whether or not the engine came to it. Pure. */
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { YES } from '../compile/comparisons.ts'
import { compileConditions } from '../compile/compile-conditions.ts'
import { rowOf } from '../compile/fact-row.ts'
import { type Condition, type Group, leavesOf, type Scalar } from '../conditions.ts'
import { explained, type LeafExplanation } from '../engine/evaluate-subject.ts'
import { operatorNamed } from '../engine/operators.ts'
import { type Facts, factsOf } from '../facts.ts'

/**
 * Adds answers to the comparisons that the engine skipped, because others had decided already. Null stays for an
 * unknown value: such a comparison is not met, and its answer is unknown.
 */
export const answered = (leaves: readonly LeafExplanation[], subject: SubjectKind): LeafExplanation[] =>
  leaves.map((leaf) => ({ ...leaf, result: answerTo(leaf, subject) }))

function answerTo({ fact, value, operator, operand, operandFact, result }: LeafExplanation, subject: SubjectKind) {
  const base = operatorNamed(operator)?.base
  if (base === undefined || !factsOf(subject).has(fact)) return result
  if (base === 'known') return result ?? isMet({ fact, operator, value: operand === true }, subject, { [fact]: value })
  if (value === null || operand === null) return null
  if (result !== null) return result
  if (operandFact !== null && !factsOf(subject).has(operandFact)) return null
  return isMet({ fact, operator, value: scalarsIn(operand) }, subject, { [fact]: value })
}

const scalarsIn = (operand: Exclude<LeafExplanation['operand'], null>): Scalar | readonly Scalar[] =>
  typeof operand === 'object' ? operand.filter((item) => item !== null) : operand

/** Whether facts meet a condition; false if one that it needs is missing. */
export const isMet = (condition: Condition, subject: SubjectKind, facts: Facts): boolean =>
  compileConditions(condition, subject).decide(rowOf(facts)) === YES

/** The comparisons of conditions that the engine was not asked about, with their answers. */
export const leavesOn = (conditions: Group, subject: SubjectKind, facts: Facts): LeafExplanation[] =>
  answered(
    leavesOf(conditions).map((leaf) => explained(leaf, facts, null)),
    subject,
  )
