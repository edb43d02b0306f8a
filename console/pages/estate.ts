/** The beginning: a key of a tenant goes to it, an operator chooses one. The only one is gone to at once. */
import type { FastifyInstance } from 'fastify'
import { html } from 'hono/html'
import { Type } from 'typebox'
import { count } from '../../domain/quantity.ts'
import { callerIn } from '../../domain/tenants/session.ts'
import { PLATFORM, type TenantEntry } from '../../domain/tenants/tenant.ts'
import { mustAnswer } from '../answers.ts'
import { callsOf, type Doors } from '../calls.ts'
import type { Html } from '../parts/html.ts'
import { sendPage } from '../parts/page.ts'

const Query = Type.Object({
  search: Type.Optional(Type.String()),
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
})

export function estateRoutes(app: FastifyInstance, doors: Doors): void {
  app.get<{ Querystring: { search?: string; page?: number } }>(
    '/',
    { schema: { querystring: Query } },
    async (request, reply) => {
      const { session } = request
      if (session?.tenantId != null)
        return reply.redirect(tenantPath(session.tenantId) + (callerIn(session) === 'contact' ? '/my' : ''), 303)
      const calls = callsOf(doors, { keyId: request.keyId, tenantId: PLATFORM, requestId: request.id })
      const { search, page = 1 } = request.query
      const query = { page, ...(search !== undefined && { search }) }
      const { data, pagination } = await mustAnswer(calls.inside.GET('/internal/tenants', { params: { query } }))
      const [only] = data
      if (only !== undefined && pagination.totalItems === 1 && search === undefined)
        return reply.redirect(tenantPath(only.id), 303)
      const more = pagination.hasNextPage ? pageLink(page + 1, search) : undefined
      return sendPage(reply, { title: 'Tenants', main: estate(data, pagination.totalItems, search, more) })
    },
  )
}

const tenantPath = (id: string): string => `/t/${encodeURIComponent(id)}`
const pageLink = (page: number, search = ''): string =>
  `/?${new URLSearchParams({ search, page: String(page) }).toString()}`

const estate = (tenants: readonly TenantEntry[], total: number, search = '', more = ''): Html => html`
<div class="head"><h1>Tenants</h1></div>
<form class="filters" method="get" action="/" role="search">
<label>Name or id <input type="search" name="search" value="${search}"></label>
<button type="submit">Show</button>
<span class="mute">${count(total)} ${total === 1 ? 'matches' : 'match'}</span>
</form>
${
  tenants.length === 0
    ? html`<p class="empty">No tenant matches. <code>simherd tenants create</code> makes one.</p>`
    : html`<div class="panel"><table>
<thead><tr><th scope="col">Tenant</th><th scope="col">Watchdog</th><th scope="col" class="wide">Cycle</th><th scope="col" class="wide">Since</th></tr></thead>
<tbody>
${tenants.map(
  ({ id, name, enforcementEnabled, billingCycle, createdAt }) => html`<tr>
<th scope="row"><a href="${tenantPath(id)}"><bdi>${name}</bdi></a><small>${id}</small></th>
<td>${enforcementEnabled ? html`<span class="badge good">Enforces</span>` : html`<span class="badge warning">Stopped</span>`}</td>
<td class="wide">${billingCycle}</td>
<td class="wide">${createdAt.slice(0, 10)}</td>
</tr>`,
)}
</tbody>
</table></div>`
}
${more === '' ? '' : html`<p class="pages"><a href="${more}">Next page</a></p>`}`
