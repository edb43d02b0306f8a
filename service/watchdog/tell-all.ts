/** Reports decisions about alerts: entries of the watchdog log, events, and notices to mail. Each is written once. */

import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import type { AlertData } from '../../domain/notifications/event.ts'
import { mailWaits, shortenedWait } from '../../domain/notifications/waits.ts'
import { type AlertState, isFiring } from '../../rules/alerts/alert-state.ts'
import type { AlertSubject, Decisions, Evaluation, Withdrawal } from '../../rules/alerts/decide-all.ts'
import { withoutStep } from '../../rules/alerts/keys.ts'
import { endedMessage, firedMessage, resolvedMessage, tellingMessage } from '../../rules/alerts/message.ts'
import { NOUNS } from '../../rules/alerts/subject.ts'
import { settled } from '../../rules/alerts/take-back.ts'
import { levelOfTelling, type Telling } from '../../rules/alerts/telling.ts'
import type { Facts } from '../../rules/facts.ts'
import { levelAt } from '../../rules/ladder.ts'
import { insertEvent } from '../../store/events.ts'
import { insertLogEntries, type NewLogEntry } from '../../store/log.ts'
import {
  insertNotifications,
  lastGroupedAt,
  type NewNotification,
  takeBackNotifications,
} from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { insertShadowEntries, type NewShadowEntry } from '../alerts/rows/shadow-log.ts'
import type { EvaluationOptions } from './evaluation-options.ts'
import { type Grounds, groundsOf, keptGrounds } from './grounds.ts'
import { FEED_SILENT, notificationOf } from './notification-of.ts'
import type { EvaluationBatch } from './read-batch.ts'

interface TellingEntry {
  readonly telling: Telling
  readonly about: AlertSubject
  readonly rule: string
  readonly type: EventType
  readonly level: LogLevel
  readonly message: string
  readonly explanation: unknown
  /** Null: the rule did not decide it. */
  readonly grounds: Grounds | null
}

/** Events of rules about the SIM itself, and about requests to the carrier, are Connectivity; all others Billing. */
const CONNECTIVITY: ReadonlySet<string> = new Set(['imei-change', 'silent', 'tickets-failing'])

/**
 * Writes all tellings of decisions. If an alert has ended before its notice has left, nothing is mailed: the notice is
 * taken back, and the end is not mailed either.
 *
 * @returns the keys of the notices taken back
 */
export async function tellAll(
  tx: TenantTx,
  batch: EvaluationBatch,
  decisions: Decisions,
  options: EvaluationOptions,
): Promise<ReadonlySet<string>> {
  const { evaluations, withdrawals } = decisions
  await tellLog(tx, batch, [
    ...evaluations.flatMap((one) => one.decision.entries.map((telling) => toldOf(one, telling, batch))),
    ...withdrawals.flatMap((one) => one.decision.entries.map((telling) => withdrawnOf(one, telling))),
  ])
  const takenBack = await takeBackNotifications(
    tx,
    [...evaluations, ...withdrawals].flatMap(
      ({ decision: { takeBack } }) => takeBack?.fired.map(({ key }) => key) ?? [],
    ),
  )
  const notices = evaluations.flatMap((one) =>
    settled(one.decision, takenBack).notices.map((telling) => ({ one, telling })),
  )
  await insertNotifications(tx, [...(await noticesOf(tx, batch, notices, options)), ...alertEvents(batch, decisions)])
  await tellShadow(tx, batch, decisions)
  return takenBack
}

/** @param named facts with another wording in the message */
function messageOf(one: Evaluation, { kind, key }: Telling, { moment }: EvaluationBatch, named: Facts = {}): string {
  const facts = { ...(one.earlier.get(key) ?? one.subject.facts), ...named }
  const message = tellingMessage(one.outcome.rule, facts, kind, one.decision.next.step)
  return moment.isEnded ? endedMessage(moment.cycle, message) : message
}

const levelIn = ({ outcome: { rule }, decision: { next } }: Evaluation, telling: Telling): LogLevel =>
  levelOfTelling(telling, levelAt(rule, next.step))

