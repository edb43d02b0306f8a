/**
 * The header `Simherd-Workflow` names the workflow that sends a request: its id, percent-encoded if not ASCII.
 * Activities send it with every request. It is accepted with operator keys only, which the workers have.
 */
import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import { tenantOfWorkflow } from '../../domain/temporal/ids.ts'
import { wrongWorkflow } from '../../service/tickets/cause.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The workflow that sent the request; it belongs to the request's tenant. Null if none did. */
    workflowId: string | null
  }
}

/**
 * Reads the header on every path of a scope. Call after `useKeys`: it depends on the kind of key. Refuses a tenant's
 * key with `forbidden`, and other ids than of the tenant's workflows with `invalid_request`.
 */
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
