/** What the steps of an evaluation hand to each other. */

import type { WatchdogMode } from '../../domain/codes.ts'
import { type SubjectCode } from '../../domain/watchdog/subject.ts'
import type { RuleOutcome } from '../../rules/engine/evaluate.ts'
import type { Facts } from '../../rules/facts.ts'
import type { Rule } from '../../rules/rule.ts'
import type { Subject } from '../../store/due.ts'
import type { WorkflowOptions } from '../workflows/inputs.ts'
import type { ReadRules } from './rules-in-force.ts'

/** A subject with its facts, and the rules that are attached to it. */
export interface SubjectFacts {
  readonly subject: Subject
  readonly name: 'sim' | 'pool' | 'tenant'
  /** How people call it. */
  readonly label: string
  readonly poolId: number | null
  readonly mode: WatchdogMode
  /** The watchdog must not touch it. */
  readonly exempt: boolean
  /** Neither exempt nor Disabled. */
  readonly isWatched: boolean
  readonly facts: Facts
  /** Rules attached to it; none where it is not watched. */
  readonly rules: readonly Rule[]
}

/** A subject and what its rules say of it. */
export interface EvaluatedSubject extends SubjectFacts {
  readonly outcomes: readonly RuleOutcome[]
}

/** How subjects are evaluated and told of. Milliseconds. */
export interface EvaluationOptions extends WorkflowOptions {
  readonly rules: ReadRules
  /** How long a notice that is not critical waits for others, and the least time between two grouped mails. */
  readonly groupFirstMs: number
  readonly groupNextMs: number
  /** Is told of each subject that failed by itself, each time. */
  readonly onFailed?: (failed: FailedSubject) => void
}

/** A subject whose evaluation failed; it is tried again. */
export interface FailedSubject extends Subject {
  readonly tenantId: string
  readonly error: unknown
}

/** One text for each subject. */
export const keyOf = ({ kind, id }: { readonly kind: SubjectCode; readonly id: number }) => `${kind}/${id}`