const toldOf = (one: Evaluation, telling: Telling, batch: EvaluationBatch): TellingEntry => ({
  telling,
  about: one.about,
  rule: one.outcome.rule.name,
  type: CONNECTIVITY.has(one.outcome.rule.event.type) ? EventType.Connectivity : EventType.Billing,
  level: levelIn(one, telling),
  message: messageOf(one, telling, batch),
  explanation: one.outcome.explanation,
  grounds: groundsOf(one, batch),
})

const withdrawnOf = ({ about, stored: { rule }, why }: Withdrawal, telling: Telling): TellingEntry => ({
  telling,
  about,
  rule,
  type: EventType.Billing,
  level: LogLevel.Info,
  message: `Rule ${rule} no longer watches ${NOUNS[about.kind]} ${about.label}: ${why}.`,
  explanation: null,
  grounds: null,
})

async function tellLog(tx: TenantTx, batch: EvaluationBatch, all: readonly TellingEntry[]): Promise<void> {
  const fresh = await insertLogEntries(
    tx,
    all.map((told): NewLogEntry => {
      const { explanation, grounds } = told
      return { ...entryOf(told, batch), explanation, grounds: grounds === null ? null : keptGrounds(grounds) }
    }),
  )
  for (const told of all.filter(({ telling }) => fresh.has(telling.key))) await insertEvent(tx, eventOf(told))
}

/** The part of an entry that the watchdog log and the shadow log both have. */
const entryOf = (
  { telling, about, rule, level, message }: TellingEntry,
  { rulesVersion, moment }: EvaluationBatch,
) => ({
  dedupeKey: telling.key,
  rule,
  ruleVersion: rulesVersion,
  simId: about.kind === 'sim' ? about.id : null,
  poolId: about.poolId,
  level,
  message,
  cycleKey: moment.cycle.key,
})

const SEVERITY = {
  [LogLevel.Info]: EventSeverity.Info,
  [LogLevel.Warning]: EventSeverity.Warning,
  [LogLevel.Critical]: EventSeverity.Critical,
} as const
const TITLES = { fired: 'Alert', resolved: 'Resolved', withdrawn: 'Withdrawn', escalated: 'Escalated' } as const

const eventOf = ({ telling, about, rule, type, level, message }: TellingEntry) => ({
  type,
  severity: SEVERITY[level],
  title: `${TITLES[telling.kind]}: ${rule}, ${about.label}`,
  description: message,
})

/**
 * Notices are due when they have waited for others. A critical one waits for those of its cause, unless its cycle has
 * ended. Others wait for more of them, and keep their distance from the last grouped mail. In a cycle shorter than a
 * day these times are at most a sixtieth and a tenth of it.
 */
async function noticesOf(
  tx: TenantTx,
  batch: EvaluationBatch,
  all: readonly { readonly one: Evaluation; readonly telling: Telling }[],
  { groupFirstMs, groupNextMs }: EvaluationOptions,
): Promise<NewNotification[]> {
  if (all.length === 0) return []
  const { cycle, isEnded } = batch.moment
  const length = cycle.endsAt - cycle.startsAt
  const now = tx.now.getTime()
  const lastAt = (await lastGroupedAt(tx))?.getTime() ?? Number.NEGATIVE_INFINITY
  const groupedAt = Math.max(
    now + shortenedWait(groupFirstMs, length, 60),
    lastAt + shortenedWait(groupNextMs, length, 10),
  )
  return all.map(({ one, telling }) => {
    const level = levelIn(one, telling)
    // With the label for the ICCID.
    const message = messageOf(one, telling, batch, one.about.kind === 'sim' ? { iccid: one.about.label } : {})
    const dueAt = level === LogLevel.Critical && !isEnded ? now + mailWaits(length).forNextMs : groupedAt
    return { body: notificationOf(batch, { ...one, telling, level, message }), dueAt: new Date(dueAt) }
  })
}

/** Records for the operator what rules in shadow would have logged, mailed and suspended. Tenants do not see it. */
const tellShadow = (tx: TenantTx, batch: EvaluationBatch, { evaluations, withdrawals }: Decisions): Promise<void> =>
  insertShadowEntries(tx, [
    ...evaluations.flatMap((one) =>
      one.decision.shadow.map((telling): NewShadowEntry => {
        const entry = { ...entryOf(toldOf(one, telling, batch), batch), does: telling.does }
        return telling.does === 'suspend' ? { ...entry, message: suspensionOf(one, entry.message) } : entry
      }),
    ),
    ...withdrawals.flatMap((one) =>
      one.decision.shadow.map(
        (telling): NewShadowEntry => ({ ...entryOf(withdrawnOf(one, telling), batch), does: telling.does }),
      ),
    ),
  ])

