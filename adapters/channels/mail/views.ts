/**
 * The view of each kind of mail, as finished strings. Both parts of a mail use the same view, so their numbers cannot
 * differ.
 */

import { LogLevel, labelOf } from '../../../domain/codes.ts'
import { cycleName, instant, shortInstant } from '../../../domain/local-time.ts'
import { isHold } from '../../../domain/notifications/cause.ts'
import type {
  AlertNotification,
  Notification,
  Reason,
  SummaryNotification,
} from '../../../domain/notifications/notification.ts'
import { amount, count, counted, duration, megabytes, money, ofLimit, percent } from '../../../domain/quantity.ts'
import { isOperator, OPERATORS } from '../../../domain/rules/operators.ts'
import { factValue, KINDS, oneLine, shortenName } from './format.ts'
import { labelText, SUBJECT_NOUNS, sentencesOf } from './subject.ts'

export interface Line {
  readonly label: string
  readonly value: string
}

/** Colour of a mail and its rows. */
export type Tone = 'critical' | 'warning' | 'info' | 'resolved'

export interface AlertView {
  readonly tone: Tone
  readonly badge: string
  /** The message's first sentence. */
  readonly headline: string
  /** The remaining message; empty if there is none. */
  readonly more: string
  /** Shown next to the subject in a list of mails. */
  readonly preheader: string
  readonly tenant: string
  readonly lines: readonly Line[]
  readonly why: readonly string[]
  readonly rule: string
  /** What the reader can do; null if the alert has ended. */
  readonly advice: string | null
}

