import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { pageOf } from '../../../domain/page.ts'
import { AuditEntry, AuditQuery } from '../../../domain/tenants/audit.ts'
import { pageOfAudit } from '../../../store/audit.ts'
import { inPlatform, inTenant, reading } from '../../../store/tenancy.ts'
import type { InternalOptions } from '../../options.ts'

export const auditRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.get(
    '/audit',
    {
      config: { tenant: 'or-platform' },
      schema: {
        operationId: 'listAudit',
        summary: 'Who changed what, when, from what to what, and who saw codes of eSIMs; newest first',
        description:
          'With X-Tenant-Id @platform what concerns no tenant: operator keys, tariffs and prices of the platform, rule sets. What the service does by itself is in the event log.',
        tags: ['Audit'],
        querystring: AuditQuery,
        response: { 200: pageOf(AuditEntry) },
      },
    },
    ({ tenantId, query }) =>
      tenantId === ''
        ? inPlatform(store, (tx) => pageOfAudit(tx, query))
        : inTenant(reading(store), tenantId, (tx) => pageOfAudit(tx, query)),
  )
}
