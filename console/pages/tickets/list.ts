/** Tickets of a tenant: filters, and pages by cursor. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { TicketStatus, TicketType } from '../../../domain/codes.ts'
import { count } from '../../../domain/quantity.ts'
import { MOST_LOOKED_AT, type TicketDetail, TicketQuery } from '../../../domain/tickets/ticket.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { ANY, choices, choicesOf, isUnfiltered, linkTo, listEnd, nextCursor } from '../../parts/list.ts'
import { ago } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { causeWords, progressWords, simLink, simName, ticketBadge, typeWords } from './marks.ts'

const { simId, status, type, cursor } = TicketQuery.properties
export const TicketsQuery = Type.Object({ simId, status, type, cursor })
export type TicketsQuery = Static<typeof TicketsQuery>

const MOST_ROWS = 50

export async function ticketsPage(calls: Calls, tenant: PageTenant, query: TicketsQuery, now: number): Promise<Html> {
  const listing = calls.inside.GET('/internal/tickets', { params: { query: { ...query, pageSize: MOST_ROWS } } })
  const { data: tickets, pagination } = await mustAnswer(listing)
  const next = nextCursor((await listing).response)
  const path = `/t/${tenant.id}/tickets`
  return html`<div class="head"><div><h1>Tickets</h1>
<p class="crumbs"><a href="/t/${tenant.id}/bulk">Bulk runs</a></p>
${query.simId === undefined ? '' : ofSim(tenant.id, query.simId, tickets[0], linkTo(path, { ...query, simId: undefined, cursor: undefined }))}
</div></div>
${filters(path, query, pagination.totalItems)}
${tickets.length === 0 ? '' : table(tenant.id, tickets, now)}
${listEnd(path, query, next, { noun: 'tickets', shown: tickets.length, most: MOST_ROWS, empty: empty(query) })}`
}

/** The filter by a SIM, which has no field. @param others the list without it */
const ofSim = (tenantId: string, id: number, ticket: TicketDetail | undefined, others: string): Html =>
  html`<p class="lead">Of ${ticket === undefined ? html`<a href="/t/${tenantId}/sims/${id}">SIM ${id}</a>` : html`SIM ${simLink(tenantId, ticket)}`}
· <a href="${others}">Show those of all SIMs</a></p>`

const filters = (path: string, query: TicketsQuery, total: number): Html => html`
<form class="filters" method="get" action="${path}" role="search">
${query.simId === undefined ? '' : html`<input type="hidden" name="simId" value="${query.simId}">`}
${choices({ name: 'status', label: 'Status', value: query.status }, [ANY, ...choicesOf(TicketStatus)])}
${choices({ name: 'type', label: 'Type', value: query.type }, [ANY, ...choicesOf(TicketType)])}
<button type="submit">Show</button>
<span class="mute">${count(total)}${total < MOST_LOOKED_AT ? '' : ' or more'} found</span>
</form>`

const empty = (query: TicketsQuery): Html =>
  isUnfiltered(query)
    ? html`<p class="empty">No ticket yet. The page of a SIM opens one, their list many.</p>`
    : html`<p class="empty">No ticket matches.</p>`

const table = (tenantId: string, tickets: readonly TicketDetail[], now: number): Html => html`
<div class="panel"><table class="alerts">
<thead><tr><th scope="col">Ticket</th><th scope="col" class="wide">Asked for by</th><th scope="col">Status</th></tr></thead>
<tbody>
${tickets.map(
  (ticket) => html`<tr id="ticket-${ticket.id}">
<th scope="row"><a href="/t/${tenantId}/tickets/${ticket.id}">${typeWords(ticket)}<span class="hidden"> of <bdi>${simName(ticket)}</bdi></span></a>
<small>SIM ${simLink(tenantId, ticket)}</small>${course(ticket, now)}</th>
<td class="wide">${causeWords(tenantId, ticket.cause)}</td>
<td>${ticketBadge(ticket)}<small>${ago(ticket.finishedAt ?? ticket.created, now)}</small></td>
</tr>`,
)}
</tbody>
</table></div>`

/** How far it is, and why no further. */
function course(ticket: TicketDetail, now: number): Html {
  const { nextAttemptAt, failureCode, failureText } = ticket
  return html`${nextAttemptAt === null ? '' : html`<small>${progressWords(ticket, now)}</small>`}
${failureText === null ? '' : html`<small><bdi>${failureText}</bdi>${failureCode === null ? '' : html` (<bdi>${failureCode}</bdi>)`}</small>`}`
}