/** The mail that signs in a contact, in sentences. */
export interface SignInView {
  readonly tenant: string
  readonly asked: string
  readonly byLink: string
  readonly byCode: string
  readonly url: string
  readonly codeUrl: string
  readonly code: string
  readonly ends: string
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

/** A reader needs no more, and some mail programs cut off longer mails. The statement has all pools. */
const MAX_POOLS = 100
const POOL_CHARS = 60
const MAX_FAILURES = 50

const TONES = { [LogLevel.Info]: 'info', [LogLevel.Warning]: 'warning', [LogLevel.Critical]: 'critical' } as const

/** "data used: 85 MB, above 80 MB"; "180 kB above its limit of 100 MB"; "its IMEI has changed". */
function reasonText(reason: Reason, facts: AlertNotification['facts']): string {
  const { fact, label, value, operator, operand, unit } = reason
  if (operator === 'equal' && typeof value === 'boolean') return `${value ? '' : 'not: '}${oneLine(label)}`
  if (fact === 'overageMB' && operand === 0 && typeof value === 'number' && value > 0 && facts.limitMB !== null)
    return `${megabytes(value, [facts.limitMB])} above its limit of ${megabytes(facts.limitMB)}`
  if (operator === 'equal') return `${oneLine(label)}: ${factValue(value, unit)}`
  const comparison = isOperator(operator) ? OPERATORS[operator].inMail : oneLine(operator)
  const operands = Array.isArray(operand) ? operand : [operand]
  const limits = unit === 'MB' && value === facts.usageMB ? [facts.limitMB] : []
  return `${oneLine(label)}: ${factValue(value, unit, [...operands, ...limits])}, ${comparison} ${factValue(operand, unit, [value])}`
}

/** Formats usage as "12 of 500 MB (2.4 %)"; null if usage is unknown. */
export function usageText({ usageMB, limitMB, usagePct }: AlertNotification['facts']): string | null {
  if (usageMB === null) return null
  const used = limitMB === null ? megabytes(usageMB) : ofLimit(usageMB, limitMB)
  return `${used}${usagePct === null ? '' : ` (${percent(usagePct)})`}`
}

/** An instant in the time zone of a notification's tenant. */
export const instantOf = ({ timeZone }: Notification, iso: string): string => oneLine(instant(iso, timeZone))

export const paceText = (alert: AlertNotification): string | null =>
  alert.pace === null ? null : `over the limit on ${instantOf(alert, alert.pace)}`

/** The start, and the time since. */
export function sinceText(alert: AlertNotification): string {
  const ms = Date.parse(alert.at) - Date.parse(alert.since)
  return `${instantOf(alert, alert.since)}${ms >= MINUTE_MS ? `, for ${duration(ms)}` : ''}`
}

const MINUTE_MS = 60_000

/** The badge of an alert: its level if it fired, otherwise its kind. */
export function badgeOf({ kind, level, times = 1 }: AlertNotification): string {
  const badge = KINDS[kind].badge || labelOf(LogLevel, level)
  return kind === 'fired' && times > 1 ? `${badge} again` : badge
}

export const toneOf = ({ kind, level }: AlertNotification): Tone =>
  kind === 'resolved' || kind === 'broughtBack' ? 'resolved' : TONES[level]

export const originText = ({ file, version }: AlertNotification['rule']): string =>
  `${oneLine(file)}, version ${version}`

export function alertView(notification: AlertNotification): AlertView {
  const { facts, kind, subject, lastedMs } = notification
  const over = overText(facts)
  const { first, rest } = sentencesOf(oneLine(notification.message), labelText(subject))
  const found = instantOf(notification, notification.at)
  const iccid = subject.iccid === undefined ? '' : `ICCID ${oneLine(subject.iccid)}, `
  return {
    tone: toneOf(notification),
    badge: badgeOf(notification),
    headline: first,
    more: rest,
    preheader: preheaderOf(notification, over, rest),
    tenant: oneLine(notification.tenantName),
    lines: [
      line(SUBJECT_NOUNS[subject.kind], `${labelText(subject)} (${iccid}id ${oneLine(String(subject.id))})`),
      line('Usage', usageText(facts)),
      line('Over the limit by', over),
      line('Since', kind === 'resolved' ? null : sinceText(notification)),
      line('Lasted', lastedMs === undefined ? null : duration(lastedMs)),
      line(
        KINDS[kind].found,
        kind !== 'resolved' && found === instantOf(notification, notification.since) ? null : found,
      ),
      line(
        'How often',
        notification.times === undefined ? null : `${count(notification.times)} times in this billing cycle`,
      ),
      line('At this pace', paceText(notification)),
      line('What happens next', oneLine(notification.whatNext)),
    ].flatMap((each) => each ?? []),
    // At an end they no longer hold.
    why: kind === 'resolved' ? [] : notification.why.map((reason) => reasonText(reason, facts)),
    rule: `${oneLine(notification.rule.name)} (${originText(notification.rule)})`,
    advice: adviceOf(notification)[0] ?? null,
  }
}

/** Null without a limit: a tenant's overage is the sum of those of its pools. */
const overText = ({ overageMB, limitMB }: AlertNotification['facts']): string | null =>
  overageMB === null || overageMB <= 0 || limitMB === null ? null : megabytes(overageMB, [limitMB])

/** What the reader can do; empty for an ended alert. */
export const adviceOf = ({ kind, advice }: AlertNotification): string[] =>
  kind === 'resolved' || kind === 'broughtBack' ? [] : [oneLine(advice)]

/** For information only: a list of mails shows another preheader. */
const FOR_INFORMATION = 'Nothing: this is for your information.'

/** "180 kB over since 2026-11-21 14:02 +01:00. The watchdog suspends the SIM now." Never empty. */
function preheaderOf(alert: AlertNotification, over: string | null, more: string): string {
  const { kind, lastedMs, pace, times = 1, timeZone } = alert
  const next = oneLine(alert.whatNext)
  if (isHold(alert)) return `${oneLine(alert.advice)} ${next}`
  if (kind === 'resolved') return lastedMs === undefined ? next : `It lasted ${duration(lastedMs)}.`
  const said = [
    over === null ? null : `${over} over since ${oneLine(shortInstant(alert.since, timeZone))}.`,
    times === 1 ? null : `${count(times)} times in this billing cycle.`,
    pace === null ? null : `At this pace over the limit on ${oneLine(shortInstant(pace, timeZone))}.`,
  ].filter((part) => part !== null)
  const last = next !== FOR_INFORMATION ? [next] : said.length > 0 ? [] : [more || next]
  return [...said, ...last].join(' ')
}

const line = (label: string, value: string | null): Line | undefined => (value === null ? undefined : { label, value })

export function summaryView(notification: SummaryNotification): SummaryView {
  const { figures, cycle, pools, failures } = notification
  const sims = Object.entries(figures.simsByStatus).map(([label, n]) => `${count(n)} ${label}`)
  return {
    tone: TONES[notification.level],
    headline: `Billing cycle ${cycleOf(notification)} is closed`,
    period: `${instantOf(notification, cycle.startsAt)} to ${instantOf(notification, cycle.endsAt)}`,
    tenant: oneLine(notification.tenantName),
    lines: [
      { label: 'Charges', value: money(figures.chargesMicro, figures.currency) },
      ...adjustmentLines(notification),
      { label: 'Usage', value: megabytes(figures.usageMB) },
      { label: 'Overage', value: megabytes(figures.overageMB) },
      { label: 'SIMs', value: sims.join(', ') || 'none' },
      { label: 'Queued changes applied', value: count(figures.movesApplied) },
      { label: 'Queued changes failed', value: count(figures.movesFailed) },
      { label: 'Unassigned', value: count(figures.unassigned) },
      { label: 'Active again', value: count(figures.reactivated) },
      { label: 'Still suspended', value: count(figures.stillSuspended) },
    ],
    pools: pools.slice(0, MAX_POOLS).map((pool) => ({
      name: shortenName(oneLine(pool.name), POOL_CHARS),
      usage: ofLimit(pool.usageMB, pool.limitMB),
      over: pool.overageMB > 0 ? megabytes(pool.overageMB) : '–',
      charge: amount(pool.chargeMicro, figures.currency),
    })),
    morePools: moreThan(pools.length, MAX_POOLS, 'pool'),
    failures: failures
      .slice(0, MAX_FAILURES)
      .map(({ iccid, what, reason }) => ({ iccid: oneLine(iccid), what: oneLine(what), reason: oneLine(reason) })),
    moreFailures: moreThan(failures.length, MAX_FAILURES, 'failure'),
    attachment: attachmentText(notification),
  }
}

/** The cycle of a summary, in the time zone of its tenant. */
export const cycleOf = ({ cycle, timeZone }: SummaryNotification): string => oneLine(cycleName(cycle, timeZone))

/** Most cycles whose adjustments are listed singly. */
const MAX_ADJUSTED = 12

function adjustmentLines({ adjustments, figures }: SummaryNotification): Line[] {
  const named = adjustments.slice(-MAX_ADJUSTED).map(({ cycle, lines, usageMB, chargeMicro }) => ({
    label: `of which for ${oneLine(cycle)}`,
    value: `${amount(chargeMicro, figures.currency)} (${counted(lines, 'adjustment')}, ${megabytes(usageMB)})`,
  }))
  const others = adjustments.slice(0, -MAX_ADJUSTED)
  if (others.length === 0) return named
  const chargeMicro = others.reduce((sum, other) => sum + other.chargeMicro, 0)
  return [{ label: 'of which for cycles before', value: amount(chargeMicro, figures.currency) }, ...named]
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
