/** Finds an object by a copied text, and redirects to its page if it is the only one. */
import type { FastifyInstance } from 'fastify'
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { asServiceError } from '../../api/http/problems.ts'
import type { Found, FoundObject } from '../../domain/find.ts'
import { count } from '../../domain/quantity.ts'
import type { Sim } from '../../domain/sims/sim.ts'
import { mustAnswer } from '../answers.ts'
import type { Calls, Doors } from '../calls.ts'
import { setRefusal } from '../parts/failure.ts'
import type { Html } from '../parts/html.ts'
import { type IconName, icon } from '../parts/icon.ts'
import { linkTo } from '../parts/list.ts'
import { notice } from '../parts/marks.ts'
import { sendPage } from '../parts/page.ts'
import { callsFor, type TenantParams } from '../tenant.ts'

const FindQuery = Type.Object({ q: Type.String({ default: '' }) })
type FindQuery = Static<typeof FindQuery>

interface Hits extends Found {
  /** SIMs with the text in a number or tag, if no object was found. */
  readonly parts: { readonly sims: readonly Sim[]; readonly total: number }
}

const MOST_PARTS = 20
const NO_PARTS: Hits['parts'] = { sims: [], total: 0 }

export function findRoutes(app: FastifyInstance, doors: Doors): void {
  app.get<{ Params: TenantParams; Querystring: FindQuery }>(
    '/t/:tenant/find',
    { schema: { querystring: FindQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { q } = request.query
      const path = `/t/${tenant.id}`
      const page = { title: 'Find', tenant, find: q, isLive: false }
      try {
        const hits = await find(calls, q)
        const only = onlyOne(path, hits)
        if (only !== undefined) return await reply.redirect(only, 303)
        return await sendPage(reply, { ...page, main: hitsPage(path, q, hits) })
      } catch (thrown) {
        const error = asServiceError(thrown)
        setRefusal(error, request, reply)
        return sendPage(reply, { ...page, main: html`${head()}${notice('critical', 'critical', error.message)}` })
      }
    },
  )
}

async function find({ inside, outside }: Calls, q: string): Promise<Hits> {
  const found = await mustAnswer(inside.GET('/internal/find', { params: { query: { q } } }))
  if (found.objects.length > 0 || q.trim() === '') return { ...found, parts: NO_PARTS }
  const query = { search: q, pageSize: MOST_PARTS }
  const { data, pagination } = await mustAnswer(outside.GET('/api/sims', { params: { query } }))
  return { ...found, parts: { sims: data, total: pagination.totalItems } }
}

const KINDS: Readonly<Record<FoundObject['kind'], { icon: IconName; words: string; pages: string }>> = {
  sim: { icon: 'sim', words: 'SIM', pages: 'sims' },
  pool: { icon: 'pool', words: 'Pool', pages: 'pools' },
  ticket: { icon: 'ticket', words: 'Ticket', pages: 'tickets' },
  order: { icon: 'order', words: 'Order', pages: 'orders' },
  workflow: { icon: 'workflow', words: 'Workflow', pages: 'workflows' },
}

/** Path of its page. */
const pageOf = (path: string, { kind, id }: Pick<FoundObject, 'kind' | 'id'>): string =>
  `${path}/${KINDS[kind].pages}/${encodeURIComponent(id)}`

function onlyOne(path: string, { objects, parts }: Hits): string | undefined {
  const [only, ...others] =
    objects.length > 0 ? objects : parts.sims.map(({ id }) => ({ kind: 'sim', id: String(id) }) as const)
  return only === undefined || others.length > 0 ? undefined : pageOf(path, only)
}

const head = (lead: Html | '' = ''): Html => html`<div class="head"><div><h1>Find</h1>
${lead === '' ? '' : html`<p class="lead">${lead}</p>`}</div></div>`

function hitsPage(path: string, q: string, { objects, hasMore, parts: { sims, total } }: Hits): Html {
  const search = linkTo(`${path}/sims`, { search: q })
  if (objects.length > 0) {
    return html`${head(html`${count(objects.length)}${hasMore ? ' and more' : ''} for <bdi>${q}</bdi>`)}
${table(objects.map((object) => rowOf(path, object)))}
<p class="pages"><a href="${search}">SIMs that have it anywhere in a number or tag</a></p>`
  }
  const parts = sims.map(({ id, iccid, tag }) => ({ kind: 'sim', id: String(id), name: tag || iccid }) as const)
  return html`${head(html`Nothing is, or begins with, <bdi>${q}</bdi>.`)}
${
  total === 0
    ? html`<p class="empty">No SIM has it in a number or tag either. Find takes an ICCID, IMSI or MSISDN, the beginning of a tag or of the name of a pool, and the id of a ticket, order or workflow.</p>`
    : html`${table(parts.map((part) => rowOf(path, { ...part, matched: null })))}
<p class="pages"><a href="${search}">${count(total)} SIMs have it in a number or tag</a></p>`
}`
}

const MATCHED: Readonly<Record<FoundObject['matched'], string>> = {
  iccid: 'ICCID',
  imsi: 'IMSI',
  msisdn: 'MSISDN',
  tag: 'Tag',
  name: 'Name',
  id: 'Id',
}

type Row = Omit<FoundObject, 'matched'> & { readonly matched: FoundObject['matched'] | null }

function rowOf(path: string, object: Row): Html {
  const { kind, id, name, matched } = object
  return html`<tr><th scope="row"><a href="${pageOf(path, object)}"><bdi>${name || id}</bdi></a></th>
<td><span class="badge quiet">${icon(KINDS[kind].icon)} ${KINDS[kind].words}</span></td>
<td>${matched === null ? 'A part' : MATCHED[matched]}</td></tr>`
}

const table = (rows: readonly Html[]): Html => html`<div class="panel"><table>
<thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">Found by</th></tr></thead>
<tbody>
${rows}
</tbody>
</table></div>`