function suspensionOf({ about: { kind, label }, outcome: { rule } }: Evaluation, because: string): string {
  const whom =
    kind === 'pool' ? `SIMs of pool ${label}, by ${rule.event.params.suspend?.target},` : `${NOUNS[kind]} ${label}`
  return `${whom} would have been suspended: ${because}`
}

/**
 * The events of alerts. An event of a firing alert is due with the notice for the mail: by the same rules, in the same
 * stages, under the same silences. Each such event is followed by one of the end, regardless of mails.
 */
const alertEvents = (batch: EvaluationBatch, { evaluations, withdrawals }: Decisions): NewNotification[] => [
  ...evaluations.flatMap((one) => [...firedEvents(batch, one), ...resolvedEvents(batch, one)]),
  ...withdrawals.flatMap((one) =>
    endEvents(one, 'withdrawn', {
      ...dataOf(batch, one.stored.rule, one.about),
      message: `Rule ${one.stored.rule} no longer watches ${one.about.label}: ${one.why}.`,
    }),
  ),
]

/** Data common to all events about an alert. */
const dataOf = ({ tenantId, moment }: EvaluationBatch, rule: string, about: AlertSubject) => ({
  rule,
  subject: { kind: about.kind, id: about.kind === 'tenant' ? tenantId : about.id, label: about.label, ...about.card },
  poolId: about.poolId,
  cycle: moment.cycle.key,
})

function firedEvents(batch: EvaluationBatch, one: Evaluation): NewNotification[] {
  const { outcome, decision, subject, permission } = one
  const { step } = decision.next
  // A tenant without mails of the level may still have systems for the event: the log's entry replaces the notice.
  return (permission.isUnsubscribed === true ? decision.entries : decision.notices)
    .filter(({ kind }) => kind === 'fired')
    .flatMap(({ since, times }): NewNotification[] => {
      const data: AlertData = {
        ...dataOf(batch, outcome.rule.name, one.about),
        level: levelAt(outcome.rule, step),
        since: new Date(since).toISOString(),
        times,
        message: firedMessage(outcome.rule, subject.facts, step),
      }
      if (outcome.rule.event.type !== FEED_SILENT) return [{ type: 'alert.fired', data }]
      // Sent in addition to the alert, for receivers of the feed's state alone.
      const receivedAt = batch.moment.feedTimes.receivedAt?.toISOString() ?? null
      const stale = { type: 'feed.stale' as const, data: { receivedAt, message: data.message } }
      return [{ type: 'alert.fired', data }, stale]
    })
}

function resolvedEvents(batch: EvaluationBatch, one: Evaluation): NewNotification[] {
  const { outcome, decision, subject } = one
  const { phase, step } = decision.next
  if (phase !== 'resolved') return []
  const message = resolvedMessage(outcome.rule, subject.facts, step)
  return endEvents(one, 'cleared', { ...dataOf(batch, outcome.rule.name, one.about), message })
}

/** The event of an alert's end, if an endpoint got one of its present episode. */
function endEvents(
  { stored, decision }: Evaluation | Withdrawal,
  reason: 'cleared' | 'withdrawn',
  data: Omit<AlertData, 'level' | 'since' | 'times'>,
): NewNotification[] {
  if (stored === null || !wasTold(stored.state)) return []
  const { since, returns = 0 } = decision.next
  const level = LogLevel.Info
  const ended = { ...data, level, since: new Date(since).toISOString(), times: returns + 1, reason }
  return [{ type: 'alert.resolved', data: ended }]
}

/** Whether an alert fires, and an event of its present episode was sent. */
function wasTold(state: AlertState): boolean {
  const { told, mailed, part, step, withheld = [] } = state
  if (!isFiring(state)) return false
  const marks = withheld.includes('unsubscribed') ? [...mailed, ...told] : mailed
  const last = marks.findLast((mark) => mark.startsWith('fired'))
  if (last === undefined) return false
  // After an event of a lower step of the episode, its end is sent too.
  return step === undefined ? last === `fired${part}` : withoutStep(last) === `fired${withoutStep(part)}`
}
