/**
 * Tells that the guard holds something: a Critical log entry, an event, and notices for the billing contact and for the
 * operator, who decides.
 */
import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import type { GuardScope } from '../../domain/enforcement/guard.ts'
import { instant } from '../../domain/local-time.ts'
import type { AlertNotification } from '../../domain/notifications/notification.ts'
import { count, counted } from '../../domain/quantity.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { insertEvent } from '../../store/events.ts'
import { insertLogEntries } from '../../store/log.ts'
import { insertNotifications, rewriteNotification } from '../../store/notifications.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolName } from '../pools/rows/pools.ts'
import { findTenant } from '../tenants/rows/tenants.ts'
import { tenantSettings } from '../usage/rows/cycles.ts'
import type { TakenHold } from './guard.ts'

interface HeldNews {
  readonly hold: TakenHold
  /** SIMs, or subjects, that wait. */
  readonly waiting: number
  /** The hold lapses with its cycle. */
  readonly cycle: Pick<Cycle, 'endsAt'>
  /** Version of the rules in force, and the file of the rule. */
  readonly version: number
  readonly file: string
}

export async function tellHold(tx: TenantTx, scope: GuardScope, news: HeldNews): Promise<void> {
  const { rule, poolId, cycleKey } = scope
  const { hold, waiting, version, cycle } = news
  const body = await noticeOf(tx, scope, news)
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
      explanation: { holdId: hold.id, suspended: hold.used, allowed: hold.allowed, waiting },
    },
  ])
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Critical,
    title: `Guard held: ${rule}, ${body.subject.label}`,
    description: message,
  })
  const data = { holdId: hold.id, rule, poolId, cycle: cycleKey, waiting, message }
  await insertNotifications(tx, [
    { type: 'guard.held', data },
    { body, dueAt: tx.now },
  ])
  const pool = poolId === null ? null : body.subject.label
  const until = new Date(cycle.endsAt).toISOString()
  const notice = { kind: 'decisionNeeded', holdId: hold.id, what: scope.what, rule, pool, until } as const
  await insertOperatorNotices(tx, [{ key, body: notice }])
}

/** Tells more of a hold, while its notice is in no mail yet. */
export const tellMoreOfHold = async (tx: TenantTx, scope: GuardScope, news: HeldNews): Promise<void> =>
  rewriteNotification(tx, await noticeOf(tx, scope, news))

async function noticeOf(tx: TenantTx, scope: GuardScope, news: HeldNews): Promise<AlertNotification> {
  const { rule, poolId } = scope
  const { hold, version, file } = news
  const tenant = await findTenant(tx)
  const { timeZone } = await tenantSettings(tx)
  const label = poolId === null ? (tenant?.name ?? tx.tenantId) : ((await poolName(tx, poolId)) ?? String(poolId))
  const at = tx.now.toISOString()
  return {
    kind: 'fired',
    key: `guard/${hold.id}`,
    level: LogLevel.Critical,
    at,
    tenantId: tx.tenantId,
    tenantName: tenant?.name ?? '',
    timeZone,
    rule: { name: rule, file, version },
    subject: poolId === null ? { kind: 'tenant', id: tx.tenantId, label } : { kind: 'pool', id: poolId, label },
    since: at,
    facts: { usageMB: null, limitMB: null, usagePct: null, overageMB: null },
    pace: null,
    why: [],
    ...textsOf(scope, news, {
      whose: poolId === null ? 'the tenant' : `pool ${label}`,
      until: instant(news.cycle.endsAt, timeZone),
    }),
  }
}

function textsOf(
  { what, rule }: GuardScope,
  { hold, waiting, version }: HeldNews,
  { whose, until }: { readonly whose: string; readonly until: string },
): Pick<AlertNotification, 'message' | 'whatNext' | 'advice'> {
  const decide = `The operator of the service decides on hold ${hold.id} until ${until}.`
  const advice = (what: string) => `What to do: Tell the operator of the service whether the ${what} are right.`
  if (what === 'suspensions') {
    return {
      message:
        `Decision needed: ${counted(waiting, 'suspension')} in ${whose} held. ` +
        `Rule ${rule} of version ${version} has suspended ${counted(hold.used, 'SIM')} there in the last hour; at most ${count(hold.allowed)} go in an hour. ${decide}`,
      whatNext: `This rule suspends nothing more here until the operator decides, at the latest until ${until}.`,
      advice: advice('suspensions'),
    }
  }
  return {
    message:
      `Decision needed: ${counted(waiting, 'alert')} of rule ${rule} held. At most ${counted(hold.allowed, 'alert')} of one rule are sent in an hour. ` +
      `${count(hold.used)} were sent; these and all further ones wait: they are logged, but neither mailed nor acted on. ${decide}`,
    whatNext: `Nothing more of this rule is mailed or acted on until the operator decides, at the latest until ${until}.`,
    advice: advice('alerts'),
  }
}
