/** Compares the reactions of rules with a test's expectations: every reaction, by the fields that each gives. */

import { LogLevel, labelOf } from '../../domain/codes.ts'
import { counted } from '../../domain/quantity.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import type { PlayResult } from './play.ts'
import { instantText, readInstant } from './read-series.ts'
import { ENTRY_KINDS, type Expectation, type ExpectedEntry } from './test-file.ts'

export interface Miss {
  /** JSON pointer below `expect`: the expectation, or the list that lacks one. */
  readonly pointer: string
  readonly expected: string
  readonly got: string
}

export function compare(
  { alerts = [], entries = [], mails = [], suspensions = [] }: Expectation,
  played: PlayResult,
): Miss[] {
  return [
    ...alerts.flatMap((asked, n) => missedPhase(asked, `/alerts/${n}`, played)),
    ...matched(entries, entriesOf(played), 'entries', isEntry),
    ...missedMails(mails, played),
    ...matched(suspensions, suspensionsOf(played), 'suspensions', isSuspension),
  ]
}

const after = (ms: number, { startsAt }: PlayResult): number => ms - startsAt
const isAt = (text: string, ms: number): boolean => {
  const { at, until } = readInstant(text)
  return ms >= at && ms < until
}

function missedPhase(
  [when, subject, phase, rule]: NonNullable<Expectation['alerts']>[number],
  pointer: string,
  played: PlayResult,
): Miss[] {
  const { startsAt, billingCycle, phases } = played
  const at = startsAt + readInstant(when).at
  const { key } = cycleAt(billingCycle, at)
  const changes = phases.filter((one) => one.subject === subject && one.at <= at && (rule ?? one.rule) === one.rule)
  const rules = [...new Set(changes.map((one) => one.rule))]
  const now = rules.map(
    (name) =>
      changes.findLast((one) => one.rule === name && (one.scope === '' || one.scope === key))?.phase ?? 'inactive',
  )
  const got = now.length === 0 ? ['inactive'] : now
  return got.some((each) => each === phase)
    ? []
    : [{ pointer, expected: `${when} ${subject} ${phase}`, got: got.join(', ') }]
}

interface Occasion {
  readonly at: number
  readonly words: string
}
interface LogEntry extends Occasion {
  readonly kind: string
  readonly what: string
  readonly subject: string
  readonly level: string | null
  readonly message: string
}

const entriesOf = (played: PlayResult): LogEntry[] =>
  [
    ...played.entries.map(({ at, kind, rule, subject, level, message }) => ({
      at: after(at, played),
      kind,
      what: rule,
      subject,
      level: labelOf(LogLevel, level),
      message,
      words: `${instantText(after(at, played))} ${kind} ${rule}, ${subject}: ${message}`,
    })),
    ...played.would.map(({ at, rule, sim }) => ({
      at: after(at, played),
      kind: 'wouldSuspend',
      what: sim,
      subject: sim,
      level: null,
      message: '',
      words: `${instantText(after(at, played))} wouldSuspend ${sim}, by ${rule}`,
    })),
  ].toSorted((a, b) => a.at - b.at)

function isEntry(expected: ExpectedEntry, entry: LogEntry): boolean {
  const kind = ENTRY_KINDS.find((each) => expected[each] !== undefined)
  return (
    isAt(expected.at, entry.at) &&
    kind === entry.kind &&
    expected[kind] === entry.what &&
    (expected.subject ?? entry.subject) === entry.subject &&
    (expected.level ?? entry.level) === entry.level &&
    entry.message.includes(expected.says ?? '')
  )
}

interface SuspensionOccasion extends Occasion {
  readonly sim: string
  readonly to: number | null
}

const suspensionsOf = (played: PlayResult): SuspensionOccasion[] =>
  played.suspensions.map(({ sim, rule, from, to }) => ({
    at: after(from, played),
    sim,
    to: to === null ? null : after(to, played),
    words: `${sim} from ${instantText(after(from, played))} to ${to === null ? 'the end' : instantText(after(to, played))}, by ${rule}`,
  }))

const isSuspension = (
  { sim, from, to }: NonNullable<Expectation['suspensions']>[number],
  got: SuspensionOccasion,
): boolean => sim === got.sim && isAt(from, got.at) && (to === undefined || (got.to !== null && isAt(to, got.to)))

/** Most unexpected reactions shown next to each missing one. */
const MOST_SHOWN = 3

/** Pairs expectations with reactions, as many as possible. Unpaired ones on either side are misses. */
function matched<E extends object, H extends Occasion>(
  expected: readonly E[],
  happened: readonly H[],
  list: string,
  fits: (expected: E, happened: H) => boolean,
): Miss[] {
  const taken = new Map<number, number>()
  const find = (n: number, tried: Set<number>): boolean =>
    happened.some((one, at) => {
      const wanted = expected[n]
      if (wanted === undefined || tried.has(at) || !fits(wanted, one)) return false
      tried.add(at)
      const holder = taken.get(at)
      if (holder !== undefined && !find(holder, tried)) return false
      taken.set(at, n)
      return true
    })
  const missing = expected.map((_, n) => n).filter((n) => !find(n, new Set()))
  const left = happened.filter((_, at) => !taken.has(at)).map(({ words }) => words)
  return [
    ...missing.map((n) => ({
      pointer: `/${list}/${n}`,
      expected: JSON.stringify(expected[n]),
      got: left.length === 0 ? 'nothing else' : left.slice(0, MOST_SHOWN).join('; '),
    })),
    ...(missing.length === 0 ? left : left.slice(MOST_SHOWN)).map((words) => ({
      pointer: `/${list}`,
      expected: 'nothing else',
      got: words,
    })),
  ]
}

/** Notices are counted by the time their mail leaves at the earliest. */
function missedMails(mails: NonNullable<Expectation['mails']>, played: PlayResult): Miss[] {
  const due = played.notices.map((notice) => ({ ...notice, due: after(notice.dueAt, played) }))
  const wrong = mails.flatMap(({ at, notices }, n): Miss[] => {
    const there = due.filter((one) => isAt(at, one.due))
    const named = there.map(({ rule, kind }) => `${rule} ${kind}`).join(', ')
    const got = named === '' ? '0' : `${there.length}: ${named}`
    return there.length === notices
      ? []
      : [{ pointer: `/mails/${n}`, expected: `${at} ${counted(notices, 'notice')}`, got }]
  })
  const others = due.filter((one) => !mails.some(({ at }) => isAt(at, one.due)))
  return [
    ...wrong,
    ...others.map((one) => ({
      pointer: '/mails',
      expected: 'nothing else',
      got: `${instantText(one.due)} ${one.kind} ${one.rule}, ${one.subject}`,
    })),
  ]
}
