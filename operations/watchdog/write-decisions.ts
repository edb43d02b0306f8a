/** Writes what an evaluation has decided: alerts, log entries, events, notifications and desired suspensions. */
import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import {
  type AlertDecision,
  type AlertState,
  decideAlert,
  scopeOf,
  type Transition,
} from '../../rules/alerts/alerts.ts'
import { firedMessage, resolvedMessage } from '../../rules/alerts/message.ts'
import { type Permission, permitted } from '../../rules/alerts/permission.ts'
import type { RuleOutcome } from '../../rules/engine/evaluate.ts'
import { insertEvent } from '../../store/events.ts'
import { insertNotifications, lastGroupedAt } from '../../store/mail/mails.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import {
  insertLogEntries,
  loadAlerts,
  lockAlerts,
  type NewLogEntry,
  type StoredAlert,
  saveAlerts,
} from '../../store/watchdog/alerts.ts'
import { type LoggedTransition, notificationOf } from './alert-notification.ts'
import {
  type EvaluatedSubject,
  type EvaluationOptions,
  isWatched,
  keyOf,
  modeOf,
  poolIdOf,
  subjectLabel,
} from './evaluation.ts'
import type { Batch } from './read-batch.ts'
import { type DesiredSuspension, reconcile, type SentSignal } from './reconcile-enforcement.ts'

/** What one rule found about one subject, and what becomes of its alert. */
interface Evaluation {
  readonly subject: EvaluatedSubject
  readonly outcome: RuleOutcome
  readonly scope: string
  readonly previous: StoredAlert<AlertState> | undefined
  readonly decision: AlertDecision
  readonly permission: Permission
}

/**
 * Writes the decisions of a batch in the caller's transaction. Locks the tenant's alerts, so that only one batch of a
 * tenant is written at a time.
 *
 * @returns when to evaluate subjects again (epoch milliseconds), by their `keyOf`
 */
export async function writeDecisions(
  tx: TenantTx,
  batch: Batch,
  evaluated: readonly EvaluatedSubject[],
  options: EvaluationOptions,
): Promise<Map<string, number>> {
  await lockAlerts(tx)
  const { at, cycle } = batch.moment
  const stored = await loadAlerts<AlertState>(tx, evaluated, [cycle.key, ''])
  const bySubject = Map.groupBy(stored, keyOf)
  // Drop subjects that a newer evaluation has already written: the facts here are older.
  const current = evaluated.filter(
    (subject) => !(bySubject.get(keyOf(subject)) ?? []).some(({ evaluatedAt }) => evaluatedAt.getTime() > at),
  )
  const evaluations = current.flatMap((one) => evaluationsOf(one, bySubject.get(keyOf(one)) ?? [], batch))
  await logTransitions(tx, batch, evaluations, options)
  const desiredSuspensions = current.flatMap((one) =>
    desiredSuspensionsOf(batch, one, evaluations, bySubject.get(keyOf(one)) ?? []),
  )
  const sent = await reconcile(tx, batch, desiredSuspensions, options)
  await saveAlerts(tx, changed(evaluations, sent, batch))
  return nextChecks(evaluations, sent)
}

function evaluationsOf(
  subject: EvaluatedSubject,
  alerts: readonly StoredAlert<AlertState>[],
  { moment }: Batch,
): Evaluation[] {
  const mode = modeOf(subject)
  return subject.outcomes.map((outcome) => {
    const scope = scopeOf(outcome.rule, moment.cycle.key)
    const previous = alerts.find((alert) => alert.rule === outcome.rule.name && alert.scope === scope)
    const decision = decideAlert({
      outcome,
      subject,
      cycle: moment.cycle,
      previous: previous?.state ?? null,
      now: moment.at,
    })
    return {
      subject,
      outcome,
      scope,
      previous,
      decision,
      permission: permitted(outcome.rule.event.params.stage, mode),
    }
  })
}

/** Writes the log entries, events and notifications of alerts that have fired or resolved. Each is written once. */
async function logTransitions(
  tx: TenantTx,
  batch: Batch,
  evaluations: readonly Evaluation[],
  options: EvaluationOptions,
): Promise<void> {
  const logged = evaluations
    .filter(({ permission }) => permission.log)
    .flatMap((evaluation) =>
      evaluation.decision.transitions.map((transition): LoggedTransition => {
        const { rule } = evaluation.outcome
        const messageOf = transition.kind === 'fired' ? firedMessage : resolvedMessage
        const message = messageOf(rule, evaluation.subject.facts)
        return { ...evaluation, transition, message, key: `${transition.key}/${transition.kind}` }
      }),
    )
  const fresh = await insertLogEntries(
    tx,
    logged.map((one) => entryOf(one, batch)),
  )
  const news = logged.filter(({ key }) => fresh.has(key))
  for (const one of news) await insertEvent(tx, eventOf(one))
  const toMail = news.filter(wantsMail)
  if (toMail.length === 0) return
  const lastAt = await lastGroupedAt(tx)
  await insertNotifications(
    tx,
    toMail.map((one) => ({
      body: notificationOf(batch, tx.tenantId, one),
      dueAt: dueAt(tx.now.getTime(), one.transition.level, lastAt, batch, options),
    })),
  )
}

const levelOf = ({ kind, level }: Transition): LogLevel => (kind === 'fired' ? level : LogLevel.Info)

const entryOf = ({ subject, outcome, transition, message, key }: LoggedTransition, batch: Batch): NewLogEntry => ({
  dedupeKey: key,
  rule: outcome.rule.name,
  ruleVersion: batch.rulesVersion,
  simId: subject.kind === 'sim' ? subject.id : null,
  poolId: poolIdOf(subject),
  level: levelOf(transition),
  message,
  cycleKey: batch.moment.cycle.key,
  explanation: outcome.explanation,
})

