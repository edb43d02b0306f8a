import { pageOf } from '../../../domain/page.ts'
import { NoticeSettings } from '../../../domain/tenants/notices.ts'
import { BilledTenant, NewTenant, TenantEntry, TenantQuery, WithSecret } from '../../../domain/tenants/tenant.ts'
import { changeNotices } from '../../../service/channels/change-notices.ts'
import { createTenant } from '../../../service/tenants/create-tenant.ts'
import { findBilledTenant, pageOfTenants, readNoticeSettings } from '../../../service/tenants/rows/tenants.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { mustBeFound } from '../../http/problems.ts'

const route = internalRoutes('Tenants')
const noticeRoute = internalRoutes('Alerts')

/** Tenants, and their notification settings. */
export const internalTenantRoutes = [
  route('GET', '/tenants', {
    operationId: 'listTenants',
    summary: 'All tenants, oldest first',
    tenant: 'none',
    query: TenantQuery,
    response: { 200: pageOf(TenantEntry) },
    readPlatform: (tx, { query }) => pageOfTenants(tx, query),
  }),
  route('POST', '/tenants', {
    operationId: 'createTenant',
    summary: 'Create a tenant and its first key',
    tenant: 'none',
    problems: ['secret_already_shown'],
    body: NewTenant,
    response: { 201: WithSecret },
    secret: true,
    changePlatform: (tx, { body }, { billingCycle, currency }) => createTenant(tx, body, { billingCycle, currency }),
  }),
  route('GET', '/tenant', {
    operationId: 'getBilledTenant',
    isOpenTo: 'read',
    summary: 'The tenant of the request, with its billing cycle and currency',
    response: { 200: BilledTenant },
    resource: () => ({ kind: 'tenant' }),
    read: async (tx) => mustBeFound(await findBilledTenant(tx), 'tenant_not_found', `tenant ${tx.tenantId}`),
  }),
  noticeRoute('GET', '/tenant/notices', {
    operationId: 'readNotices',
    isOpenTo: 'read',
    summary: "The tenant's notification settings",
    response: { 200: NoticeSettings },
    resource: () => ({ kind: 'tenant' }),
    read: async (tx) => mustBeFound(await readNoticeSettings(tx), 'tenant_not_found', `tenant ${tx.tenantId}`),
  }),
  noticeRoute('PUT', '/tenant/notices', {
    operationId: 'changeNotices',
    isOpenTo: 'admin',
    summary: "Replace the tenant's notification settings",
    description: 'Time zone of mails, interval of the usage feed, and time before a Critical alert is escalated.',
    body: NoticeSettings,
    response: { 200: NoticeSettings },
    resource: () => ({ kind: 'tenant' }),
    change: (tx, { body }) => changeNotices(tx, body),
  }),
]
