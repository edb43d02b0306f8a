/** Several notifications in one mail: grouped by rule, worst first, limited in size. */

import type {
  AlertNotification,
  Notification,
  SummaryNotification,
} from '../../../domain/notifications/notification.ts'
import { count, counted, duration, ofLimit } from '../../../domain/quantity.ts'
import { oneLine, shortenLabel, shortenName } from './format.ts'
import { gistOf, labelText, SUBJECT_CHARS } from './subject.ts'
import {
  adviceOf,
  badgeOf,
  cycleOf,
  originText,
  paceText,
  sinceText,
  summaryView,
  type Tone,
  toneOf,
  usageText,
} from './views.ts'

interface DigestRow {
  readonly tone: Tone
  readonly label: string
  readonly message: string
  /** Usage, start and forecast; also the alert's badge if it differs from the group's. */
  readonly detail: string
}

export interface DigestGroup {
  readonly tone: Tone
  readonly badge: string
  readonly title: string
  /** The rule's file and version; null if the group has no rule. */
  readonly origin: string | null
  readonly size: string
  readonly rows: readonly DigestRow[]
  readonly more: string | null
  /** Sentences about what happens next, without duplicates. */
  readonly next: readonly string[]
  /** What the reader can do. */
  readonly advice: readonly string[]
}

export interface DigestView {
  readonly tone: Tone
  readonly subject: string
  readonly headline: string
  readonly counts: string
  /** Shown next to the subject in a list of mails. */
  readonly preheader: string
  readonly tenant: string
  readonly groups: readonly DigestGroup[]
  readonly more: string | null
}

/** A reader needs no more than 200 rows, and some mail programs cut off a mail at about 100 kB. */
const MAX_ROWS = 200
/** Most rows of one rule if there are others, so that a rule that fires everywhere does not hide them. */
const MAX_ROWS_OF_ONE_AMONG_OTHERS = 100
/** The frame of a group is as large as ten rows. */
const MAX_GROUPS = 20
/** Two lines of a row. The watchdog log has the whole message. */
export const MESSAGE_CHARS = 160
/** Two or three lines of the narrow column. */
export const LABEL_CHARS = 50
/** Three lines of a headline. */
const HEADLINE_CHARS = 150
/** Most different sentences of one rule. There are more than a few only if they contain instants. */
const MAX_SENTENCES = 3

const RANKS: Readonly<Record<Tone, number>> = { critical: 0, warning: 1, info: 2, resolved: 3 }
const rank = (told: Notification): number => RANKS[told.kind === 'summary' ? 'info' : toneOf(told)]

/**
 * Makes one view of several notifications of one tenant.
 *
 * @throws Error if there is no notification
 */
export function digestView(notifications: readonly Notification[]): DigestView {
  const [first] = notifications
  if (first === undefined) throw new Error('a mail needs at least one notification')
  const sorted = notifications.toSorted((a, b) => rank(a) - rank(b) || excess(b) - excess(a))
  const byRule = Map.groupBy(sorted, (told) => (told.kind === 'summary' ? '' : told.rule.name))
  const limit = byRule.size > 1 ? MAX_ROWS_OF_ONE_AMONG_OTHERS : MAX_ROWS
  const groups: DigestGroup[] = []
  const left = { rows: MAX_ROWS, unshown: 0, rules: 0 }
  // A Map keeps insertion order, so the group with the worst notification comes first.
  for (const members of byRule.values()) {
    const shown = members.slice(0, groups.length < MAX_GROUPS ? Math.min(limit, left.rows) : 0)
    left.rows -= shown.length
    if (shown.length > 0) groups.push(groupView(members, shown))
    else {
      left.unshown += members.length
      left.rules += 1
    }
  }
  const tenant = oneLine(first.tenantName)
  const counts = `${counted(notifications.length, 'notice')}: ${countsText(sorted)}`
  return {
    tone: groups[0]?.tone ?? 'info',
    subject: gistOf(sorted, SUBJECT_CHARS),
    headline: gistOf(sorted, HEADLINE_CHARS),
    counts,
    preheader: groups[0]?.rows[0]?.message ?? counts,
    tenant,
    groups,
    more:
      left.unshown === 0 ? null : `and ${counted(left.unshown, 'more notice')} of ${counted(left.rules, 'other rule')}`,
  }
}

