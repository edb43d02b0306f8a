/**
 * The view of each kind of mail, as finished strings. Both parts of a mail are written from one view, so their numbers
 * cannot differ.
 */

import { LogLevel } from '../domain/codes.ts'
import { isOperator, OPERATORS } from '../domain/watchdog/operators.ts'
import { count, counted, factValue, instant, levelLabel, megabytes, money, oneLine, percent } from './format.ts'
import type { AlertNotification, Reason, SummaryNotification } from './notification.ts'

export interface Line {
  readonly label: string
  readonly value: string
}

/** Colour of a mail and its rows. */
export type Tone = 'critical' | 'warning' | 'info' | 'resolved'

export interface AlertView {
  readonly tone: Tone
  readonly badge: string
  readonly headline: string
  readonly subject: string
  readonly tenant: string
  readonly lines: readonly Line[]
  readonly why: readonly string[]
  readonly rule: string
  readonly howToStop: string
}

export interface SummaryView {
  readonly tone: Tone
  readonly headline: string
  readonly period: string
  readonly tenant: string
  readonly lines: readonly Line[]
  readonly pools: readonly {
    readonly name: string
    readonly usage: string
    readonly over: string
    readonly charge: string
  }[]
  readonly morePools: string | null
  readonly failures: readonly { readonly iccid: string; readonly what: string; readonly reason: string }[]
  readonly moreFailures: string | null
  /** Name of the attached statement. */
  readonly attachment: string | null
}

/** Nobody reads a mail beyond these limits, and some clients cut it off. The statement has all pools. */
const MAX_POOLS = 100
const MAX_FAILURES = 50

const TONES = { [LogLevel.Info]: 'info', [LogLevel.Warning]: 'warning', [LogLevel.Critical]: 'critical' } as const
const SUBJECTS = { sim: 'SIM', pool: 'Pool', tenant: 'Tenant' } as const
const KINDS = { fired: '', resolved: 'Resolved', graceStarted: 'Grace started', graceEnding: 'Grace ending' } as const
const FOUND = { fired: 'Noticed', resolved: 'Resolved', graceStarted: 'Grace began', graceEnding: 'Written' } as const

const reasonText = ({ fact, value, operator, operand }: Reason): string => {
  const comparison = isOperator(operator) ? OPERATORS[operator].inMail : oneLine(operator)
  return `${oneLine(fact)} is ${factValue(value)}: ${comparison} ${factValue(operand)}`
}

/** Formats usage as "12 MB of 500 MB (2.4 %)"; null if usage is unknown. */
export function usageText({ usageMB, limitMB, usagePct }: AlertNotification['facts']): string | null {
  if (usageMB === null) return null
  const limit = limitMB === null ? '' : ` of ${megabytes(limitMB)}`
  return `${megabytes(usageMB)}${limit}${usagePct === null ? '' : ` (${percent(usagePct)})`}`
}

export const paceText = (pace: string | null): string | null =>
  pace === null ? null : `over the limit on ${instant(pace)}`

/** The badge of an alert: its level if it fired, otherwise its kind. */
export const badgeOf = ({ kind, level }: AlertNotification): string => KINDS[kind] || levelLabel(level)

export const toneOf = ({ kind, level }: AlertNotification): Tone => (kind === 'resolved' ? 'resolved' : TONES[level])

export const originText = ({ file, version }: AlertNotification['rule']): string =>
  `${oneLine(file)}, version ${version}`

export function alertView(notification: AlertNotification): AlertView {
  const { facts, kind } = notification
  const over = facts.overageMB === null || facts.overageMB <= 0 ? null : megabytes(facts.overageMB)
  const since = instant(notification.since)
  const found = instant(notification.at)
  const subject = `${SUBJECTS[notification.subject.kind]} ${oneLine(notification.subject.label)}`
  return {
    tone: toneOf(notification),
    badge: badgeOf(notification),
    headline: oneLine(notification.message),
    subject,
    tenant: oneLine(notification.tenantName),
    lines: [
      line(
        SUBJECTS[notification.subject.kind],
        `${oneLine(notification.subject.label)} (id ${oneLine(String(notification.subject.id))})`,
      ),
      line('Usage', usageText(facts)),
      line('Over the limit by', over),
      line('Since', since),
      line(FOUND[kind], found === since ? null : found),
      line('At this pace', paceText(notification.pace)),
      line('What happens next', oneLine(notification.whatNext)),
    ].flatMap((each) => each ?? []),
    why: notification.why.map(reasonText),
    rule: `${oneLine(notification.rule.name)} (${originText(notification.rule)})`,
    howToStop: oneLine(notification.howToStop),
  }
}

