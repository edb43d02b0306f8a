/** How subjects are evaluated, and the reports of evaluations. */
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { AlertPhase } from '../../rules/alerts/alert-state.ts'
import type { AlertReason } from '../../rules/alerts/decide-alert.ts'
import type { TellingKind } from '../../rules/alerts/keys.ts'
import type { Store } from '../../store/tenancy.ts'
import type { ReadRules } from '../rules/rules-in-force.ts'

/** How subjects are evaluated, and how people are notified. Times are in milliseconds. */
export interface EvaluationOptions {
  readonly rules: ReadRules
  /** How long a notification below critical waits for others. */
  readonly groupFirstMs: number
  /** The least time between two grouped mails. */
  readonly groupNextMs: number
  /**
   * Whether a pool that stays over is signalled again only after a new look at it: for a replay, where each change is
   * seen. Default: also by time alone.
   */
  readonly asksOnceUnseen?: boolean
  readonly onFailed?: (failed: FailedSubject) => void
  readonly onDecided?: (decided: DecidedCounts) => void
}

/** The tenant whose subjects are evaluated, where, how, and in which cycle. */
export interface EvaluationScope {
  readonly store: Store
  readonly options: EvaluationOptions
  readonly tenantId: string
  /** An ended cycle. Absent: the running one. */
  readonly ended?: Cycle
}

/** Decisions about alerts. It names no subject: its counters must not grow with the estate. */
export interface DecidedCounts {
  /** How many subjects the engine decided on. */
  readonly subjects: number
  /** Alerts that came into a phase, by rule. */
  readonly alerts: readonly { readonly rule: string; readonly phase: AlertPhase }[]
  /** Notices to mail, and newly withheld ones, with the reason. */
  readonly notices: readonly { readonly kind: TellingKind; readonly reason: NoticeReason }[]
  /** Rules that could be decided about a subject before, and cannot be now. */
  readonly errors: readonly { readonly rule: string }[]
}

/** `due`: it is to be mailed. `tookBack`: it had not left when its alert ended. */
export type NoticeReason = 'due' | 'tookBack' | AlertReason

/** A subject whose evaluation failed, to be retried. */
export interface FailedSubject extends Subject {
  readonly tenantId: string
  readonly error: unknown
}
