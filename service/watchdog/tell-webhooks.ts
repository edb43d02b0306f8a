/**
 * Sends alerts to webhooks. An event of a firing alert is due with the notice for the mail: by the same rules, in the
 * same stages, under the same silences. Each such event is followed by one of the end, regardless of mails.
 */
import { LogLevel } from '../../domain/codes.ts'
import type { AlertData, WebhookEvent } from '../../domain/notifications/event.ts'
import type { AlertSubject, Decisions, Evaluation, Withdrawal } from '../../rules/alerts/decide-all.ts'
import { withoutStep } from '../../rules/alerts/keys.ts'
import { firedMessage, resolvedMessage } from '../../rules/alerts/message.ts'
import { type AlertState, isFiring } from '../../rules/alerts/state.ts'
import { levelAt } from '../../rules/ladder.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { insertWebhookEvents } from '../../store/webhook-events.ts'
import type { Batch } from './read-facts.ts'

/** Writes the events of all decisions, once for each. */
export const tellWebhooks = (tx: TenantTx, batch: Batch, { evaluations, withdrawals }: Decisions): Promise<void> =>
  insertWebhookEvents(tx, [
    ...evaluations.flatMap((one) => [
      ...firedEvents(tx.tenantId, batch, one),
      ...resolvedEvents(tx.tenantId, batch, one),
    ]),
    ...withdrawals.flatMap((one) => withdrawnEvents(tx.tenantId, batch, one)),
  ])

/** Data common to all events about an alert. */
const about = (tenantId: string, rule: string, { kind, id, label, poolId }: AlertSubject, batch: Batch) => ({
  rule,
  subject: { kind, id: kind === 'tenant' ? tenantId : id, label },
  poolId,
  cycle: batch.moment.cycle.key,
})

function firedEvents(tenantId: string, batch: Batch, one: Evaluation): WebhookEvent[] {
  const { outcome, decision, subject, permission } = one
  const { step } = decision.next
  // A tenant without mails of the level may still have systems for the event: the log's entry replaces the notice.
  return (permission.isUnsubscribed === true ? decision.entries : decision.notices)
    .filter(({ kind }) => kind === 'fired')
    .flatMap(({ since, times }): WebhookEvent[] => {
      const data: AlertData = {
        ...about(tenantId, outcome.rule.name, one.about, batch),
        level: levelAt(outcome.rule, step),
        since: new Date(since).toISOString(),
        times,
        message: firedMessage(outcome.rule, subject.facts, step),
      }
      return [{ type: 'alert.fired', data }, ...staleFeed(one, batch, data.message)]
    })
}

const FEED = 'usage-feed-silent'

/** Sent in addition to the alert, for receivers of the feed's state alone. */
function staleFeed({ outcome: { rule } }: Evaluation, { moment }: Batch, message: string): WebhookEvent[] {
  if (rule.event.type !== FEED) return []
  return [{ type: 'feed.stale', data: { receivedAt: moment.feedTimes.receivedAt?.toISOString() ?? null, message } }]
}

function resolvedEvents(tenantId: string, batch: Batch, one: Evaluation): WebhookEvent[] {
  const { outcome, decision, stored, subject } = one
  if (stored === null || !wasTold(stored.state) || decision.next.phase !== 'resolved') return []
  return [
    resolvedEvent(decision.next, 'cleared', {
      ...about(tenantId, outcome.rule.name, one.about, batch),
      message: resolvedMessage(outcome.rule, subject.facts, decision.next.step),
    }),
  ]
}

function withdrawnEvents(
  tenantId: string,
  batch: Batch,
  { about: subject, stored, decision, why }: Withdrawal,
): WebhookEvent[] {
  if (!wasTold(stored.state)) return []
  return [
    resolvedEvent(decision.next, 'withdrawn', {
      ...about(tenantId, stored.rule, subject, batch),
      message: `Rule ${stored.rule} no longer watches ${subject.label}: ${why}.`,
    }),
  ]
}

const resolvedEvent = (
  { since, returns = 0 }: AlertState,
  reason: 'cleared' | 'withdrawn',
  data: Omit<AlertData, 'level' | 'since' | 'times'>,
): WebhookEvent => ({
  type: 'alert.resolved',
  data: { ...data, level: LogLevel.Info, since: new Date(since).toISOString(), times: returns + 1, reason },
})

/** Whether an alert fires, and webhooks got an event of its present episode. */
function wasTold(state: AlertState): boolean {
  const { told, mailed, part, step, withheld = [] } = state
  if (!isFiring(state)) return false
  const marks = withheld.includes('unsubscribed') ? [...mailed, ...told] : mailed
  const last = marks.findLast((mark) => mark.startsWith('fired'))
  if (last === undefined) return false
  // After an event of a lower step of the episode, its end is sent too.
  return step === undefined ? last === `fired${part}` : withoutStep(last) === `fired${withoutStep(part)}`
}
