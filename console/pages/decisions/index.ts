import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { PageQuery } from '../../../domain/page.ts'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor } from '../../tenant.ts'
import { DECISION_ACTS, readHold } from './acts.ts'
import { decisionPage } from './show.ts'

const DecisionQuery = Type.Object({ ...Done.properties, page: PageQuery.properties.page })
type DecisionQuery = Done & { readonly page?: number }

/** The pages of decisions. @param clock epoch milliseconds */
export function decisionRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: ObjectParams; Querystring: DecisionQuery }>(
    '/t/:tenant/decisions/:id',
    { schema: { params: OBJECT_PATHS.decisions, querystring: DecisionQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const hold = await readHold(calls, request.params.id)
      const said = doneNotice(request, DECISION_ACTS)
      const main = await decisionPage(calls, tenant, hold, { page: request.query.page ?? 1, now: clock(), said })
      // A number on a button does not change under a finger.
      return sendPage(reply, { title: `Decision ${hold.id}`, main, tenant, isLive: hold.state !== 'held' })
    },
  )
  for (const act of DECISION_ACTS) actRoutes(app, doors, clock, act)
}
