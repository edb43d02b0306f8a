import type { FastifyInstance, FastifyRequest } from 'fastify'
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { CycleParams } from '../../../api/http/params.ts'
import { AlertQuery } from '../../../domain/alerts/alert.ts'
import { pageQuery } from '../../../domain/page.ts'
import { type Caller, callerIn } from '../../../domain/tenants/session.ts'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantCalls, type TenantParams } from '../../tenant.ts'
import { ADD, CHOOSE_LEVEL, REMOVE } from './acts.ts'
import { alertsPage } from './alerts.ts'
import { monthPage } from './month.ts'
import { settingsPage } from './settings.ts'
import { sendStatement, statementsPage } from './statements.ts'

const PAGES = { my: 'My month', 'my/alerts': 'Alerts', 'my/statements': 'Statements', 'my/settings': 'Settings' }
const Query = Type.Object({
  cycle: Type.Optional(CycleParams.properties.key),
  page: pageQuery.page,
  ended: AlertQuery.properties.ended,
  cursor: AlertQuery.properties.cursor,
  ...Done.properties,
})
const FileParams = Type.Object({ tenant: Type.String(), ...CycleParams.properties })

interface Asked {
  Params: TenantParams
  Querystring: Static<typeof Query>
}
type Make = (of: TenantCalls, request: FastifyRequest<Asked>) => Promise<Html>

const callerOf = ({ session }: FastifyRequest<Asked>): Caller | null => (session === null ? null : callerIn(session))
/** The navigation of a contact has these pages. */
const isContact = (request: FastifyRequest<Asked>): boolean => callerOf(request) === 'contact'
/** The interface shows keys of a tenant no alerts, unless they are for costs alone. */
const maySee = (caller: Caller | null, path: string): boolean => caller !== 'key' || path !== 'my/alerts'

/** The pages of a billing contact. A cost is dear to read, so they do not refresh. @param clock epoch milliseconds */
export function myRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  const page = (current: keyof typeof PAGES, make: Make) =>
    app.get<Asked>(`/t/:tenant/${current}`, { schema: { querystring: Query } }, async (request, reply) => {
      const of = await callsFor(request, doors)
      const pages = Object.entries(PAGES).filter(([path]) => maySee(callerOf(request), path))
      const links = isContact(request)
        ? ''
        : html`<p class="crumbs">${pages.map(([path, name], n) => html`${n === 0 ? '' : ' · '}<a href="/t/${of.tenant.id}/${path}"${path === current ? html` aria-current="page"` : ''}>${name}</a>`)}</p>`
      const main = html`${links}
${await make(of, request)}`
      return sendPage(reply, { title: PAGES[current], main, tenant: of.tenant, current, isLive: false })
    })
  page('my', ({ calls, tenant }, request) =>
    monthPage(calls, tenant, { ...request.query, mayOpen: !isContact(request), now: clock() }),
  )
  page('my/alerts', ({ calls, tenant }, { query }) => alertsPage(calls, tenant, query, clock()))
  page('my/statements', ({ calls, tenant }, { query }) => statementsPage(calls, tenant, query.page ?? 1))
  page('my/settings', ({ calls, tenant }, request) =>
    settingsPage(calls, tenant, doneNotice(request, [CHOOSE_LEVEL, ADD, REMOVE])),
  )
  app.get<{ Params: Static<typeof FileParams> }>(
    '/t/:tenant/my/statements/:key.csv',
    { schema: { params: FileParams } },
    (request, reply) => sendStatement(request, reply, doors),
  )
  app.get('/my', async ({ session }, reply) =>
    reply.redirect(session?.tenantId == null ? '/' : `/t/${encodeURIComponent(session.tenantId)}/my`, 303),
  )
  actRoutes(app, doors, clock, CHOOSE_LEVEL)
  actRoutes(app, doors, clock, ADD)
  actRoutes(app, doors, clock, REMOVE)
}
