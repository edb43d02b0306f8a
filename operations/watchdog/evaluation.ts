/** The types that the steps of an evaluation pass to each other. */

import { WatchdogMode } from '../../domain/codes.ts'
import { settingsInForce } from '../../domain/watchdog/settings.ts'
import type { Subject, SubjectKind } from '../../domain/watchdog/subject.ts'
import type { RuleOutcome } from '../../rules/engine/evaluate.ts'
import type { PoolFacts, SimFacts, TenantFacts } from '../../rules/facts.ts'
import type { Rule } from '../../rules/rule.ts'
import type { PoolFactRow, SimRow, TenantFactRow } from '../../store/watchdog/facts.ts'
import type { WorkflowOptions } from '../workflows/inputs.ts'
import type { ReadRules } from './rules-in-force.ts'

interface Of<K extends SubjectKind, Row, F> extends Subject {
  readonly kind: K
  readonly row: Row
  readonly facts: F
}
/** A subject, the row that was read of it, and its facts. */
export type SubjectFacts =
  | Of<'sim', SimRow, SimFacts>
  | Of<'pool', PoolFactRow, PoolFacts>
  | Of<'tenant', TenantFactRow, TenantFacts>

/** A subject and the rules attached to it; none if it is not watched. */
export type WatchedSubject = SubjectFacts & { readonly rules: readonly Rule[] }

/** A subject and the outcomes of its rules. */
export type EvaluatedSubject = WatchedSubject & { readonly outcomes: readonly RuleOutcome[] }

/** The name people use for a subject. */
export function subjectLabel(subject: SubjectFacts): string {
  switch (subject.kind) {
    case 'sim':
      return subject.row.tag === '' ? subject.row.iccid : subject.row.tag
    case 'pool':
      return subject.row.poolName
    case 'tenant':
      return subject.row.name
  }
}

/** The pool of a SIM, or the pool itself. */
export const poolIdOf = (subject: SubjectFacts): number | null =>
  subject.kind === 'tenant' ? null : subject.row.poolId

/** The mode in force. A tenant has none: Monitor. */
export function modeOf(subject: SubjectFacts): WatchdogMode {
  switch (subject.kind) {
    case 'sim':
      return settingsInForce(subject.row.own, subject.row.pool).watchdogMode
    case 'pool':
      return subject.row.mode
    case 'tenant':
      return WatchdogMode.Monitor
  }
}

/** Whether rules are evaluated for it: neither exempt nor Disabled. */
export const isWatched = (subject: SubjectFacts): boolean =>
  !(subject.kind === 'sim' && subject.row.exempt) && modeOf(subject) !== WatchdogMode.Disabled

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
export const keyOf = ({ kind, id }: Subject): string => `${kind}/${id}`
