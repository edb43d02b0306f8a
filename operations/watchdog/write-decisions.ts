/** Writing what an evaluation has decided: alerts, log entries, events, notices, and what enforcement asks for. */
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
import { noticeOf } from './alert-notice.ts'
import { type Decided, type EvaluationOptions, keyOf } from './evaluation.ts'
import type { Batch } from './read-batch.ts'
import { type Asked, enforce, type Wish } from './reconcile-enforcement.ts'

/** One rule's word on one subject, and what becomes of its alert. */
interface Verdict {
  readonly subject: Decided
  readonly outcome: RuleOutcome
  readonly scope: string
  readonly previous: StoredAlert<AlertState> | undefined
  readonly decision: AlertDecision
  readonly permission: Permission
}

/**
 * Writes the decisions of a batch in the caller's transaction, one evaluation of a tenant at a time.
 *
 * @returns when a subject is to be looked at again, by its key, epoch milliseconds
 */
export async function writeDecisions(
  tx: TenantTx,
  batch: Batch,
  decided: readonly Decided[],
  options: EvaluationOptions,
): Promise<Map<string, number>> {
  await lockAlerts(tx)
  const { at, cycle } = batch.moment
  const stored = await loadAlerts<AlertState>(
    tx,
    decided.map(({ subject }) => subject),
    [cycle.key, ''],
  )
  const bySubject = Map.groupBy(stored, ({ kind, id }) => `${kind}/${id}`)
  // A newer evaluation has written already: this one's facts are older than what is known.
  const current = decided.filter(
    ({ subject }) => !(bySubject.get(keyOf(subject)) ?? []).some(({ evaluatedAt }) => evaluatedAt.getTime() > at),
  )
  const verdicts = current.flatMap((one) => verdictsOf(one, bySubject.get(keyOf(one.subject)) ?? [], batch))
  await tell(tx, batch, verdicts, options)
  const wishes = current.flatMap((one) => wishesOf(batch, one, verdicts, bySubject.get(keyOf(one.subject)) ?? []))
  const asked = await enforce(tx, batch, wishes, options)
  await saveAlerts(tx, changed(verdicts, asked, batch))
  return nextChecks(verdicts, asked)
}

