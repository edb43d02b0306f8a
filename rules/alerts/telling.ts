/**
 * What is told about an alert, and where. Pure; instants are epoch milliseconds.
 *
 * Telling is level-triggered and separate for log and mail: while an alert fires, each is told once, as soon as the
 * rule may. So a rule whose stage is raised tells what still fires. An end is told only where the beginning was.
 */
import { LogLevel } from '../../domain/codes.ts'
import { levelAt } from '../ladder.ts'
import { isHeld } from './guard.ts'
import { type AlertName, keyOfTelling, type TellingKind } from './keys.ts'
import type { AlertQuestion } from './question.ts'
import type { AlertState } from './state.ts'

/** Something to tell: an entry of the watchdog log, or a notice to mail. */
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

interface Asked extends AlertQuestion {
  readonly name: AlertName
}

/** A mark of what was told: the kind, followed by the last part of the key. */
interface Mark {
  readonly kind: TellingKind
  readonly part: string
}
const markOf = ({ kind, part }: Mark): string => `${kind}${part}`

/** Tells what is due on each channel. */
export function tell(state: AlertState, asked: Asked) {
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

function tellingOf({ kind, part }: Mark, state: AlertState, { name, outcome: { rule } }: Asked): Telling {
  const { returns = 0 } = state
  const began = state.steppedAt ?? state.began
  return {
    kind,
    key: keyOfTelling(name, part, kind),
    since: kind === 'resolved' ? state.since : began,
    times: rule.event.params.once === 'cycle' ? returns + 1 : 1,
  }
}

/** What is due where nothing is held back. */
function dueOn(
  marks: readonly string[],
  state: AlertState,
  { outcome: { rule } }: Asked,
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

/** The end of what was last told to fire. */
function endOf(marks: readonly string[]): Mark[] {
  const last = marks.findLast((mark) => mark.startsWith('fired') || mark.startsWith('resolved'))
  return last?.startsWith('fired') === true ? [{ kind: 'resolved', part: last.slice('fired'.length) }] : []
}

/** What is due by mail, and when people are mailed that it fires. */
function dueOnMail(mailed: readonly string[], state: AlertState, asked: Asked) {
  const { outcome, permission, quiet } = asked
  const { rule } = outcome
  const due = dueOn(mailed, state, asked, permission.notify && rule.event.params.actions.includes('email')).filter(
    ({ kind }) => (kind === 'resolved' ? rule.resolve === 'email' : quiet === null && !isHeld(state)),
  )
  const mailedAt = due.some(({ kind }) => kind === 'fired') ? asked.now : state.mailedAt
  const next = { ...state, mailed: [...mailed, ...due.map(markOf)], ...(mailedAt === undefined ? {} : { mailedAt }) }
  return { due: [...due, ...escalation(next, asked)], mailedAt }
}

/** When a Critical alert that nobody acknowledges is escalated; null if it is not, or no more. */
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

function escalation(state: AlertState, asked: Asked): Mark[] {
  const at = escalatesAt(state, asked)
  return at !== null && at <= asked.now ? [{ kind: 'escalated', part: state.part }] : []
}

/** The level of a telling about an alert of this level: an end is no more than information. */
export const levelOfTelling = ({ kind }: Telling, level: LogLevel): LogLevel =>
  kind === 'resolved' || kind === 'withdrawn' ? LogLevel.Info : level
