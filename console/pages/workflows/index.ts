import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { UNDO } from '../enforcement/acts.ts'
import { START } from '../month/acts.ts'
import { WORKFLOW_ACTS } from './acts.ts'
import { WorkflowsQuery, workflowsPage } from './list.ts'
import { typeWords } from './marks.ts'
import { workflowPage } from './show.ts'

/** The pages of workflows. @param clock epoch milliseconds */
export function workflowRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: WorkflowsQuery }>(
    '/t/:tenant/workflows',
    { schema: { querystring: WorkflowsQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await workflowsPage(calls, tenant, request.query, clock())
      return sendPage(reply, { title: 'Workflows', main, tenant, current: 'workflows' })
    },
  )
  app.get<{ Params: ObjectParams<string>; Querystring: Done }>(
    '/t/:tenant/workflows/:id',
    { schema: { params: OBJECT_PATHS.workflows, querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const { id } = request.params
      const main = await workflowPage(calls, tenant, id, {
        now: clock(),
        said: doneNotice(request, [...WORKFLOW_ACTS, UNDO, START]),
      })
      return sendPage(reply, { title: typeWords(id), main, tenant, current: 'workflows' })
    },
  )
  for (const act of WORKFLOW_ACTS) actRoutes(app, doors, clock, act)
}
