/** Comparisons of rules, as the interface shows them. */
import type { Comparison } from '../../../domain/rules/explanation.ts'
import type { FactValue } from '../../../domain/watchdog/fact-value.ts'
import type { SubjectKind } from '../../../domain/watchdog/subject.ts'
import type { LeafExplanation } from '../../../rules/engine/evaluate-subject.ts'
import { answered } from '../../../rules/explain/leaves.ts'
import { leafWords } from '../../../rules/explain/words.ts'

/** Comparisons with their answers and words. @param leaves as the engine gave them */
export const comparisonsOf = (leaves: readonly LeafExplanation[], kind: SubjectKind): Comparison[] =>
  answered(leaves, kind).map((leaf) => {
    const { fact, value, operator, operand, operandFact, result } = leaf
    return { fact, value, operator, operands: itemsOf(operand), operandFact, result, words: leafWords(leaf, kind) }
  })

const itemsOf = (operand: LeafExplanation['operand']): FactValue[] => {
  if (typeof operand === 'object' && operand !== null) return [...operand]
  return [operand]
}
