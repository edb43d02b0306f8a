/**
 * Renders notifications as a mail. Pure: the same notifications make the same mail, whenever it is sent.
 *
 * The HTML templates are compiled in advance from MJML (tools/mail-templates.ts), and filled in here. The templates
 * escape all text from outside; views.ts has put it on one line before.
 */
import { readFileSync } from 'node:fs'
import Handlebars from 'handlebars'
import type { Notification, SummaryNotification } from '../../../domain/notifications/notification.ts'
import { alertsOfOneCause, causeView, inOne } from './cause-view.ts'
import { type DigestView, digestView } from './digest-view.ts'
import { headerText, oneLine, shortenLabel } from './format.ts'
import { type MailLinks, NO_LINKS, type Offer, offersOf, unsubscribeHeaders } from './links.ts'
import { alertSubject, summarySubject } from './subject.ts'
import { alertText, digestText, summaryText } from './text.ts'
import { type AlertView, alertView, type SummaryView, statementName, summaryView } from './views.ts'

export interface MailAttachment {
  readonly filename: string
  readonly contentType: string
  readonly content: string
}

export interface Mail {
  /** At most 70 characters on one line. The tenant is in the sender's name. */
  readonly subject: string
  readonly text: string
  readonly html: string
  /** Headers by name, in addition to those of every mail. */
  readonly headers: Readonly<Record<string, string>>
  readonly attachments?: readonly MailAttachment[]
}

/** Prevents automatic replies to mails of the service. Source: RFC 3834. */
export const HEADERS = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' }
/** The parts that differ from mail to mail. */
type Content = Pick<Mail, 'subject' | 'text' | 'html'>

/** Of a tenant in the sender's name. */
const TENANT_CHARS = 40

/** Header with the tenant's name. */
export const TENANT_HEADER = 'Simherd-Tenant'

interface Frame {
  readonly preheader: string
  /** Actions offered to the reader. */
  readonly offers: readonly Offer[]
}

export const template = <V extends object>(name: string): Handlebars.TemplateDelegate<V & Frame> =>
  Handlebars.compile(readFileSync(new URL(`templates/${name}.generated.html`, import.meta.url), 'utf8'), {
    // A name that the view lacks must fail here, and not leave a gap in a mail.
    strict: true,
  })

/** Keeps a number and its unit on one line. */
const unbroken = (html: string): string =>
  html.replace(/(\d) (?=(?:[kMG]?B|%|d|h|min|m?s|UTC)(?![\p{L}\p{N}]))/gu, '$1\u00a0')

const alertHtml = template<AlertView>('alert')
const digestHtml = template<DigestView>('digest')
const summaryHtml = template<SummaryView>('summary')

/**
 * Renders one mail for one tenant's notifications. A single subject is shown in full, one cause as a table of its
 * subjects, everything else as a table by rule, worst first.
 *
 * @param links targets of its links; without them, the mail says whom to ask
 * @param isCopy a copy, which cannot unsubscribe the tenant
 * @throws Error if there is no notification
 */
export function renderMail(notifications: readonly Notification[], links: MailLinks = NO_LINKS, isCopy = false): Mail {
  const body = bodyOf(notifications, offersOf(notifications, links, isCopy))
  const attachments = notifications.filter((notification) => notification.kind === 'summary').flatMap(statementOf)
  return {
    ...body,
    html: unbroken(body.html),
    subject: headerText(body.subject),
    headers: {
      ...HEADERS,
      ...tenantHeader(notifications[0]?.tenantName),
      ...(isCopy ? {} : unsubscribeHeaders(notifications, links)),
    },
    ...(attachments.length > 0 ? { attachments } : {}),
  }
}

function bodyOf(notifications: readonly Notification[], offers: readonly Offer[]): Content {
  const one = inOne(notifications)
  if (one !== null) return oneBody(one, offers)
  const ofOneCause = alertsOfOneCause(notifications)
  const view = ofOneCause === null ? digestView(notifications) : causeView(ofOneCause)
  return { subject: view.subject, text: digestText(view, offers), html: digestHtml({ ...view, offers }) }
}

function oneBody(notification: Notification, offers: readonly Offer[]): Content {
  if (notification.kind === 'summary') {
    const view = summaryView(notification)
    const [charges] = view.lines
    const preheader = `${charges?.label}: ${charges?.value}. ${view.period}`
    const html = summaryHtml({ ...view, preheader, offers })
    return { subject: summarySubject(notification), text: summaryText(view, offers), html }
  }
  const view = alertView(notification)
  return { subject: alertSubject(notification), text: alertText(view, offers), html: alertHtml({ ...view, offers }) }
}

/** The tenant, for mail filters and for the sender's name. */
export function tenantHeader(name = ''): Record<string, string> {
  const tenant = headerText(shortenLabel(oneLine(name), TENANT_CHARS))
  return tenant === '' ? {} : { [TENANT_HEADER]: tenant }
}

function statementOf(summary: SummaryNotification): MailAttachment[] {
  const { statementCsv: content } = summary
  if (content === undefined) return []
  return [{ filename: statementName(summary), contentType: 'text/csv; charset=utf-8', content }]
}