const SEVERITY = {
  [LogLevel.Info]: EventSeverity.Info,
  [LogLevel.Warning]: EventSeverity.Warning,
  [LogLevel.Critical]: EventSeverity.Critical,
} as const

/** Types of rules about the SIM itself. Their events are Connectivity; those of all other rules are Billing. */
const CONNECTIVITY: ReadonlySet<string> = new Set(['imei-change', 'silent'])

const eventOf = ({ subject, outcome, transition, message }: LoggedTransition) => ({
  type: CONNECTIVITY.has(outcome.rule.event.type) ? EventType.Connectivity : EventType.Billing,
  severity: SEVERITY[levelOf(transition)],
  title: `${transition.kind === 'fired' ? 'Alert' : 'Resolved'}: ${outcome.rule.name}, ${subjectLabel(subject)}`,
  description: message,
})

function wantsMail({ outcome, permission, transition }: LoggedTransition): boolean {
  if (!permission.notify) return false
  return transition.kind === 'fired'
    ? outcome.rule.event.params.actions.includes('email')
    : transition.resolve === 'email'
}

const DAY_MS = 86_400_000

/**
 * When a notification is due. A critical one is due at once. Others wait for more of them, and keep their distance from
 * the last grouped mail. In a cycle shorter than a day these times are at most a sixtieth and a tenth of the cycle.
 */
function dueAt(
  now: number,
  level: LogLevel,
  lastAt: Date | null,
  { moment: { cycle } }: Batch,
  options: EvaluationOptions,
): Date {
  if (level === LogLevel.Critical) return new Date(now)
  const length = cycle.endsAt - cycle.startsAt
  const shrunk = (ms: number, parts: number) => (length < DAY_MS ? Math.min(ms, length / parts) : ms)
  const first = now + shrunk(options.groupFirstMs, 60)
  const next = (lastAt?.getTime() ?? Number.NEGATIVE_INFINITY) + shrunk(options.groupNextMs, 10)
  return new Date(Math.max(first, next))
}

/** The desired suspensions of a subject: those its rules ask for now, and those that rules asked for before. */
function desiredSuspensionsOf(
  { isRefused, ruleNames }: Batch,
  subject: EvaluatedSubject,
  evaluations: readonly Evaluation[],
  alerts: readonly StoredAlert<AlertState>[],
): DesiredSuspension[] {
  const own = evaluations.filter((evaluation) => evaluation.subject === subject)
  const asking = own.flatMap(({ outcome: { rule }, scope, decision, permission, previous }): DesiredSuspension[] => {
    const { suspend, stage } = rule.event.params
    if (suspend === undefined) return []
    const firing = decision.wantsSuspend
    const keep = isRefused && stage !== 'enforce'
    return [{ subject, rule, suspend, firing, permission: permission.suspend, keep, scope, stored: previous ?? null }]
  })
  // A rule no longer covers the subject if the subject was exempted, disabled or moved, or if the rule is gone. A rule
  // that is only missing because its set is refused is not gone.
  const isOnlyMissing = (rule: string) => isRefused && isWatched(subject) && !ruleNames.has(rule)
  const left = alerts
    .filter(
      ({ lastSignal, rule }) => lastSignal === 'overLimit' && !own.some(({ outcome }) => outcome.rule.name === rule),
    )
    .filter(({ rule }) => !isOnlyMissing(rule))
    .map((stored): DesiredSuspension => {
      const rule = { name: stored.rule, file: '' }
      return { subject, rule, suspend: null, firing: true, permission: 'no', keep: false, scope: stored.scope, stored }
    })
  return [...asking, ...left]
}

/** The alerts to save: only those that have changed. */
function changed(
  evaluations: readonly Evaluation[],
  sent: readonly SentSignal[],
  { moment, rulesVersion }: Batch,
): StoredAlert<AlertState>[] {
  const written = evaluations.flatMap(({ subject, outcome, scope, decision, previous }): StoredAlert<AlertState>[] => {
    const sentNow = sent.find((one) => one.desired.subject === subject && one.desired.rule.name === outcome.rule.name)
    const same = previous !== undefined && JSON.stringify(previous.state) === JSON.stringify(decision.next)
    const unseen = previous === undefined && decision.next.phase === 'inactive' && decision.next.error === null
    if (sentNow === undefined && (same || unseen)) return []
    return [
      {
        rule: outcome.rule.name,
        kind: subject.kind,
        id: subject.id,
        scope,
        state: decision.next,
        firing: decision.next.phase === 'firing',
        ruleVersion: rulesVersion,
        evaluatedAt: new Date(moment.at),
        explanation: outcome.explanation,
        lastSignal: sentNow?.signal ?? previous?.lastSignal ?? null,
        lastSignalAt: sentNow === undefined ? (previous?.lastSignalAt ?? null) : new Date(moment.at),
      },
    ]
  })
  const left = sent.flatMap(({ desired: { suspend, stored }, signal }) =>
    suspend === null && stored !== null
      ? [{ ...stored, lastSignal: signal, lastSignalAt: new Date(moment.at), evaluatedAt: new Date(moment.at) }]
      : [],
  )
  return [...written, ...left]
}

function nextChecks(evaluations: readonly Evaluation[], sent: readonly SentSignal[]): Map<string, number> {
  const checks = new Map<string, number>()
  const note = (key: string, at: number | undefined) => {
    if (at !== undefined) checks.set(key, Math.min(at, checks.get(key) ?? Number.POSITIVE_INFINITY))
  }
  for (const { subject, decision } of evaluations) note(keyOf(subject), decision.nextCheckAt)
  for (const { desired, againAt } of sent) note(keyOf(desired.subject), againAt)
  return checks
}
