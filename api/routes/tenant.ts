import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ServiceError } from '../../domain/errors.ts'
import { Tenant } from '../../domain/tenant.ts'
import { inTenant } from '../../store/tenancy.ts'
import { findTenant } from '../../store/tenants.ts'
import type { RouteOptions } from '../server.ts'

export const tenantRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { ground }) => {
  app.get(
    '/tenant',
    {
      schema: {
        operationId: 'getTenant',
        summary: 'The tenant the key acts for',
        tags: ['Tenant'],
        response: { 200: Tenant },
      },
    },
    ({ tenantId }) =>
      inTenant(ground, tenantId, async (tx) => {
        const tenant = await findTenant(tx)
        if (tenant === undefined) throw new ServiceError('tenant_not_found', `There is no tenant ${tenantId}.`)
        return tenant
      }),
  )
}
