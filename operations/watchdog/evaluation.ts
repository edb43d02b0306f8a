/** The types that the steps of an evaluation pass to each other. */

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
  /** What people call the subject. */
  readonly label: string
  readonly poolId: number | null
  readonly mode: WatchdogMode
  /** The watchdog must not act on the subject. */
  readonly exempt: boolean
  /** Neither exempt nor Disabled. */
  readonly isWatched: boolean
  readonly facts: Facts
  /** Rules attached to the subject; empty if it is not watched. */
  readonly rules: readonly Rule[]
}

/** A subject, and what each of its rules found. */
export interface EvaluatedSubject extends SubjectFacts {
  readonly outcomes: readonly RuleOutcome[]
}

/** How subjects are evaluated, and how people are notified. Times are in milliseconds. */
export interface EvaluationOptions extends WorkflowOptions {
  readonly rules: ReadRules
  /** How long a notification that is not critical waits for others. */
  readonly groupFirstMs: number
  /** The least time between two grouped mails. */
  readonly groupNextMs: number
  /** Called each time the evaluation of a single subject fails. */
  readonly onFailed?: (failed: FailedSubject) => void
}

/** A subject whose evaluation failed. It is retried later. */
export interface FailedSubject extends Subject {
  readonly tenantId: string
  readonly error: unknown
}

/** A map key for a subject: `<kind>/<id>`. */
export const keyOf = ({ kind, id }: { readonly kind: SubjectCode; readonly id: number }) => `${kind}/${id}`
