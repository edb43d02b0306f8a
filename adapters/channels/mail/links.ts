/** Actions that a mail offers: links, if the service and the console have addresses. Pure. */
import type { Link } from '../../../domain/channels/link.ts'
import { withoutSlash } from '../../../domain/http.ts'
import { isHold } from '../../../domain/notifications/cause.ts'
import type { AlertNotification, Notification } from '../../../domain/notifications/notification.ts'
import { oneLine } from './format.ts'

export interface MailLinks {
  /** Public address of the service, http or https, with or without a slash at its end; empty: none. */
  readonly serviceUrl: string
  /** Address of the console, likewise; empty: none. */
  readonly consoleUrl: string
  /** Makes the token of a link. */
  readonly sign: (link: Link) => string
}

/** Of a service without addresses. It signs nothing. */
export const NO_LINKS: MailLinks = { serviceUrl: '', consoleUrl: '', sign: () => '' }

interface Choice {
  readonly label: string
  readonly url: string
}

/** Actions for one alert, or for all mails. */
export interface Offer {
  /** The alert, in a mail of several; or whom to ask, without links; otherwise null. */
  readonly about: string | null
  readonly choices: readonly Choice[]
}

/** Further alerts have no separate links: a mail of many would be too long for some mail programs. */
const MOST_ALERTS = 10

/** Without links. Commands are no use to a billing contact. */
const ASK: Offer = {
  about: 'To have an alert acknowledged or silenced, or to get fewer mails, ask the operator of the service.',
  choices: [],
}

/** Actions offered in a mail of these notifications. Without an address of either: whom to ask about alerts. */
export function offersOf(notifications: readonly Notification[], links: MailLinks, isCopy = false): Offer[] {
  const alerts = notifications.filter((told) => told.kind !== 'summary')
  const [first] = alerts
  const month = monthOf(notifications[0]?.tenantId, links)
  if (first === undefined) return month
  if (links.serviceUrl === '') return month.length > 0 ? month : [ASK]
  const askable = alerts.filter(isAskable)
  const isOne = askable.length === 1 && new Set(alerts.map(({ subject }) => `${subject.kind}/${subject.id}`)).size === 1
  const shown = askable.length <= MOST_ALERTS ? askable : []
  const offers = shown.map(
    (alert): Offer => ({ about: isOne ? null : nameOf(alert), choices: choicesFor(alert, links) }),
  )
  return [...offers, ...month, ...(isCopy ? [] : [{ about: null, choices: [unsubscribing(first.tenantId, links)] }])]
}

/** The month in the console. It signs in the recipients of mails. */
function monthOf(tenantId: string | undefined, { consoleUrl }: MailLinks): Offer[] {
  if (tenantId === undefined || consoleUrl === '') return []
  const url = `${withoutSlash(consoleUrl)}/t/${tenantId}/my`
  return [{ about: null, choices: [{ label: 'Costs, alerts, and who gets these mails', url }] }]
}

/** Whether it fires in the running cycle, and is no hold. */
const isAskable = (alert: AlertNotification): boolean =>
  (alert.kind === 'fired' || alert.kind === 'escalated') && alert.cycle !== undefined && !isHold(alert)

/** No line of a mail begins with a name: it could pose as another line. */
const nameOf = ({ subject, rule }: AlertNotification): string => `For ${oneLine(subject.label)}, ${oneLine(rule.name)}:`

function choicesFor({ tenantId, rule, subject, cycle = '' }: AlertNotification, links: MailLinks): Choice[] {
  const about = { kind: subject.kind, id: subject.kind === 'tenant' ? 0 : Number(subject.id) }
  const link = { tenantId, rule: rule.name, subject: about, cycle }
  return [
    { label: 'Acknowledge', url: urlOf(links, { purpose: 'ack', ...link }) },
    { label: 'Not again in this billing cycle', url: urlOf(links, { purpose: 'mute', ...link }) },
  ]
}

const unsubscribing = (tenantId: string, links: MailLinks): Choice => ({
  label: 'Unsubscribe from alerts that are not critical',
  url: urlOf(links, { purpose: 'unsubscribe', tenantId }),
})

const urlOf = ({ serviceUrl, sign }: MailLinks, link: Link): string => `${withoutSlash(serviceUrl)}/n/${sign(link)}`

/** Headers for the unsubscribe button of mail programs. By RFC 8058 the button works at once, and needs https. */
export function unsubscribeHeaders(
  notifications: readonly Notification[],
  links: MailLinks,
): Readonly<Record<string, string>> {
  const alert = notifications.find((told) => told.kind !== 'summary')
  if (links.serviceUrl === '' || alert === undefined) return {}
  const url = urlOf(links, { purpose: 'unsubscribe', tenantId: alert.tenantId })
  const oneClick = url.startsWith('https:') ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : {}
  return { 'List-Unsubscribe': `<${url}>`, ...oneClick }
}
