import type { FastifyInstance } from 'fastify'
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { AuditQuery } from '../../../domain/tenants/audit.ts'
import type { Doors } from '../../calls.ts'
import { actLinks, actRoutes, Done, doneNotice } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantCalls, type TenantParams } from '../../tenant.ts'
import { auditPage } from './audit.ts'
import { NEW, REVOKE, ROTATE } from './key-acts.ts'
import { keysPage } from './keys.ts'
import { peoplePage, SIGN_OUT } from './people.ts'
import { SETTINGS_ACTS, settingsPage } from './settings.ts'

const PAGES = {
  keys: { title: 'Keys', lead: 'Programs of the tenant ask with them.', acts: [NEW] },
  people: { title: 'People', lead: 'Browsers that are signed in to the console.', acts: [] },
  audit: { title: 'Audit trail', lead: 'What people and programs have changed.', acts: [] },
  settings: { title: 'Settings', lead: 'Its name, its addresses, and when mails are sent.', acts: [] },
}
const Query = Type.Object({ ...AuditQuery.properties, ended: Type.Optional(Type.Boolean()), ...Done.properties })
type Query = Static<typeof Query>

/** Keys, people, audit trail and settings of a tenant. @param clock epoch milliseconds */
export function tenantRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  const page = (current: keyof typeof PAGES, make: (of: TenantCalls, query: Query) => Promise<Html>) =>
    app.get<{ Params: TenantParams; Querystring: Query }>(
      `/t/:tenant/${current}`,
      { schema: { querystring: Query } },
      async (request, reply) => {
        const of = await callsFor(request, doors)
        const { title, lead, acts } = PAGES[current]
        const main = html`<div class="head"><div><h1>${title}</h1><p class="lead">${lead}</p></div>
${actLinks(`/t/${of.tenant.id}/${current}`, acts)}
</div>
${doneNotice(request, [REVOKE, SIGN_OUT, ...SETTINGS_ACTS])}
${await make(of, request.query)}`
        return sendPage(reply, { title, main, tenant: of.tenant, current })
      },
    )
  page('keys', (of, query) => keysPage(of, query, clock()))
  page('people', (of, { page = 1 }) => peoplePage(of, page, clock()))
  page('audit', (of, { ended: _, done: __, ...query }) => auditPage(of, query))
  page('settings', (of) => settingsPage(of))
  actRoutes(app, doors, clock, NEW)
  actRoutes(app, doors, clock, ROTATE)
  actRoutes(app, doors, clock, REVOKE)
  actRoutes(app, doors, clock, SIGN_OUT)
  for (const act of SETTINGS_ACTS) actRoutes(app, doors, clock, act)
}
