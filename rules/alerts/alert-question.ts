/** The basis of the decision about an alert. Instants are epoch milliseconds. */
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { RuleOutcome } from '../engine/evaluate-subject.ts'
import type { AlertState } from './alert-state.ts'
import type { GuardAnswer } from './guard.ts'
import type { Permission } from './permission.ts'
import type { Quiet } from './quiet.ts'

export interface AlertQuestion {
  readonly outcome: RuleOutcome
  readonly subject: Subject
  readonly cycle: Cycle
  readonly permission: Permission
  /** The silence or alert that holds back its firing notices; null if none. */
  readonly quiet: Quiet | null
  /** How long a Critical alert may be without acknowledgement before it is escalated; null: for ever. */
  readonly escalateAfterMs: number | null
  /** Since when the tenant's usage feed is stale; null: it is not. */
  readonly staleSince: number | null
  /** The answer of the guard on firing. Default: there is room. */
  readonly guard?: GuardAnswer
  /** State of the same rule, subject and scope; null if there is none yet. */
  readonly previous: AlertState | null
  readonly now: number
}
