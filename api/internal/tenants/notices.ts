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
    summary: 'How the tenant wants to be told',
    problems: ['tenant_not_found'],
    response: { 200: NoticeSettings },
    resource: () => ({ kind: 'tenant' }),
    read: async (tx) => mustBeFound(await readNoticeSettings(tx), 'tenant_not_found', `tenant ${tx.tenantId}`),
  }),
  route('PUT', '/tenant/notices', {
    operationId: 'changeNotices',
    summary: 'Replace how the tenant wants to be told',
    description:
      'The time zone of its mails, how often its usage is received, and after how long a Critical alert is escalated.',
    problems: ['tenant_not_found'],
    body: NoticeSettings,
    response: { 200: NoticeSettings },
    resource: () => ({ kind: 'tenant' }),
    change: (tx, { body }) => changeNotices(tx, body),
  }),
]
