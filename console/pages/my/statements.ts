/** The statements of closed billing cycles, and their files. */
import { json } from 'node:stream/consumers'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from 'hono/html'
import { cycleName, instant } from '../../../domain/local-time.ts'
import type { CycleInfo } from '../../../domain/month-end/month-end.ts'
import { cutPage } from '../../../domain/page.ts'
import { count, money } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import { type Calls, type Doors, streamInside } from '../../calls.ts'
import type { Html } from '../../parts/html.ts'
import { nextPage } from '../../parts/list.ts'
import type { PageTenant } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'

/** Each total takes a call. */
const MOST_ROWS = 6

export async function statementsPage({ inside }: Calls, { id: tenantId }: PageTenant, page: number): Promise<Html> {
  const closed = (await mustAnswer(inside.GET('/internal/cycles'))).filter(({ closedAt }) => closedAt !== null)
  const { data: shown, pagination } = cutPage(closed, page, MOST_ROWS)
  const path = `/t/${tenantId}/my`
  const row = async (cycle: CycleInfo): Promise<Html> => {
    const params = { path: { key: cycle.key }, query: { limit: 1 } }
    const stated = await mustAnswer(inside.GET('/internal/cycles/{key}/statement', { params }))
    const name = cycleName(cycle, 'UTC')
    return html`<tr>
<th scope="row"><a href="${path}?cycle=${cycle.key}">${name}</a><small>closed ${instant(cycle.closedAt ?? '')}</small></th>
<td class="wide number">${count(stated.lineCount)}</td>
<td class="number">${money(stated.totalMicro, stated.currency)}</td>
<td><a href="${path}/statements/${cycle.key}.csv">CSV<span class="hidden"> of ${name}</span></a></td>
</tr>`
  }
  const table = html`<div class="panel"><table>
<thead><tr><th scope="col">Billing cycle</th><th scope="col" class="wide number">Lines</th><th scope="col" class="number">Total</th><th scope="col">File</th></tr></thead>
<tbody>
${await Promise.all(shown.map(row))}
</tbody>
</table></div>`
  return html`<div class="head"><h1>Statements</h1></div>
${shown.length === 0 ? html`<p class="empty">None: the first one comes with the end of a billing cycle.</p>` : table}
${nextPage(`${path}/statements`, {}, pagination)}`
}

/** Passes the file of a statement through at the reader's speed: it may have 800,000 lines. */
export async function sendStatement(
  request: FastifyRequest<{ Params: TenantParams & { readonly key: string } }>,
  reply: FastifyReply,
  doors: Doors,
): Promise<FastifyReply> {
  const { tenant } = await callsFor(request, doors)
  const { keyId, id: requestId, params } = request
  const url = `/internal/cycles/${encodeURIComponent(params.key)}/statement.csv`
  const answer = await streamInside(doors, { keyId, tenantId: tenant.id, requestId }, url)
  const file = answer.stream()
  if (answer.statusCode !== 200) {
    const response = new Response(null, { status: answer.statusCode })
    return mustAnswer(Promise.resolve({ error: await json(file), response }))
  }
  // A reader who leaves ends the making of the file.
  reply.raw.once('close', () => answer.raw.res.destroy())
  for (const name of ['content-type', 'content-disposition']) reply.header(name, answer.headers[name])
  return reply.send(file)
}
