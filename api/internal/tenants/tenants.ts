import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { NewTenant, WithSecret } from '../../../domain/tenants/tenant.ts'
import { createTenant } from '../../../service/tenants/create-tenant.ts'
import { idempotentInPlatform } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'

export const tenantRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store, billingCycle }) => {
  app.post(
    '/tenants',
    {
      config: { tenant: 'none', problems: ['secret_already_shown'] },
      schema: {
        operationId: 'createTenant',
        summary: 'Make a tenant and its first key',
        tags: ['Tenants'],
        body: NewTenant,
        response: { 201: WithSecret },
      },
    },
    (request, reply) =>
      idempotentInPlatform(store, { request, reply }, (tx) => createTenant(tx, request.body, billingCycle), {
        status: 201,
        secret: true,
      }),
  )
}
