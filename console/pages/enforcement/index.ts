import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { readEnforcement, SWITCHES, UNDO } from './acts.ts'
import { enforcementPage } from './show.ts'

/** The page of a tenant's enforcement. @param clock epoch milliseconds */
export function enforcementRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: Done }>(
    '/t/:tenant/enforcement',
    { schema: { querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const settings = await readEnforcement(calls)
      const said = doneNotice(request, SWITCHES)
      const main = await enforcementPage(calls, tenant, settings, { now: clock(), said })
      return sendPage(reply, { title: 'Enforcement', main, tenant, current: 'enforcement' })
    },
  )
  for (const act of SWITCHES) actRoutes(app, doors, clock, act)
  actRoutes(app, doors, clock, UNDO)
}
