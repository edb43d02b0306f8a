/**
 * Subjects of mails: the name, the amount and the consequence. The tenant is in the sender's name.
 *
 * A name that is too long is cut, to keep the figure and the consequence.
 */

import { cycleName } from '../../../domain/local-time.ts'
import { isHold } from '../../../domain/notifications/cause.ts'
import type {
  AlertNotification,
  Notification,
  SummaryNotification,
} from '../../../domain/notifications/notification.ts'
import { count, counted, megabytes, money, ofLimit, percent } from '../../../domain/quantity.ts'
import { KINDS, oneLine, shortenLabel, shortenName } from './format.ts'

/** Visible length in a mail program on a phone. In UTF-16 units. */
export const SUBJECT_CHARS = 70
/** A name is not cut further while its figure has a shorter form. */
const NAME_CHARS = 16

export const SUBJECT_NOUNS = { sim: 'SIM', pool: 'Pool', tenant: 'Tenant', tag: 'Tag' } as const

/** Subject of a mail of one alert: "meter-012 over its limit (100.18 of 100 MB): suspended". */
export function alertSubject(alert: AlertNotification): string {
  const label = labelText(alert.subject)
  const message = oneLine(alert.message) || `rule ${oneLine(alert.rule.name)}`
  const follows = alert.follows === undefined ? '' : `: ${oneLine(alert.follows)}`
  const named = { prefix: prefixOf(alert), noun: nounOf(alert), name: label, follows }
  const figures = figuresOf(alert)
  if (figures !== null) return fitted({ ...named, said: figures })
  const said = withoutStop(sentencesOf(message, label).first)
  const who = `${SUBJECT_NOUNS[alert.subject.kind]} ${label}`
  if (message.startsWith(`${who} `)) {
    return fitted({ ...named, said: lessAndLess(said.slice(who.length)) })
  }
  if (alert.subject.kind !== 'tenant' && !said.includes(label)) {
    return fitted({ ...named, said: lessAndLess(`: ${said}`) })
  }
  // The message of an escalation already names it as one.
  const prefix = alert.kind === 'escalated' ? '' : named.prefix
  return fitted({ ...named, prefix, noun: '', name: '', said: lessAndLess(said) })
}

/** The label of a subject for readers. A label of only invisible marks counts as none. */
export const labelText = ({ label, id }: AlertNotification['subject']): string => oneLine(label) || oneLine(String(id))

/** A tag identifies a SIM; an ICCID does not. The tenant is known. */
const nounOf = ({ subject: { kind, label } }: AlertNotification): string =>
  (kind === 'sim' && !isIccid(label)) || kind === 'tenant' ? '' : `${SUBJECT_NOUNS[kind]} `

const isIccid = (label: string): boolean => /^\d{18,22}$/.test(label)

function prefixOf({ kind, times = 1 }: AlertNotification): string {
  if (kind === 'fired' && times > 1) return 'Again: '
  return kind === 'resolved' || kind === 'escalated' ? `${KINDS[kind].badge}: ` : ''
}

/** Types of rules whose subject line needs the usage only. */
const OF_USAGE: ReadonlySet<string> = new Set(['overage', 'usage-warning'])

/** How much, at length and in brief; null if the rule is not about usage of a limit. */
function figuresOf({ kind, subject, rule: { type = '' }, facts }: AlertNotification): readonly string[] | null {
  const { usageMB, limitMB, usagePct, overageMB } = facts
  const isGrace = kind === 'graceStarted' || kind === 'graceEnding'
  if (!(isGrace || OF_USAGE.has(type)) || usageMB === null || limitMB === null) return null
  const used = ofLimit(usageMB, limitMB)
  const isOver = (isGrace || (kind !== 'resolved' && type === 'overage')) && overageMB !== null && overageMB > 0
  if (isOver) {
    const over = ` ${megabytes(overageMB)} over`
    return subject.kind === 'sim' ? [` over its limit (${used})`, over] : [`${over} (${used})`, over]
  }
  if (usagePct === null) return null
  const at = `${usagePct > 100 ? ' over its limit,' : ''} at ${percent(usagePct)}`
  return [`${at} (${used})`, at]
}

/** Subject of a mail of a closed billing cycle. */
export const summarySubject = ({ cycle, timeZone, figures, failures }: SummaryNotification): string =>
  fitted({
    prefix: '',
    noun: 'Billing cycle ',
    name: oneLine(cycleName(cycle, timeZone)),
    said: [` closed: ${money(figures.chargesMicro, figures.currency)}`],
    follows: failures.length === 0 ? '' : `, ${counted(failures.length, 'change')} failed`,
  })

/**
 * Several notifications in one line: "5 SIMs near their limit, 3 silent, 1 resolved".
 *
 * @param notifications in the order of their weight
 * @param chars at most this many UTF-16 units; the remaining notifications are counted
 */
export function gistOf(notifications: readonly Notification[], chars: number): string {
  const groups = [...Map.groupBy(notifications, (told) => JSON.stringify(topicOf(told))).values()].map(onePerSubject)
  const parts = groups.map((group, n) => partOf(group, groups[n - 1]?.[0]))
  const [only] = groups
  if (groups.length === 1 && only !== undefined) parts[0] += sharedConsequence(only)
  for (let shown = parts.length; shown > 0; shown -= 1) {
    const left = groups.slice(shown).reduce((sum, group) => sum + group.length, 0)
    const gist = [...parts.slice(0, shown), ...(left === 0 ? [] : [`${count(left)} more`])].join(', ')
    if (gist.length <= chars) return gist
  }
  return shortenLabel(parts[0] ?? '', chars)
}

