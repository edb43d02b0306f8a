/** `simherd tenants notices`: a tenant's notification settings. */

import { LogLevel, labelOf } from '../../domain/codes.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { NoticeSettings } from '../../domain/tenants/notices.ts'
import { forTenant } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { responseOf } from '../service.ts'

interface NoticeFlags extends TenantFlags, OutputFlags {
  readonly timeZone?: string
  readonly feedEvery?: string
  /** False: never. */
  readonly escalateAfter?: string | false
  readonly mailsFrom?: 'info' | 'warning' | 'critical'
}

const LEVELS = { info: LogLevel.Info, warning: LogLevel.Warning, critical: LogLevel.Critical } as const

/** Changes the given settings, then shows all. */
export const tenantNotices = forTenant(async (service, flags: NoticeFlags) => {
  const { timeZone, feedEvery, escalateAfter, mailsFrom } = flags
  const change = dropUndefined({
    timeZone,
    feedEvery,
    escalateAfter: escalateAfter === false ? null : escalateAfter,
    mailsFrom: mailsFrom && LEVELS[mailsFrom],
  })
  const read = await service.GET('/internal/tenant/notices')
  const was = await responseOf(Promise.resolve(read))
  const body = { ...was, ...change }
  // The ETag keeps concurrent changes by others from being undone.
  const params = { header: { 'If-Match': read.response.headers.get('etag') ?? '*' } }
  const isRead = Object.keys(change).length === 0
  const now = isRead ? was : await responseOf(service.PUT('/internal/tenant/notices', { body, params }))
  printAnswer(flags, now, settingsLines)
})

const settingsLines = ({ timeZone, feedEvery, escalateAfter, mailsFrom }: NoticeSettings): string[] => [
  `mails show instants of the time zone ${timeZone}`,
  `usage is received every ${feedEvery}`,
  escalateAfter === null
    ? 'Critical alerts are not escalated'
    : `a Critical alert that nobody acknowledges is escalated after ${escalateAfter}`,
  mailsFrom === LogLevel.Info
    ? 'alerts of all levels are mailed'
    : `alerts are mailed from level ${labelOf(LogLevel, mailsFrom)} on`,
]
