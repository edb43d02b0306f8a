import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ServiceError } from '../../domain/errors.ts'
import { Tenant, TenantBillingEmail, TenantName, TenantResponse } from '../../domain/tenants/tenant.ts'
import { changeBillingAddress } from '../../service/channels/change-billing-address.ts'
import { changeTenant } from '../../service/tenants/change-tenant.ts'
import { findTenant } from '../../service/tenants/rows/tenants.ts'
import { inTenant, reading, type TenantTx } from '../../store/tenancy.ts'
import { versionOf } from '../../store/versions.ts'
import { changeInTenant } from '../http/change.ts'
import { answersVersion } from '../http/etag.ts'
import type { RouteOptions } from '../options.ts'

export const tenantRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { store }) => {
  const tags = ['Tenant']
  const config = { scope: 'admin' } as const
  const resource = { kind: 'tenant' } as const

  app.get(
    '/tenant',
    {
      config: { versioned: true },
      schema: {
        operationId: 'getTenant',
        summary: 'The tenant the key acts for',
        description: "A tenant's key has one tenant; an operator key names it with `X-Tenant-Id`.",
        tags,
        response: { 200: Tenant },
      },
    },
    ({ tenantId }, reply) =>
      inTenant(reading(store), tenantId, async (tx) => {
        answersVersion(reply, await versionOf(tx, resource))
        const tenant = await findTenant(tx)
        if (tenant === undefined) throw new ServiceError('tenant_not_found', `There is no tenant ${tenantId}.`)
        return tenant
      }),
  )

  app.patch(
    '/tenant/name',
    {
      config: { ...config, versioned: true },
      schema: {
        operationId: 'renameTenant',
        summary: 'Change the display name',
        description: 'Takes a key with the scope admin.',
        tags,
        body: TenantName,
        response: { 200: TenantResponse },
      },
    },
    (request) => {
      const rename = async (tx: TenantTx) => ({ id: (await changeTenant(tx, 'name', request.body.name)).id })
      return changeInTenant(store, request, rename, resource)
    },
  )

  app.patch(
    '/tenant/billing-email',
    {
      config: { ...config, versioned: true },
      schema: {
        operationId: 'changeBillingEmail',
        summary: 'Change where alerts and statements are mailed to',
        description: 'Takes a key with the scope admin.',
        tags,
        body: TenantBillingEmail,
        response: { 200: TenantResponse },
      },
    },
    (request) => changeInTenant(store, request, (tx) => changeBillingAddress(tx, request.body.billingEmail), resource),
  )
}
