import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ServiceError } from '../../../domain/errors.ts'
import { NoticeSettings } from '../../../domain/tenants/notices.ts'
import { changeNotices } from '../../../service/channels/change-notices.ts'
import { readNoticeSettings } from '../../../service/tenants/rows/notices.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import { versionOf } from '../../../store/versions.ts'
import { changeInTenant } from '../../http/change.ts'
import { answersVersion } from '../../http/etag.ts'
import type { InternalOptions } from '../../options.ts'

/** A tenant's notification settings. */
export const noticeRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const tags = ['Alerts']
  const config = { versioned: true, problems: ['tenant_not_found'] } as const
  const resource = { kind: 'tenant' } as const

  app.get(
    '/tenant/notices',
    {
      config,
      schema: {
        operationId: 'readNotices',
        summary: 'How the tenant wants to be told',
        tags,
        response: { 200: NoticeSettings },
      },
    },
    ({ tenantId }, reply) =>
      inTenant(reading(store), tenantId, async (tx) => {
        answersVersion(reply, await versionOf(tx, resource))
        const settings = await readNoticeSettings(tx)
        if (settings === undefined) throw new ServiceError('tenant_not_found', `There is no tenant ${tenantId}.`)
        return settings
      }),
  )

  app.put(
    '/tenant/notices',
    {
      config,
      schema: {
        operationId: 'changeNotices',
        summary: 'Replace how the tenant wants to be told',
        description:
          'The time zone of its mails, how often its usage is received, and after how long a Critical alert is escalated.',
        tags,
        body: NoticeSettings,
        response: { 200: NoticeSettings },
      },
    },
    (request) => changeInTenant(store, request, (tx) => changeNotices(tx, request.body), resource),
  )
}
