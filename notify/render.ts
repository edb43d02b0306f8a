/**
 * Notifications → a mail. Pure: the same notifications make the same mail, whenever it is sent.
 *
 * The HTML templates are compiled ahead from MJML (tools/mail-templates.ts) and filled in here; everything
 * that comes from outside is escaped there and kept on one line before (views.ts).
 */
import { readFileSync } from 'node:fs'
import Handlebars from 'handlebars'
import { countsText, type DigestView, digestView } from './digest.ts'
import { oneLine, shorten } from './format.ts'
import type { Notification, SummaryNotification } from './notification.ts'
import { alertText, digestText, summaryText } from './text.ts'
import { type AlertView, alertView, badgeOf, type SummaryView, statementName, summaryView } from './views.ts'

export interface MailLinks {
  /** Where Simherd is opened, http or https; without it the mail has no button. */
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

/** Mail programs cut subjects off at far less; what matters comes first. */
const SUBJECT_CHARS = 180
const TENANT_CHARS = 40

interface Frame {
  readonly preheader: string
  /** Null: no button. */
  readonly link: string | null
}

const template = <V extends object>(name: string): Handlebars.TemplateDelegate<V & Frame> =>
  Handlebars.compile(readFileSync(new URL(`templates/${name}.generated.html`, import.meta.url), 'utf8'), {
    // A name the view does not have is a fault here, not an empty place in a mail.
    strict: true,
  })

const alertHtml = template<AlertView>('alert')
const digestHtml = template<DigestView>('digest')
const summaryHtml = template<SummaryView>('summary')

/**
 * One mail of one tenant's notifications: a single one is told in full, several as a table by rule, worst first.
 *
 * @throws Error without any notification
 */
export function renderMail(notifications: readonly Notification[], links: MailLinks = {}): Mail {
  const link = links.serviceUrl ?? null
  const [first] = notifications
  const body =
    notifications.length === 1 && first !== undefined ? oneBody(first, link) : digestBody(notifications, link)
  const attachments = notifications.filter((told) => told.kind === 'summary').flatMap(statementOf)
  return { ...body, ...(attachments.length > 0 ? { attachments } : {}) }
}

function oneBody(told: Notification, link: string | null): Mail {
  if (told.kind === 'summary') {
    const view = summaryView(told)
    const [charges] = view.lines
    const preheader = `${charges?.label}: ${charges?.value}. ${view.period}`
    return {
      subject: subjectOf(failuresIn(view.headline, told.failures.length), view.tenant),
      text: summaryText(view, link),
      html: summaryHtml({ ...view, preheader, link }),
    }
  }
  const view = alertView(told)
  const named = view.headline.includes(oneLine(told.subject.label))
    ? view.headline
    : `${view.subject}: ${view.headline}`
  return {
    subject: subjectOf(`${badgeOf(told)}: ${named}`, view.tenant),
    text: alertText(view, link),
    html: alertHtml({ ...view, preheader: oneLine(told.whatNext), link }),
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

/** On one line whatever the names hold, and short enough to be read in a list. */
function subjectOf(what: string, tenant: string): string {
  const whom = ` (${shorten(oneLine(tenant), TENANT_CHARS)})`
  const said = shorten(`[Simherd] ${oneLine(what).replace(/[.\s]+$/, '')}`, SUBJECT_CHARS - whom.length)
  return `${said}${whom}`
}

const statementOf = (told: SummaryNotification): MailAttachment[] =>
  told.statementCsv === undefined
    ? []
    : [{ filename: statementName(told), contentType: 'text/csv; charset=utf-8', content: told.statementCsv }]
