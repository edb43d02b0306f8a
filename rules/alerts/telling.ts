/**
 * Chooses the tellings of an alert, and their channels. Pure; instants are epoch milliseconds.
 *
 * Telling is level-triggered and separate for log and mail: each reports a firing alert once, as soon as the rule is
 * permitted. So a rule with a raised stage reports alerts that still fire. A channel reports an end only if it has
 * reported the beginning.
 */
import { LogLevel } from '../../domain/codes.ts'
import { levelAt } from '../ladder.ts'
import type { AlertQuestion } from './alert-question.ts'
import type { AlertState } from './alert-state.ts'
import { isHeld } from './guard.ts'
import { type AlertName, keyOfTelling, type TellingKind } from './keys.ts'

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

interface TellingQuestion extends AlertQuestion {
  readonly name: AlertName
}

/** A mark of a telling: the kind, followed by the last part of the key. */
interface Mark {
  readonly kind: TellingKind
  readonly part: string
}
const markOf = ({ kind, part }: Mark): string => `${kind}${part}`

/** Finds due tellings on each channel. */
export function tell(state: AlertState, asked: TellingQuestion) {
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

function tellingOf({ kind, part }: Mark, state: AlertState, { name, outcome: { rule } }: TellingQuestion): Telling {
  const { returns = 0 } = state
  const began = state.steppedAt ?? state.began
  return {
    kind,
    key: keyOfTelling(name, part, kind),
    since: kind === 'resolved' ? state.since : began,
    times: rule.event.params.once === 'cycle' ? returns + 1 : 1,
  }
}

/** Due tellings on a channel without anything held back. */
function dueOn(
  marks: readonly string[],
  state: AlertState,
  { outcome: { rule } }: TellingQuestion,
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

/** The end of the last reported firing. */
function endOf(marks: readonly string[]): Mark[] {
  const last = marks.findLast((mark) => mark.startsWith('fired') || mark.startsWith('resolved'))
  return last?.startsWith('fired') === true ? [{ kind: 'resolved', part: last.slice('fired'.length) }] : []
}

/** Due tellings by mail, and the time at which the firing is mailed. */
function dueOnMail(mailed: readonly string[], state: AlertState, asked: TellingQuestion) {
  const { outcome, permission, quiet } = asked
  const { rule } = outcome
  const due = dueOn(mailed, state, asked, permission.notify && rule.event.params.actions.includes('email')).filter(
    ({ kind }) => (kind === 'resolved' ? rule.resolve === 'email' : quiet === null && !isHeld(state)),
  )
  const mailedAt = due.some(({ kind }) => kind === 'fired') ? asked.now : state.mailedAt
  const next = { ...state, mailed: [...mailed, ...due.map(markOf)], ...(mailedAt === undefined ? {} : { mailedAt }) }
  return { due: [...due, ...escalation(next, asked)], mailedAt }
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

function escalation(state: AlertState, asked: TellingQuestion): Mark[] {
  const at = escalatesAt(state, asked)
  return at !== null && at <= asked.now ? [{ kind: 'escalated', part: state.part }] : []
}

/** The level of a telling about an alert of this level: an end is only information. */
export const levelOfTelling = ({ kind }: Telling, level: LogLevel): LogLevel =>
  kind === 'resolved' || kind === 'withdrawn' ? LogLevel.Info : level
