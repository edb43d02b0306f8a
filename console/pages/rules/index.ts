import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Doors } from '../../calls.ts'
import { actRoutes, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { ACTIVATE } from './acts.ts'
import { RulesQuery, rulesPage } from './list.ts'
import { rulePage } from './show.ts'
import { VersionQuery, versionPage } from './version.ts'

const RuleParams = Type.Object({ tenant: Type.String(), name: Type.String({ maxLength: 60 }) })
type RuleParams = Static<typeof RuleParams>

/** No change of the tenant's state is one of the rules, and their activity takes a look at the whole estate. */
const FRAME = { current: 'rules', isLive: false }

/** The pages of rules. @param clock epoch milliseconds */
export function ruleRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: RulesQuery }>(
    '/t/:tenant/rules',
    { schema: { querystring: RulesQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await rulesPage(calls, tenant, request.query, clock())
      return sendPage(reply, { title: 'Rules', main, tenant, ...FRAME })
    },
  )
  app.get<{ Params: RuleParams }>(
    '/t/:tenant/rules/:name',
    { schema: { params: RuleParams } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { name } = request.params
      const main = await rulePage(calls, tenant, name, clock())
      return sendPage(reply, { title: name, main, tenant, ...FRAME })
    },
  )
  app.get<{ Params: ObjectParams; Querystring: VersionQuery }>(
    '/t/:tenant/rules/versions/:id',
    { schema: { params: OBJECT_PATHS['rules/versions'], querystring: VersionQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const {
        params: { id },
        query: { file },
      } = request
      const said = doneNotice(request, [ACTIVATE])
      const main = await versionPage(calls, tenant, id, { ...(file !== undefined && { file }), now: clock(), said })
      return sendPage(reply, { title: `Version ${id} of the rules`, main, tenant, ...FRAME })
    },
  )
  actRoutes(app, doors, clock, ACTIVATE)
}
