import { pageOf } from '../../../domain/page.ts'
import { AuditEntry, AuditQuery } from '../../../domain/tenants/audit.ts'
import { pageOfAudit } from '../../../store/audit.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Audit')

export const auditRoutes = [
  route('GET', '/audit', {
    operationId: 'listAudit',
    summary: 'Who changed what, when, from what to what, and who saw codes of eSIMs; newest first',
    description:
      'With X-Tenant-Id @platform what concerns no tenant: operator keys, tariffs and prices of the platform, rule sets. What the service does by itself is in the event log.',
    tenant: 'or-platform',
    query: AuditQuery,
    response: { 200: pageOf(AuditEntry) },
    read: (tx, { query }) => pageOfAudit(tx, query),
    readPlatform: (tx, { query }) => pageOfAudit(tx, query),
  }),
]
