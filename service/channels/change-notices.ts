import { Value } from 'typebox/value'
import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { type NoticeSettings, wrongFieldsOf } from '../../domain/tenants/notices.ts'
import { noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import { lookAtAll } from '../../store/shards.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { markFiringDue } from '../alerts/rows/alerts.ts'
import { lockTenant, readNoticeSettings, writeNoticeSettings } from '../tenants/rows/tenants.ts'

const MAILED = {
  [LogLevel.Info]: 'alerts of all levels',
  [LogLevel.Warning]: 'Warning and Critical alerts',
  [LogLevel.Critical]: 'Critical alerts alone',
} as const

/**
 * Replaces a tenant's notice settings, and records an event. Another `feedEvery` or `escalateAfter` marks every subject
 * due: they decide whether the feed is stale, and which alerts are escalated. Another `mailsFrom` asks for an
 * evaluation of firing alerts: waiting notifications below the new level are taken back, those newly included are
 * mailed.
 *
 * @returns the settings after the change
 * @throws ServiceError `invalid_request` with every wrong field; `tenant_not_found`
 */
export async function changeNotices(tx: TenantTx, settings: NoticeSettings): Promise<NoticeSettings> {
  const wrong = wrongFieldsOf(settings)
  if (wrong.length > 0) {
    const words = wrong.map(({ pointer, detail }) => `${pointer}: ${detail}`)
    throw new ServiceError('invalid_request', words.join('; '), { errors: wrong })
  }
  await lockTenant(tx)
  const was = await readNoticeSettings(tx)
  if (was === undefined) throw new ServiceError('tenant_not_found', `There is no tenant ${tx.tenantId}.`)
  const { timeZone, feedEvery, escalateAfter, mailsFrom } = settings
  if (Value.Equal(settings, was)) return was
  await writeNoticeSettings(tx, settings)
  await noteChange(tx, { subject: 'tenant', id: tx.tenantId, before: was, after: settings })
  if (feedEvery !== was.feedEvery || escalateAfter !== was.escalateAfter) await lookAtAll(tx)
  if (mailsFrom !== was.mailsFrom) await markFiringDue(tx)
  const escalated = escalateAfter === null ? 'is not escalated' : `is escalated after ${escalateAfter}`
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: 'Tenant changed: notices',
    description:
      `Mails show instants of the time zone ${timeZone}. Usage is expected every ${feedEvery}. ` +
      `A Critical alert that nobody acknowledges ${escalated}. Mailed are ${MAILED[mailsFrom]}.`,
  })
  return settings
}
