import { NewTenant, WithSecret } from '../../../domain/tenants/tenant.ts'
import { createTenant } from '../../../service/tenants/create-tenant.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Tenants')

export const internalTenantRoutes = [
  route('POST', '/tenants', {
    operationId: 'createTenant',
    summary: 'Create a tenant and its first key',
    tenant: 'none',
    problems: ['secret_already_shown'],
    body: NewTenant,
    response: { 201: WithSecret },
    secret: true,
    changePlatform: (tx, { body }, { billingCycle }) => createTenant(tx, body, billingCycle),
  }),
]
