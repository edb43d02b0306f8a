/** What the steps of an evaluation hand to each other. */
import type { RuleOutcome } from '../rules/evaluate.ts'
import type { SubjectKind } from '../store/due.ts'
import type { SubjectFacts } from './read-batch.ts'
import type { AskRules } from './rules-in-force.ts'
import type { LifecycleTerms } from './start-workflows.ts'

/** A subject and what its rules say of it. */
export interface Decided extends SubjectFacts {
  readonly outcomes: readonly RuleOutcome[]
}

/** How subjects are evaluated and told of. Milliseconds. */
export interface EvaluationTerms extends LifecycleTerms {
  readonly rules: AskRules
  /** How long a notice that is not critical waits for others, and the least time between two grouped mails. */
  readonly groupFirstMs: number
  readonly groupNextMs: number
}

/** One text for each subject. */
export const keyOf = ({ kind, id }: { readonly kind: SubjectKind; readonly id: number }) => `${kind}/${id}`
