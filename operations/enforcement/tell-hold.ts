/** Tells that the guard holds something: a Critical log entry, an event, and a notice for the billing contact. */
import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import type { AlertNotification } from '../../notify/notification.ts'
import { poolName } from '../../store/estate/pools.ts'
import { insertEvent } from '../../store/events.ts'
import { insertNotifications, rewriteNotification } from '../../store/mail/mails.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { findTenant } from '../../store/tenants/tenants.ts'
import { tenantSettings } from '../../store/usage/cycles.ts'
import { insertLogEntries } from '../../store/watchdog/alerts.ts'
import { activeRuleSet } from '../../store/watchdog/rule-sets.ts'
import { insertWebhookEvent } from '../../store/webhooks/events.ts'

export interface HeldNews {
  readonly holdId: number
  readonly rule: string
  /** Version of the rules in force. */
  readonly version: number
  /** Null: the whole tenant. */
  readonly poolId: number | null
  readonly cycleKey: string
  /** SIMs, or subjects, that wait. */
  readonly waiting: number
  readonly message: string
  readonly whatNext: string
  readonly howToStop: string
  readonly explanation: unknown
}

/** Tells of a new hold. */
export async function tellHold(tx: TenantTx, news: HeldNews): Promise<void> {
  const { rule, version, poolId, cycleKey, explanation } = news
  const body = await noticeOf(tx, news)
  const { key, message } = body
  await insertLogEntries(tx, [
    {
      dedupeKey: key,
      rule,
      ruleVersion: version,
      simId: null,
      poolId,
      level: LogLevel.Critical,
      message,
      cycleKey,
      explanation,
    },
  ])
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Critical,
    title: `Guard held: ${rule}, ${body.subject.label}`,
    description: message,
  })
  const { holdId, waiting } = news
  await insertWebhookEvent(tx, {
    type: 'guard.held',
    data: { holdId, rule, poolId, cycle: cycleKey, waiting, message },
  })
  await insertNotifications(tx, [{ body, dueAt: tx.now }])
}

/** Tells more of a hold, while its notice is in no mail yet. */
export const tellMoreOfHold = async (tx: TenantTx, news: HeldNews): Promise<void> =>
  rewriteNotification(tx, await noticeOf(tx, news))

async function noticeOf(tx: TenantTx, news: HeldNews): Promise<AlertNotification> {
  const { holdId, rule, version, poolId, message, whatNext, howToStop } = news
  const tenant = await findTenant(tx)
  const label = poolId === null ? (tenant?.name ?? tx.tenantId) : ((await poolName(tx, poolId)) ?? String(poolId))
  const at = tx.now.toISOString()
  return {
    kind: 'fired',
    key: `guard/${holdId}`,
    level: LogLevel.Critical,
    at,
    tenantId: tx.tenantId,
    tenantName: tenant?.name ?? '',
    timeZone: (await tenantSettings(tx)).timeZone,
    rule: {
      name: rule,
      file: (await activeRuleSet(tx))?.files.find((one) => one.file.endsWith(`/${rule}.json`))?.file ?? '',
      version,
    },
    subject: poolId === null ? { kind: 'tenant', id: tx.tenantId, label } : { kind: 'pool', id: poolId, label },
    message,
    since: at,
    facts: { usageMB: null, limitMB: null, usagePct: null, overageMB: null },
    pace: null,
    whatNext,
    why: [],
    howToStop,
  }
}
