import { pageOf } from '../../../domain/page.ts'
import { AuditEntry, AuditQuery } from '../../../domain/tenants/audit.ts'
import { pageOfAudit } from '../../../store/audit.ts'
import { internalRoutes } from '../../http/declare-routes.ts'

const route = internalRoutes('Audit')

export const auditRoutes = [
  route('GET', '/audit', {
    operationId: 'listAudit',
    summary: 'Audit trail: changes with time, actor, old and new values, and readers of eSIM codes; newest first',
    description:
      'With X-Tenant-Id @platform: changes without a tenant, such as operator keys, tariffs and prices of the platform, rule sets. Automatic changes are in the event log.',
    tenant: 'or-platform',
    query: AuditQuery,
    response: { 200: pageOf(AuditEntry) },
    read: (tx, { query }) => pageOfAudit(tx, query),
    readPlatform: (tx, { query }) => pageOfAudit(tx, query),
  }),
]
