/** Links and marks of mails, for their pages and every page that names one. */
import { html } from 'hono/html'
import type { MailInfo } from '../../../domain/channels/mail.ts'
import type { Html } from '../../parts/html.ts'
import type { IconName } from '../../parts/icon.ts'
import { badge } from '../../parts/marks.ts'

/** Leads to the page of a mail. */
export const mailLink = (tenantId: string, id: string, words: Html | string): Html =>
  html`<a href="/t/${tenantId}/mails/${encodeURIComponent(id)}">${words}</a>`

const STATUSES: Readonly<Record<MailInfo['status'], readonly [IconName, string, string]>> = {
  pending: ['next', 'quiet', 'Pending'],
  sent: ['active', 'good', 'Sent'],
  failed: ['critical', 'critical', 'Given up'],
}
export const STATUS_CHOICES = Object.entries(STATUSES).map(([status, [, , words]]) => [status, words] as const)

export const mailBadge = ({ status }: Pick<MailInfo, 'status'>): Html => {
  const [name, tone, words] = STATUSES[status]
  return badge(tone, words, name)
}

/** The subject of a mail is known when it is written. */
export const subjectOf = ({ subject }: Pick<MailInfo, 'subject'>): Html =>
  html`<bdi>${subject || 'Not written yet'}</bdi>`
