/** The tenant that a page is about, and calls about it. */
import type { FastifyRequest } from 'fastify'
import { mustAnswer } from './answers.ts'
import { type Calls, callsOf, type Doors } from './calls.ts'
import type { PageTenant } from './parts/page.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The tenant that a request of the console is about, once it is read: the page of a failure shows it too. */
    pageTenant: PageTenant | null
  }
}

export interface TenantParams {
  readonly tenant: string
}

export interface TenantCalls {
  readonly calls: Calls
  readonly tenant: PageTenant
}

/** Calls about the tenant in the path. @throws ServiceError `tenant_not_found`, `forbidden` */
export async function callsFor(request: FastifyRequest<{ Params: TenantParams }>, doors: Doors): Promise<TenantCalls> {
  const { keyId, session, id: requestId } = request
  const calls = callsOf(doors, { keyId, sessionId: session?.id, tenantId: request.params.tenant, requestId })
  const tenant = await mustAnswer(calls.outside.GET('/api/tenant'))
  request.pageTenant = tenant
  return { calls, tenant }
}
