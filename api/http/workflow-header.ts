/**
 * Which workflow asks: the header `Simherd-Workflow`, with the workflow's id, percent-encoded where it is not ASCII.
 * Activities send it with everything they ask for. It is taken with the platform's keys only, which the workers have.
 */
import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { tenantOfWorkflow } from '../../domain/temporal/ids.ts'
import { wrongWorkflow } from '../../operations/tickets/cause.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The workflow that asks, one of the request's tenant; null where it is not one. */
    workflowId: string | null
  }
}

/** Has every path of a scope read the header. Call after `useKeys`: it asks whose key it is. */
export function useWorkflowHeader(app: FastifyInstance): void {
  app.decorateRequest('workflowId', null)
  app.addHook('onRequest', async (request) => {
    const header = request.headers['simherd-workflow']
    if (header === undefined) return
    if (request.keyTenantId !== null) {
      throw new ServiceError('forbidden', 'Simherd-Workflow is for the workers: a key of a tenant asks for itself.')
    }
    const workflowId = decoded(String(header))
    if (tenantOfWorkflow(workflowId) !== request.tenantId) {
      const whose =
        request.tenantId === '' ? 'no workflow: this is the platform’s' : `one of tenant ${request.tenantId}`
      throw wrongWorkflow(workflowId, whose)
    }
    request.workflowId = workflowId
  })
}

function decoded(header: string): string {
  try {
    return decodeURI(header)
  } catch {
    throw wrongWorkflow(header, 'an id, percent-encoded')
  }
}
