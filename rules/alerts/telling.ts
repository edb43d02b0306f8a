/**
 * Chooses the tellings of an alert, and their channels. Pure; instants are epoch milliseconds.
 *
 * Telling is level-triggered and separate for log and mail: each reports a firing alert once, as soon as the rule is
 * permitted. So a rule with a raised stage reports alerts that still fire. A channel reports an end only if it has
 * reported the beginning.
 */
import { LogLevel } from '../../domain/codes.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { RuleOutcome } from '../engine/evaluate-subject.ts'
import { levelAt } from '../ladder.ts'
import { type AlertState, scopeOf } from './alert-state.ts'
import { type GuardAnswer, isHeld } from './guard.ts'
import { type AlertName, keyOfTelling, type TellingKind } from './keys.ts'
import type { Permission } from './permission.ts'
import type { Quiet } from './quiet.ts'

/** The basis of the decision about an alert. */
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

export const alertNameOf = ({ outcome: { rule }, subject, cycle }: AlertQuestion): AlertName => ({
  rule: rule.name,
  subject,
  scope: scopeOf(rule, cycle.key),
})

/** A telling: an entry of the watchdog log, or a notice to mail. */
export interface Telling {
  readonly kind: TellingKind
  /** Unique within the tenant's log, and within its notifications. */
  readonly key: string
  /** When the conditions became met, or a higher step was reached; for an end, when the alert ended. */
  readonly since: number
  /** How often the alert has fired in this billing cycle, for rules with `once: cycle`; 1 for all others. */
  readonly times: number
}

/** Most tellings that a state remembers. Beyond them, the unique key in the database prevents a second one. */
const REMEMBERED = 64

/** A mark of a telling: the kind, followed by the last part of the key. */
interface Mark {
  readonly kind: TellingKind
  readonly part: string
}
const markOf = ({ kind, part }: Mark): string => `${kind}${part}`

export function tell(state: AlertState, asked: AlertQuestion) {
  const { told, mailed } = state
  const log = dueOn(told, state, asked, asked.permission.log)
  const mail = dueOnMail(mailed, state, asked)
  const tellingsOf = (marks: readonly Mark[]) => marks.map((mark) => tellingOf(mark, state, asked))
  const add = (marks: readonly string[], due: readonly Mark[]) =>
    due.length === 0 ? marks : [...marks, ...due.map(markOf)].slice(-REMEMBERED)
  return {
    next: {
      ...state,
      told: add(told, log),
      mailed: add(mailed, mail.due),
      ...(mail.mailedAt === undefined ? {} : { mailedAt: mail.mailedAt }),
    },
    entries: tellingsOf(log),
    notices: tellingsOf(mail.due),
  }
}

function tellingOf({ kind, part }: Mark, state: AlertState, asked: AlertQuestion): Telling {
  const { returns = 0, since, began, steppedAt } = state
  return {
    kind,
    key: keyOfTelling(alertNameOf(asked), part, kind),
    since: kind === 'resolved' ? since : (steppedAt ?? began),
    times: asked.outcome.rule.event.params.once === 'cycle' ? returns + 1 : 1,
  }
}

/** Due tellings on a channel without anything held back. */
function dueOn(
  marks: readonly string[],
  state: AlertState,
  { outcome: { rule } }: AlertQuestion,
  isPermitted: boolean,
): Mark[] {
  if (!isPermitted) return []
  const changed: Mark[] =
    state.phase === 'firing'
      ? [{ kind: 'fired', part: state.part }]
      : state.phase === 'resolved' && state.withdrawn !== true && rule.resolve !== 'none'
        ? endOf(marks)
        : []
  return changed.filter((mark) => !marks.includes(markOf(mark)))
}

function endOf(marks: readonly string[]): Mark[] {
  const last = marks.findLast((mark) => mark.startsWith('fired') || mark.startsWith('resolved'))
  return last?.startsWith('fired') === true ? [{ kind: 'resolved', part: last.slice('fired'.length) }] : []
}

/** Due tellings by mail, and the time at which the firing is mailed. */
function dueOnMail(mailed: readonly string[], state: AlertState, asked: AlertQuestion) {
  const { outcome, permission, quiet } = asked
  const { rule } = outcome
  const due = dueOn(mailed, state, asked, permission.notify && rule.event.params.actions.includes('email')).filter(
    ({ kind }) => (kind === 'resolved' ? rule.resolve === 'email' : quiet === null && !isHeld(state)),
  )
  const mailedAt = due.some(({ kind }) => kind === 'fired') ? asked.now : state.mailedAt
  const next = { ...state, mailed: [...mailed, ...due.map(markOf)], ...(mailedAt === undefined ? {} : { mailedAt }) }
  const at = escalatesAt(next, asked)
  const escalated: Mark[] = at !== null && at <= asked.now ? [{ kind: 'escalated', part: state.part }] : []
  return { due: [...due, ...escalated], mailedAt }
}

/** The time at which a Critical alert without acknowledgement is escalated; null if it is not, or no longer. */
export function escalatesAt(
  state: AlertState,
  { outcome: { rule }, cycle, permission, quiet, escalateAfterMs, now }: AlertQuestion,
): number | null {
  const { phase, mailed, part } = state
  if (
    escalateAfterMs === null ||
    levelAt(rule, state.step) !== LogLevel.Critical ||
    phase !== 'firing' ||
    now >= cycle.endsAt
  )
    return null
  if (isHeld(state) || state.acknowledged !== undefined || quiet !== null || !permission.notify) return null
  const isMailed = (kind: TellingKind) => mailed.includes(markOf({ kind, part }))
  return isMailed('fired') && !isMailed('escalated') ? (state.mailedAt ?? state.since) + escalateAfterMs : null
}

/** The level of a telling about an alert of this level: an end is only information. */
export const levelOfTelling = ({ kind }: Telling, level: LogLevel): LogLevel =>
  kind === 'resolved' || kind === 'withdrawn' ? LogLevel.Info : level