const line = (label: string, value: string | null): Line | undefined => (value === null ? undefined : { label, value })

export function summaryView(notification: SummaryNotification): SummaryView {
  const { figures, cycle, pools, failures } = notification
  const sims = Object.entries(figures.simsByStatus).map(([label, n]) => `${count(n)} ${label}`)
  return {
    tone: TONES[notification.level],
    headline: `Billing cycle ${oneLine(cycle.key)} is closed`,
    period: `${instant(cycle.startsAt)} to ${instant(cycle.endsAt)}`,
    tenant: oneLine(notification.tenantName),
    lines: [
      { label: 'Charges', value: money(figures.chargesMicro) },
      ...adjustmentLines(notification),
      { label: 'Usage', value: megabytes(figures.usageMB) },
      { label: 'Overage', value: megabytes(figures.overageMB) },
      { label: 'SIMs', value: sims.join(', ') || 'none' },
      { label: 'Queued changes applied', value: count(figures.movesApplied) },
      { label: 'Queued changes failed', value: count(figures.movesFailed) },
      { label: 'Unassigned', value: count(figures.unassigned) },
      { label: 'Brought back', value: count(figures.reactivated) },
      { label: 'Still suspended', value: count(figures.stillSuspended) },
    ],
    pools: pools.slice(0, MAX_POOLS).map((pool) => ({
      name: oneLine(pool.name),
      usage: `${megabytes(pool.usageMB)} of ${megabytes(pool.limitMB)}`,
      over: pool.overageMB > 0 ? megabytes(pool.overageMB) : '–',
      charge: money(pool.chargeMicro),
    })),
    morePools: moreThan(pools.length, MAX_POOLS, 'pool'),
    failures: failures
      .slice(0, MAX_FAILURES)
      .map(({ iccid, what, reason }) => ({ iccid: oneLine(iccid), what: oneLine(what), reason: oneLine(reason) })),
    moreFailures: moreThan(failures.length, MAX_FAILURES, 'failure'),
    attachment: attachmentText(notification),
  }
}

/** Most cycles whose adjustments are listed one by one. */
const MAX_ADJUSTED = 12

function adjustmentLines({ adjustments = [] }: SummaryNotification): Line[] {
  const named = adjustments.slice(-MAX_ADJUSTED).map(({ cycle, lines, usageMB, chargeMicro }) => ({
    label: `of which for ${oneLine(cycle)}`,
    value: `${money(chargeMicro)} (${counted(lines, 'adjustment')}, ${megabytes(usageMB)})`,
  }))
  const others = adjustments.slice(0, -MAX_ADJUSTED)
  if (others.length === 0) return named
  const chargeMicro = others.reduce((sum, other) => sum + other.chargeMicro, 0)
  return [{ label: 'of which for cycles before', value: money(chargeMicro) }, ...named]
}

function attachmentText(notification: SummaryNotification): string | null {
  if (notification.statementCsv === undefined) return null
  const name = statementName(notification)
  if (notification.statementLinesLeftOut === undefined) return name
  const whole = `/internal/cycles/${oneLine(notification.cycle.key)}/statement.csv`
  return `${name}, its pools only: ${counted(notification.statementLinesLeftOut, 'more line')} at ${whole}`
}

/** File name of a cycle's statement. */
export const statementName = ({ cycle }: SummaryNotification): string =>
  `statement-${cycle.key.replace(/[^\w-]/g, '')}.csv`

const moreThan = (all: number, shown: number, what: string): string | null =>
  all > shown ? `and ${counted(all - shown, `more ${what}`)}` : null
