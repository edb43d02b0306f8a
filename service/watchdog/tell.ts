/** Reports decisions about alerts: entries of the watchdog log, events, and notices to mail. Each is written once. */
import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import { mailWaits, shortenedWait } from '../../domain/notifications/waits.ts'
import type { AlertSubject, Decisions, Evaluation, Withdrawal } from '../../rules/alerts/decide-all.ts'
import { endedMessage, tellingMessage } from '../../rules/alerts/message.ts'
import { NOUNS } from '../../rules/alerts/subject.ts'
import { settled } from '../../rules/alerts/take-back.ts'
import { levelOfTelling, type Telling } from '../../rules/alerts/telling.ts'
import type { Facts } from '../../rules/facts.ts'
import { levelAt } from '../../rules/ladder.ts'
import { insertEvent } from '../../store/events.ts'
import { insertLogEntries, type NewLogEntry } from '../../store/log.ts'
import { insertNotifications, lastGroupedAt, takeBackNotifications } from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { notificationOf } from './alert-notification.ts'
import { type Grounds, groundsOf, kept } from './grounds.ts'
import type { EvaluationOptions } from './options.ts'
import type { Batch } from './read-facts.ts'
import { tellWebhooks } from './tell-webhooks.ts'

/** A telling, with its subject and contents. */
export interface Told {
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

/**
 * Types of rules about the SIM itself, and about requests to the carrier. Their events are Connectivity; those of all
 * other rules are Billing.
 */
const CONNECTIVITY: ReadonlySet<string> = new Set(['imei-change', 'silent', 'tickets-failing'])

/**
 * Writes all tellings of decisions. If an alert has ended before its notice has left, nothing is mailed: the notice is
 * taken back, and the end is not mailed either.
 *
 * @returns the keys of the notices taken back
 */
export async function tellAll(
  tx: TenantTx,
  batch: Batch,
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
  await mailNotices(
    tx,
    batch,
    evaluations.flatMap((one) => settled(one.decision, takenBack).notices.map((telling) => ({ one, telling }))),
    options,
  )
  await tellWebhooks(tx, batch, decisions)
  return takenBack
}

/** @param named facts with another wording in the message */
function messageOf(one: Evaluation, { kind, key }: Telling, { moment }: Batch, named: Facts = {}): string {
  const facts = { ...(one.earlier.get(key) ?? one.subject.facts), ...named }
  const message = tellingMessage(one.outcome.rule, facts, kind, one.decision.next.step)
  return moment.isEnded ? endedMessage(moment.cycle, message) : message
}

/** The message for mails: with the label for the ICCID. */
const mailMessageOf = (one: Evaluation, telling: Telling, batch: Batch): string =>
  messageOf(one, telling, batch, one.about.kind === 'sim' ? { iccid: one.about.label } : {})

/** The level of a telling about an alert. */
const levelIn = ({ outcome: { rule }, decision: { next } }: Evaluation, telling: Telling): LogLevel =>
  levelOfTelling(telling, levelAt(rule, next.step))

export const toldOf = (one: Evaluation, telling: Telling, batch: Batch): Told => ({
  telling,
  about: one.about,
  rule: one.outcome.rule.name,
  type: CONNECTIVITY.has(one.outcome.rule.event.type) ? EventType.Connectivity : EventType.Billing,
  level: levelIn(one, telling),
  message: messageOf(one, telling, batch),
  explanation: one.outcome.explanation,
  grounds: groundsOf(one, batch),
})

export const withdrawnOf = ({ about, stored: { rule }, why }: Withdrawal, telling: Telling): Told => ({
  telling,
  about,
  rule,
  type: EventType.Billing,
  level: LogLevel.Info,
  message: `Rule ${rule} no longer watches ${NOUNS[about.kind]} ${about.label}: ${why}.`,
  explanation: null,
  grounds: null,
})

async function tellLog(tx: TenantTx, batch: Batch, all: readonly Told[]): Promise<void> {
  const fresh = await insertLogEntries(
    tx,
    all.map((told) => entryOf(told, batch)),
  )
  for (const told of all.filter(({ telling }) => fresh.has(telling.key))) await insertEvent(tx, eventOf(told))
}

const entryOf = ({ telling, about, rule, level, message, explanation, grounds }: Told, batch: Batch): NewLogEntry => ({
  dedupeKey: telling.key,
  rule,
  ruleVersion: batch.rulesVersion,
  simId: about.kind === 'sim' ? about.id : null,
  poolId: about.poolId,
  level,
  message,
  cycleKey: batch.moment.cycle.key,
  explanation,
  grounds: grounds === null ? null : kept(grounds),
})

const SEVERITY = {
  [LogLevel.Info]: EventSeverity.Info,
  [LogLevel.Warning]: EventSeverity.Warning,
  [LogLevel.Critical]: EventSeverity.Critical,
} as const
const TITLES = {
  fired: 'Alert',
  resolved: 'Resolved',
  withdrawn: 'Withdrawn',
  escalated: 'Escalated',
} as const

const eventOf = ({ telling, about, rule, type, level, message }: Told) => ({
  type,
  severity: SEVERITY[level],
  title: `${TITLES[telling.kind]}: ${rule}, ${about.label}`,
  description: message,
})

async function mailNotices(
  tx: TenantTx,
  batch: Batch,
  all: readonly { readonly one: Evaluation; readonly telling: Telling }[],
  options: EvaluationOptions,
): Promise<void> {
  if (all.length === 0) return
  const lastAt = await lastGroupedAt(tx)
  await insertNotifications(
    tx,
    all.map(({ one, telling }) => {
      const level = levelIn(one, telling)
      const message = mailMessageOf(one, telling, batch)
      const body = notificationOf(batch, tx.tenantId, { ...one, telling, level, message })
      return { body, dueAt: dueAt(tx.now.getTime(), level, lastAt, batch, options) }
    }),
  )
}

/**
 * When a notification is due. A critical one waits for others of its cause, unless its cycle has ended. Others wait for
 * more of them, and keep their distance from the last grouped mail. In a cycle shorter than a day these times are at
 * most a sixtieth and a tenth of it.
 */
function dueAt(
  now: number,
  level: LogLevel,
  lastAt: Date | null,
  { moment: { cycle, isEnded } }: Batch,
  options: EvaluationOptions,
): Date {
  const length = cycle.endsAt - cycle.startsAt
  if (level === LogLevel.Critical && !isEnded) return new Date(now + mailWaits(length).forNextMs)
  const first = now + shortenedWait(options.groupFirstMs, length, 60)
  const next = (lastAt?.getTime() ?? Number.NEGATIVE_INFINITY) + shortenedWait(options.groupNextMs, length, 10)
  return new Date(Math.max(first, next))
}