function verdictsOf(subject: Decided, alerts: readonly StoredAlert<AlertState>[], { moment }: Batch): Verdict[] {
  return subject.outcomes.map((outcome) => {
    const scope = scopeOf(outcome.rule, moment.cycle.key)
    const previous = alerts.find((alert) => alert.rule === outcome.rule.name && alert.scope === scope)
    const decision = decideAlert({
      outcome,
      subject: { kind: subject.name, id: subject.subject.id },
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
      permission: permitted(outcome.rule.event.params.stage, subject.mode),
    }
  })
}

interface Told {
  readonly verdict: Verdict
  readonly transition: Transition
  readonly message: string
  readonly dedupeKey: string
}

/** Log entries, events and notices of what has fired or resolved; each once. */
async function tell(
  tx: TenantTx,
  batch: Batch,
  verdicts: readonly Verdict[],
  options: EvaluationOptions,
): Promise<void> {
  const told = verdicts
    .filter(({ permission }) => permission.log)
    .flatMap((verdict) =>
      verdict.decision.transitions.map((transition): Told => {
        const { rule } = verdict.outcome
        const say = transition.kind === 'fired' ? firedMessage : resolvedMessage
        const dedupeKey = `${transition.key}/${transition.kind}`
        return { verdict, transition, message: say(rule, verdict.subject.facts), dedupeKey }
      }),
    )
  const fresh = await insertLogEntries(
    tx,
    told.map((one) => entryOf(one, batch)),
  )
  const news = told.filter(({ dedupeKey }) => fresh.has(dedupeKey))
  for (const one of news) await insertEvent(tx, eventOf(one))
  const toMail = news.filter(wantsMail)
  if (toMail.length === 0) return
  const lastAt = await lastGroupedAt(tx)
  await insertNotifications(
    tx,
    toMail.map(({ verdict, transition, message, dedupeKey }) => ({
      dedupeKey,
      level: transition.level,
      body: noticeOf(batch, tx.tenantId, { ...verdict, transition, message, key: dedupeKey }),
      dueAt: dueAt(tx.now.getTime(), transition.level, lastAt, batch, options),
    })),
  )
}

const levelOf = ({ kind, level }: Transition): LogLevel => (kind === 'fired' ? level : LogLevel.Info)

const entryOf = ({ verdict, transition, message, dedupeKey }: Told, batch: Batch): NewLogEntry => ({
  dedupeKey,
  rule: verdict.outcome.rule.name,
  ruleVersion: batch.rulesVersion,
  simId: verdict.subject.name === 'sim' ? verdict.subject.subject.id : null,
  poolId: verdict.subject.poolId,
  level: levelOf(transition),
  message,
  cycleKey: batch.moment.cycle.key,
  explanation: verdict.outcome.explanation,
})

const SEVERITY = {
  [LogLevel.Info]: EventSeverity.Info,
  [LogLevel.Warning]: EventSeverity.Warning,
  [LogLevel.Critical]: EventSeverity.Critical,
} as const

/** Events of rules that watch the line itself are Connectivity, of all others Billing. */
const CONNECTIVITY: ReadonlySet<string> = new Set(['imei-change', 'silent'])

const eventOf = ({ verdict, transition, message }: Told) => ({
  type: CONNECTIVITY.has(verdict.outcome.rule.event.type) ? EventType.Connectivity : EventType.Billing,
  severity: SEVERITY[levelOf(transition)],
  title: `${transition.kind === 'fired' ? 'Alert' : 'Resolved'}: ${verdict.outcome.rule.name}, ${verdict.subject.label}`,
  description: message,
})

function wantsMail({ verdict: { outcome, permission }, transition }: Told): boolean {
  if (!permission.notify) return false
  return transition.kind === 'fired'
    ? outcome.rule.event.params.actions.includes('email')
    : transition.resolve === 'email'
}

const DAY_MS = 86_400_000

/**
 * Critical notices leave at once; others wait for each other, and keep a distance to the last grouped mail.
 * For cycles shorter than a day both times shrink with the cycle: a sixtieth and a tenth of it.
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

/** What enforcement is to do for a subject's alerts: those that ask now, and those that asked before. */
function wishesOf(
  { isRefused, ruleNames }: Batch,
  subject: Decided,
  verdicts: readonly Verdict[],
  alerts: readonly StoredAlert<AlertState>[],
): Wish[] {
  const own = verdicts.filter((verdict) => verdict.subject === subject)
  const asking = own.flatMap(({ outcome: { rule }, scope, decision, permission, previous }): Wish[] => {
    const { suspend, stage } = rule.event.params
    if (suspend === undefined) return []
    const firing = decision.wantsSuspend
    const keep = isRefused && stage !== 'enforce'
    return [{ subject, rule, suspend, firing, may: permission.suspend, keep, scope, stored: previous ?? null }]
  })
  // Its rule no longer looks at it: it was exempted, disabled, moved, or the rule is gone. A rule that is only missing
  // because its set is refused has not gone.
  const isOnlyMissing = (rule: string) => isRefused && subject.isWatched && !ruleNames.has(rule)
  const left = alerts
    .filter(({ asked, rule }) => asked === 'overLimit' && !own.some(({ outcome }) => outcome.rule.name === rule))
    .filter(({ rule }) => !isOnlyMissing(rule))
    .map((stored): Wish => {
      const rule = { name: stored.rule, file: '' }
      return { subject, rule, suspend: null, firing: true, may: 'no', keep: false, scope: stored.scope, stored }
    })
  return [...asking, ...left]
}

/** States that are new; what has not changed is not written again. */
function changed(
  verdicts: readonly Verdict[],
  asked: readonly Asked[],
  { moment, rulesVersion }: Batch,
): StoredAlert<AlertState>[] {
  const written = verdicts.flatMap(({ subject, outcome, scope, decision, previous }): StoredAlert<AlertState>[] => {
    const ask = asked.find((one) => one.wish.subject === subject && one.wish.rule.name === outcome.rule.name)
    const same = previous !== undefined && JSON.stringify(previous.state) === JSON.stringify(decision.next)
    const unseen = previous === undefined && decision.next.phase === 'inactive' && decision.next.error === null
    if (ask === undefined && (same || unseen)) return []
    return [
      {
        rule: outcome.rule.name,
        kind: subject.subject.kind,
        id: subject.subject.id,
        scope,
        state: decision.next,
        firing: decision.next.phase === 'firing',
        ruleVersion: rulesVersion,
        evaluatedAt: new Date(moment.at),
        explanation: outcome.explanation,
        asked: ask?.signal ?? previous?.asked ?? null,
        askedAt: ask === undefined ? (previous?.askedAt ?? null) : new Date(moment.at),
      },
    ]
  })
  const left = asked.flatMap(({ wish: { suspend, stored }, signal }) =>
    suspend === null && stored !== null
      ? [{ ...stored, asked: signal, askedAt: new Date(moment.at), evaluatedAt: new Date(moment.at) }]
      : [],
  )
  return [...written, ...left]
}

function nextChecks(verdicts: readonly Verdict[], asked: readonly Asked[]): Map<string, number> {
  const checks = new Map<string, number>()
  const note = (key: string, at: number | undefined) => {
    if (at !== undefined) checks.set(key, Math.min(at, checks.get(key) ?? Number.POSITIVE_INFINITY))
  }
  for (const { subject, decision } of verdicts) note(keyOf(subject.subject), decision.nextCheckAt)
  for (const { wish, againAt } of asked) note(keyOf(wish.subject.subject), againAt)
  return checks
}
