/**
 * Renders notifications as a mail. Pure: the same notifications make the same mail, whenever it is sent.
 *
 * The HTML templates are compiled in advance from MJML (tools/mail-templates.ts), and filled in here. The templates
 * escape all text from outside; views.ts has put it on one line before.
 */
import { readFileSync } from 'node:fs'
import Handlebars from 'handlebars'
import { countsText, type DigestView, digestView } from './digest.ts'
import { oneLine, shorten } from './format.ts'
import type { Notification, SummaryNotification } from './notification.ts'
import { alertText, digestText, summaryText } from './text.ts'
import { type AlertView, alertView, badgeOf, type SummaryView, statementName, summaryView } from './views.ts'

export interface MailLinks {
  /** URL of Simherd for people, http or https. Without it, the mail has no button. */
  readonly serviceUrl?: string
}

export interface MailAttachment {
  readonly filename: string
  readonly contentType: string
  readonly content: string
}

export interface Mail {
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly attachments?: readonly MailAttachment[]
}

/** Mail programs cut off subjects at far less, so what matters comes first. */
const SUBJECT_CHARS = 180
const TENANT_CHARS = 40

interface Frame {
  readonly preheader: string
  /** URL of the button; null: no button. */
  readonly link: string | null
}

const template = <V extends object>(name: string): Handlebars.TemplateDelegate<V & Frame> =>
  Handlebars.compile(readFileSync(new URL(`templates/${name}.generated.html`, import.meta.url), 'utf8'), {
    // A name that the view lacks must fail here, and not leave a gap in a mail.
    strict: true,
  })

const alertHtml = template<AlertView>('alert')
const digestHtml = template<DigestView>('digest')
const summaryHtml = template<SummaryView>('summary')

/**
 * Renders one mail for one tenant's notifications. A single one is shown in full, several as a table by rule, worst
 * first.
 *
 * @throws Error if there is no notification
 */
export function renderMail(notifications: readonly Notification[], links: MailLinks = {}): Mail {
  const link = links.serviceUrl ?? null
  const [first] = notifications
  const body =
    notifications.length === 1 && first !== undefined ? oneBody(first, link) : digestBody(notifications, link)
  const attachments = notifications.filter((notification) => notification.kind === 'summary').flatMap(statementOf)
  return { ...body, ...(attachments.length > 0 ? { attachments } : {}) }
}

function oneBody(notification: Notification, link: string | null): Mail {
  if (notification.kind === 'summary') {
    const view = summaryView(notification)
    const [charges] = view.lines
    const preheader = `${charges?.label}: ${charges?.value}. ${view.period}`
    return {
      subject: subjectOf(failuresIn(view.headline, notification.failures.length), view.tenant),
      text: summaryText(view, link),
      html: summaryHtml({ ...view, preheader, link }),
    }
  }
  const view = alertView(notification)
  const named = view.headline.includes(oneLine(notification.subject.label))
    ? view.headline
    : `${view.subject}: ${view.headline}`
  return {
    subject: subjectOf(`${badgeOf(notification)}: ${named}`, view.tenant),
    text: alertText(view, link),
    html: alertHtml({ ...view, preheader: oneLine(notification.whatNext), link }),
  }
}

const failuresIn = (headline: string, failures: number): string =>
  failures === 0 ? headline : `${headline}, ${failures} failed`

function digestBody(notifications: readonly Notification[], link: string | null): Mail {
  const view = digestView(notifications)
  return {
    subject: subjectOf(`${notifications.length} notices: ${countsText(notifications)}`, view.tenant),
    text: digestText(view, link),
    html: digestHtml({ ...view, preheader: view.groups[0]?.rows[0]?.message ?? view.counts, link }),
  }
}

/** A subject on one line, whatever the names contain, and short enough to read in a list. */
function subjectOf(what: string, tenant: string): string {
  const whom = ` (${shorten(oneLine(tenant), TENANT_CHARS)})`
  const said = shorten(`[Simherd] ${oneLine(what).replace(/[.\s]+$/, '')}`, SUBJECT_CHARS - whom.length)
  return `${said}${whom}`
}

const statementOf = (notification: SummaryNotification): MailAttachment[] =>
  notification.statementCsv === undefined
    ? []
    : [
        {
          filename: statementName(notification),
          contentType: 'text/csv; charset=utf-8',
          content: notification.statementCsv,
        },
      ]
