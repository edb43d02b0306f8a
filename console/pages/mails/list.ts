/** Mails of a tenant, newest first: by state, and by what they are about. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { type MailInfo, MailQuery } from '../../../domain/channels/mail.ts'
import { count, counted } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { numberField } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { ANY, choices, isUnfiltered, nextPage } from '../../parts/list.ts'
import { ago } from '../../parts/marks.ts'
import { mailBadge, mailLink, STATUS_CHOICES, subjectOf } from './marks.ts'

const { status, simId, poolId, alert, page } = MailQuery.properties
export const MailsQuery = Type.Object({ status, simId, poolId, alert, page })
export type MailsQuery = Static<typeof MailsQuery>

const MOST_ROWS = 50

export async function mailsPage({ inside }: Calls, tenantId: string, query: MailsQuery, now: number): Promise<Html> {
  const params = { query: { ...query, pageSize: MOST_ROWS } }
  const { data, pagination } = await mustAnswer(inside.GET('/internal/mails', { params }))
  const path = `/t/${tenantId}/mails`
  const { page: _, ...filter } = query
  const about = (name: 'simId' | 'poolId' | 'alert', label: string) =>
    numberField({ name, label, from: 1 }, {}, filter[name])
  return html`<div class="head"><h1>Mails</h1></div>
<form class="filters" method="get" action="${path}" role="search">
${choices({ name: 'status', label: 'State', value: filter.status }, [ANY, ...STATUS_CHOICES])}
${about('simId', 'SIM by id')} ${about('poolId', 'Pool by id')} ${about('alert', 'Alert by id')}
<button type="submit">Show</button>
<span class="mute">${count(pagination.totalItems)} found</span>
</form>
${data.length > 0 ? table(tenantId, data, now) : html`<p class="empty">${isUnfiltered(filter) ? 'No mail yet: alerts, suspensions and billing cycles are mailed.' : 'No mail matches.'}</p>`}
${nextPage(path, filter, pagination)}`
}

const table = (tenantId: string, mails: readonly MailInfo[], now: number): Html => html`
<div class="panel"><table class="alerts">
<thead><tr><th scope="col">Mail</th><th scope="col">State</th><th scope="col" class="wide number">When</th></tr></thead>
<tbody>
${mails.map(
  (mail) => html`<tr id="mail-${mail.id}">
<th scope="row">${mailLink(tenantId, mail.id, subjectOf(mail))}<small>to <bdi>${mail.recipient}</bdi></small></th>
<td>${mailBadge(mail)}<small>${counted(mail.attempts, 'attempt')}</small>${mail.status === 'sent' || mail.response === null ? '' : html`<small><bdi>${mail.response}</bdi></small>`}</td>
<td class="wide number">${ago(mail.sentAt ?? mail.createdAt, now)}</td>
</tr>`,
)}
</tbody>
</table></div>`
