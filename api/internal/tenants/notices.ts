import { NoticeSettings } from '../../../domain/tenants/notices.ts'
import { changeNotices } from '../../../service/channels/change-notices.ts'
import { readNoticeSettings } from '../../../service/tenants/rows/notices.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { mustBeFound } from '../../http/problems.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Alerts')

/** A tenant's notification settings. */
export const noticeRoutes = [
  route('GET', '/tenant/notices', {
    operationId: 'readNotices',
    summary: "The tenant's notification settings",
    problems: ['tenant_not_found'],
    response: { 200: NoticeSettings },
    resource: () => ({ kind: 'tenant' }),
    read: async (tx) => mustBeFound(await readNoticeSettings(tx), 'tenant_not_found', `tenant ${tx.tenantId}`),
  }),
  route('PUT', '/tenant/notices', {
    operationId: 'changeNotices',
    summary: "Replace the tenant's notification settings",
    description: 'Time zone of mails, interval of the usage feed, and time before a Critical alert is escalated.',
    problems: ['tenant_not_found'],
    body: NoticeSettings,
    response: { 200: NoticeSettings },
    resource: () => ({ kind: 'tenant' }),
    change: (tx, { body }) => changeNotices(tx, body),
  }),
]
