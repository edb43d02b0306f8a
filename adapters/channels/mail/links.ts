/**
 * Actions that a mail offers for its alerts: links if the service has a public address, else commands of `simherd`.
 * Pure.
 */
import type { Link } from '../../../domain/channels/link.ts'
import { isHold } from '../../../domain/notifications/cause.ts'
import type { AlertNotification, Notification } from '../../../domain/notifications/notification.ts'
import { oneLine } from './format.ts'

export interface MailLinks {
  /** Public address of the service, http or https, with or without a slash at its end. */
  readonly serviceUrl: string
  /** Makes the token of a link. */
  readonly sign: (link: Link) => string
}

/** An action: a link, or a command to enter. Either `url` or `command` is null. */
interface Choice {
  readonly label: string
  readonly url: string | null
  readonly command: string | null
}

/** Actions for one alert, or for all mails. */
export interface Offer {
  /** The alert, in a mail of several; otherwise null. */
  readonly about: string | null
  readonly choices: readonly Choice[]
}

/** Further alerts have no separate links: a mail of many would be too long for some mail programs. */
const MOST_ALERTS = 10

/** Actions offered in a mail of these notifications; empty for summaries only. */
export function offersOf(notifications: readonly Notification[], links: MailLinks | null, isCopy = false): Offer[] {
  const alerts = notifications.filter((told) => told.kind !== 'summary')
  const [first] = alerts
  if (first === undefined) return []
  const askable = alerts.filter(isAskable)
  const isOne = askable.length === 1 && new Set(alerts.map(({ subject }) => `${subject.kind}/${subject.id}`)).size === 1
  const shown = askable.length <= (links === null ? 1 : MOST_ALERTS) ? askable : []
  const all = links === null && shown.length < askable.length ? [listCommand(first.tenantId)] : []
  return [
    ...shown.map((alert) => ({ about: isOne ? null : nameOf(alert), choices: choicesFor(alert, links) })),
    { about: null, choices: [...all, ...(isCopy ? [] : [unsubscribing(first.tenantId, links)])] },
  ].filter(({ choices }) => choices.length > 0)
}

/** Whether it fires in the running cycle, and is no hold. Its names go into commands, so they are plain words. */
const isAskable = (alert: AlertNotification): boolean =>
  (alert.kind === 'fired' || alert.kind === 'escalated') &&
  alert.cycle !== undefined &&
  !isHold(alert) &&
  isPlain(alert.rule.name) &&
  isPlain(String(alert.subject.id))

const isPlain = (word: string): boolean => /^[\w-]+$/.test(word)

/** No line of a mail begins with a name: it could pose as another line. */
const nameOf = ({ subject, rule }: AlertNotification): string => `For ${oneLine(subject.label)}, ${oneLine(rule.name)}:`

function choicesFor(alert: AlertNotification, links: MailLinks | null): Choice[] {
  const { tenantId, rule, subject, cycle = '' } = alert
  const about = { kind: subject.kind, id: subject.kind === 'tenant' ? 0 : Number(subject.id) }
  const link = { tenantId, rule: rule.name, subject: about, cycle }
  const flag = about.kind === 'tenant' ? '' : ` --${about.kind} ${about.id}`
  const ack = `alerts ack ${rule.name} --tenant ${tenantId}${flag}`
  const mute = `silences add --tenant ${tenantId} --rule ${rule.name}${flag} --for cycle --reason "known"`
  return [
    choice('Acknowledge', links, { purpose: 'ack', ...link }, ack),
    choice('Not again in this billing cycle', links, { purpose: 'mute', ...link }, mute),
  ]
}

const unsubscribing = (tenantId: string, links: MailLinks | null): Choice =>
  choice(
    'Unsubscribe from alerts that are not critical',
    links,
    { purpose: 'unsubscribe', tenantId },
    `tenants notices --tenant ${oneLine(tenantId)} --mails-from critical`,
  )

const listCommand = (tenantId: string): Choice => ({
  label: 'What has not ended',
  url: null,
  command: `npx simherd alerts --tenant ${oneLine(tenantId)}`,
})

const choice = (label: string, links: MailLinks | null, link: Link, command: string): Choice =>
  links === null
    ? { label, url: null, command: `npx simherd ${command}` }
    : { label, url: urlOf(links, link), command: null }

const urlOf = ({ serviceUrl, sign }: MailLinks, link: Link): string =>
  `${serviceUrl.replace(/\/+$/, '')}/n/${sign(link)}`

/** Headers for the unsubscribe button of mail programs. By RFC 8058 the button works at once, and needs https. */
export function unsubscribeHeaders(
  notifications: readonly Notification[],
  links: MailLinks | null,
): Readonly<Record<string, string>> {
  const alert = notifications.find((told) => told.kind !== 'summary')
  if (links === null || alert === undefined) return {}
  const url = urlOf(links, { purpose: 'unsubscribe', tenantId: alert.tenantId })
  const oneClick = url.startsWith('https:') ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : {}
  return { 'List-Unsubscribe': `<${url}>`, ...oneClick }
}
