import { Tenant, TenantBillingEmail, TenantName, TenantResponse } from '../../domain/tenants/tenant.ts'
import { changeBillingAddress } from '../../service/channels/change-addresses.ts'
import { changeTenant } from '../../service/tenants/change-tenant.ts'
import { findTenant } from '../../service/tenants/rows/tenants.ts'
import { publicRoutes } from '../http/declare-routes.ts'
import { mustBeFound } from '../http/problems.ts'

const route = publicRoutes('Tenant')

export const tenantRoutes = [
  route('GET', '/tenant', {
    operationId: 'getTenant',
    isOpenTo: 'read',
    summary: 'The tenant of the request',
    description: "A tenant's key implies its tenant; an operator key names a tenant with `X-Tenant-Id`.",
    response: { 200: Tenant },
    resource: () => ({ kind: 'tenant' }),
    read: async (tx) => mustBeFound(await findTenant(tx), 'tenant_not_found', `tenant ${tx.tenantId}`),
  }),
  route('PATCH', '/tenant/name', {
    operationId: 'renameTenant',
    summary: 'Change the display name',
    description: 'Needs a key with the scope admin.',
    scope: 'admin',
    body: TenantName,
    response: { 200: TenantResponse },
    resource: () => ({ kind: 'tenant' }),
    change: async (tx, { body }) => ({ id: (await changeTenant(tx, 'name', body.name)).id }),
  }),
  route('PATCH', '/tenant/billing-email', {
    operationId: 'changeBillingEmail',
    summary: 'Change the address for alerts and statements',
    description: 'Needs a key with the scope admin.',
    scope: 'admin',
    body: TenantBillingEmail,
    response: { 200: TenantResponse },
    resource: () => ({ kind: 'tenant' }),
    change: (tx, { body }) => changeBillingAddress(tx, body.billingEmail),
  }),
]