/** A SIM with two notifications counts as one SIM: its grace has begun and is about to end. Alerts count one by one. */
function onePerSubject(group: readonly Notification[]): readonly Notification[] {
  const counted = (told: Notification) =>
    told.kind === 'summary' || topicOf(told).noun !== COUNTED[told.subject.kind]
      ? told.key
      : `${told.subject.kind} ${told.subject.id}`
  return [...new Map(group.toReversed().map((told) => [counted(told), told])).values()].toReversed()
}

interface Topic {
  readonly noun: readonly [one: string, many: string]
  readonly one: string
  readonly many: string
}

const alike = (words: string) => ({ one: words, many: words })
const WORDS: Readonly<Record<string, { readonly one: string; readonly many: string }>> = {
  overage: { one: 'over its limit', many: 'over their limit' },
  'usage-warning': { one: 'near its limit', many: 'near their limit' },
  'burn-rate': alike('using data too fast'),
  'forecast-overage': { one: 'will pass its limit', many: 'will pass their limit' },
  'sms-flood': alike('sending many messages'),
  'top-sim': alike('eaten by one SIM'),
  silent: alike('silent'),
  'imei-change': alike('in another device'),
}
const CYCLES = ['billing cycle', 'billing cycles'] as const
const FEEDS = ['usage feed', 'usage feeds'] as const
const ALERTS = ['alert', 'alerts'] as const
const DECISIONS = ['decision', 'decisions'] as const
const COUNTED = {
  sim: ['SIM', 'SIMs'],
  pool: ['pool', 'pools'],
  tenant: ['notice', 'notices'],
  tag: ['tag', 'tags'],
} as const

function topicOf(told: Notification): Topic {
  if (told.kind === 'summary') return { noun: CYCLES, ...alike('closed') }
  if (told.kind === 'resolved') return { noun: ALERTS, ...alike('resolved') }
  if (told.kind === 'escalated') return { noun: ALERTS, ...alike('not acknowledged') }
  if (isHold(told)) return { noun: DECISIONS, ...alike('needed') }
  if (told.kind === 'fired' && told.rule.type === 'usage-feed-silent') return { noun: FEEDS, ...alike('silent') }
  const noun = COUNTED[told.subject.kind]
  if (told.kind === 'suspended') return { noun, ...alike('suspended') }
  if (told.kind === 'broughtBack') return { noun, ...alike('active again') }
  if (told.kind !== 'fired') return { noun, ...alike('in grace') }
  const known = told.subject.kind === 'tenant' ? undefined : WORDS[typeOf(told)]
  return { noun, ...(known ?? alike(`of rule ${oneLine(told.rule.name)}`)) }
}

/** A warning about usage above the limit says what an overage says. */
function typeOf({ rule: { type = '' }, facts: { usagePct } }: AlertNotification): string {
  return type === 'usage-warning' && usagePct !== null && usagePct > 100 ? 'overage' : type
}

/** "5 SIMs near their limit"; "3 silent" after others of the same noun; "1 resolved" after any. */
function partOf(group: readonly Notification[], before: Notification | undefined): string {
  const [first] = group
  if (first === undefined) return ''
  const { noun, one, many } = topicOf(first)
  const isSaid = before !== undefined && (noun === ALERTS || topicOf(before).noun === noun)
  const words = group.length === 1 ? one : many
  return `${isSaid ? count(group.length) : counted(group.length, ...noun)} ${words}`
}

/** The consequence that all of them share; empty if they differ, or there is none. */
function sharedConsequence(group: readonly Notification[]): string {
  const [follows, ...others] = new Set(group.map((told) => (told.kind === 'summary' ? undefined : told.follows)))
  return follows === undefined || others.length > 0 ? '' : `: ${oneLine(follows)}`
}

/** The first sentence and the rest of a message. A full stop in the label ends no sentence. */
export function sentencesOf(message: string, label: string): { readonly first: string; readonly rest: string } {
  const at = message.indexOf(label)
  const isWithin = (index: number) => at >= 0 && index >= at && index < at + label.length
  const stop = [...message.matchAll(/[.!?]+(?=\s|$)/g)].find(({ index }) => !isWithin(index))
  const end = stop === undefined ? message.length : stop.index + stop[0].length
  return { first: message.slice(0, end), rest: message.slice(end).trim() }
}

const withoutStop = (sentence: string): string => sentence.replace(/[.!?\s]+$/, '')

/** A text, and the same with one after another of its last clauses left out. */
const lessAndLess = (text: string): readonly string[] => [
  text,
  ...[...text.matchAll(/[,;:] /g)]
    .filter(({ index }) => index > 0)
    .map(({ index }) => text.slice(0, index))
    .toReversed(),
]

interface Parts {
  readonly prefix: string
  readonly noun: string
  readonly name: string
  /** The forms of the text with the name, from the longest to the shortest. */
  readonly said: readonly string[]
  readonly follows: string
}

/** Puts a subject together that fits. */
function fitted({ prefix, noun, name, said, follows }: Parts): string {
  const room = SUBJECT_CHARS - prefix.length - noun.length - follows.length
  // A part of an ICCID is useless.
  const least = [isIccid(name) ? name.length : NAME_CHARS, NAME_CHARS, NAME_CHARS / 2, 3].map((most) =>
    Math.min(name.length, most),
  )
  const fit = least.flatMap((kept) => said.find((text) => text.length + kept <= room) ?? [])[0]
  const text = fit ?? shortenLabel(said.at(-1) ?? '', room - Math.min(name.length, NAME_CHARS))
  return shortenLabel(`${prefix}${noun}${shortenName(name, room - text.length)}${text}`.trim() + follows, SUBJECT_CHARS)
}