/** Counts notifications by badge: "3 Critical, 8 Warning, 1 Resolved". */
function countsText(sorted: readonly Notification[]): string {
  const byBadge = Map.groupBy(sorted, (told) => (told.kind === 'summary' ? 'Billing cycle' : badgeOf(told)))
  return [...byBadge].map(([badge, { length }]) => `${count(length)} ${badge}`).join(', ')
}

/** Usage in percent of the limit. Within a level, the highest comes first. */
const excess = (told: Notification): number => (told.kind === 'summary' ? 0 : (told.facts.usagePct ?? 0))

const SUMMARIES = { tone: 'info', badge: 'Billing cycle', title: 'Billing cycles', origin: null } as const

/** The head of a group, by its worst alert. */
export const groupHead = (worst: AlertNotification) => ({
  tone: toneOf(worst),
  badge: badgeOf(worst),
  title: oneLine(worst.rule.name),
  origin: originText(worst.rule),
})

function groupView(members: readonly Notification[], shown: readonly Notification[]): DigestGroup {
  const alerts = members.filter((told) => told.kind !== 'summary')
  const [worst] = alerts
  const head = worst === undefined ? SUMMARIES : groupHead(worst)
  return {
    ...head,
    size: counted(members.length, 'notice'),
    rows: shown.map((told) => (told.kind === 'summary' ? summaryRow(told) : alertRow(told, head.badge))),
    more: members.length > shown.length ? `and ${count(members.length - shown.length)} more` : null,
    next: nextTexts(alerts),
    advice: adviceTexts(alerts),
  }
}

function alertRow(told: AlertNotification, badge: string): DigestRow {
  const own = badgeOf(told)
  const pace = paceText(told)
  const lasted = told.lastedMs === undefined ? null : `lasted ${duration(told.lastedMs)}`
  const message = shortenLabel(oneLine(told.message), MESSAGE_CHARS)
  const detail = [
    own === badge ? null : own,
    isSaid(told, message) ? null : usageText(told.facts),
    told.kind === 'resolved' ? lasted : `since ${sinceText(told)}`,
    pace === null ? null : `at this pace ${pace}`,
  ]
  return {
    tone: toneOf(told),
    label: shortenName(labelText(told.subject), LABEL_CHARS),
    message,
    detail: detail.filter((part) => part !== null).join(' · '),
  }
}

/** Whether the message already contains usage and limit. */
const isSaid = ({ facts: { usageMB, limitMB } }: AlertNotification, message: string): boolean =>
  usageMB !== null && limitMB !== null && message.includes(ofLimit(usageMB, limitMB))

function summaryRow(told: SummaryNotification): DigestRow {
  const { headline, lines, attachment } = summaryView(told)
  const figures = lines.map(({ label, value }) => `${label}: ${value}`)
  return {
    tone: 'info',
    label: cycleOf(told),
    message: headline,
    detail: [...figures, ...(attachment === null ? [] : [`statement: ${attachment}`])].join(' · '),
  }
}

/** What readers can do, each sentence once. */
export const adviceTexts = (alerts: readonly AlertNotification[]): string[] =>
  limited([...new Set(alerts.flatMap(adviceOf))])

/** What happens next, each sentence once. If there are several, each with the number of its notifications. */
export function nextTexts(alerts: readonly AlertNotification[]): string[] {
  const bySentence = [...Map.groupBy(alerts, ({ whatNext }) => oneLine(whatNext)).values()]
  const texts = bySentence.map((group) => {
    const [first] = group
    const { whatNext = '', whatNextOfMany = whatNext } = first ?? {}
    const sentence = oneLine(group.length === 1 ? whatNext : whatNextOfMany)
    return bySentence.length === 1 ? sentence : `${sentence} (${group.length})`
  })
  return limited(texts)
}

const limited = (texts: readonly string[]): string[] =>
  texts.length > MAX_SENTENCES
    ? [...texts.slice(0, MAX_SENTENCES), `and ${texts.length - MAX_SENTENCES} more`]
    : [...texts]
