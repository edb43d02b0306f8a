import { FindQuery, Found, type FoundObject, readSought } from '../../domain/find.ts'
import { findObjects } from '../../store/find-objects.ts'
import { inTenant, readOnly } from '../../store/tenancy.ts'
import { internalRoutes } from '../http/declare-routes.ts'
import { findRun } from './workflows/workflows.ts'

const route = internalRoutes('Operation')

export const findRoutes = [
  route('GET', '/find', {
    operationId: 'findObjects',
    summary: 'Find SIMs, pools, tickets, orders and workflows by a copied text',
    description:
      'A number is found whole, in groups or not; an ICCID also without its check digit, an MSISDN also without its plus. Search SIMs by a part of a number: `GET /api/sims?search=`. Temporal is asked only about an id of a workflow.',
    query: FindQuery,
    response: { 200: Found },
    handle: async ({ tenantId, query }, { store, workflowClient }) => {
      const { workflowId, ...sought } = readSought(tenantId, query.q)
      const found = await inTenant(readOnly(store), tenantId, (tx) => findObjects(tx, sought))
      if (workflowId === null || (await findRun(workflowClient, workflowId, tenantId)) === undefined) return found
      const workflow: FoundObject = { kind: 'workflow', id: workflowId, matched: 'id', name: '' }
      return { ...found, objects: [workflow, ...found.objects] }
    },
  }),
]
