/** Reads the alerts of a tenant's subjects. */

import type { Alert, AlertQuery } from '../../domain/alerts/alert.ts'
import { LogLevel } from '../../domain/codes.ts'
import { readCursor } from '../../domain/cursor.ts'
import { offsetOf, pageRequest } from '../../domain/page.ts'
import { type AlertState, isFiring } from '../../rules/alerts/alert-state.ts'
import { keyOfMark } from '../../rules/alerts/keys.ts'
import { byName, quietOf } from '../../rules/alerts/quiet.ts'
import { levelAt } from '../../rules/ladder.ts'
import type { Rule } from '../../rules/rule.ts'
import { type Part, partLookedAt } from '../../store/paging.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { ReadRules } from '../rules/rules-in-force.ts'
import { runningCycle } from '../usage/rows/cycles.ts'
import { type ListedAlert, lookAtAlerts, messagesOf, type StepRange, type Steps } from './rows/open-alerts.ts'
import { openSilences } from './rows/silences.ts'

/**
 * A page of the alerts, newest first, or the part after a cursor. Its total counts the first `MOST_LOOKED_AT` alerts.
 *
 * @throws ServiceError `invalid_request` if the cursor is none of this list
 */
export async function pageOfAlerts(tx: TenantTx, query: AlertQuery, rules: ReadRules): Promise<Part<Alert>> {
  const page = pageRequest(query)
  const cursor = query.cursor === undefined ? null : readCursor('alerts', query.cursor)
  const inForce = (await rules(tx)).rules
  const { alerts, fitting, nextId } = await lookAtAlerts(
    tx,
    {
      ...query,
      cycleKey: (await runningCycle(tx)).key,
      steps: query.level === undefined ? null : stepsOf(inForce, query.level),
    },
    cursor === null
      ? { afterId: null, most: page.pageSize, offset: offsetOf(page) }
      : { afterId: cursor.after.id, most: page.pageSize, offset: 0 },
  )
  return partLookedAt('alerts', page, cursor, { data: await toAlerts(tx, alerts, inForce), fitting, nextId })
}

/** The steps of rules at which their alerts have a level. Alerts of rules not in force are of level Info. */
function stepsOf(rules: readonly Rule[], level: LogLevel): Steps {
  const ranges = rules.flatMap((rule): StepRange[] => {
    const { name, ladder } = rule
    if (ladder === null) return rule.level === level ? [{ rule: name, from: null, to: null }] : []
    return ladder.steps.flatMap(({ at, level: own }, n) =>
      own === level ? [{ rule: name, from: n === 0 ? null : at, to: ladder.steps[n + 1]?.at ?? null }] : [],
    )
  })
  return { ranges, others: level === LogLevel.Info ? rules.map(({ name }) => name) : null }
}

/** Shows alerts as lists do. Takes two statements for any number. */
export async function toAlerts(tx: TenantTx, alerts: readonly ListedAlert[], rules: readonly Rule[]): Promise<Alert[]> {
  const silences = await openSilences(tx)
  const inForce = byName(rules)
  const reports = new Map(alerts.map((alert) => [alert.id, reportOf(alert)]))
  const messages = await messagesOf(
    tx,
    [...reports.values()].filter((key) => key !== null),
  )
  return alerts.map((alert) => {
    const found = inForce.get(alert.rule)
    const level = found === undefined ? LogLevel.Info : levelAt(found, alert.state.step)
    const { rule, kind, subjectId, poolId, tag, state } = alert
    const about = { rule, level, subject: { kind, id: subjectId }, poolId, tag }
    const silencedUntil = state.phase === 'resolved' ? null : (quietOf(silences, about)?.until ?? null)
    const message = messages.get(reports.get(alert.id) ?? '') ?? null
    return toAlert(alert, { level, message, silencedUntil })
  })
}

/** The key of the latest report that it fires; null if there was none. */
function reportOf({ rule, kind, subjectId: id, scope, state }: ListedAlert): string | null {
  const { told, mailed, shadow } = state
  const marks = [told, mailed, shadow?.told ?? [], shadow?.mailed ?? []]
  const mark = marks.map((each) => each.findLast((one) => one.startsWith('fired'))).find((one) => one !== undefined)
  return mark === undefined ? null : keyOfMark({ rule, subject: { kind, id }, scope }, mark)
}

interface Shown extends Pick<Alert, 'level' | 'message'> {
  readonly silencedUntil: number | null
}

function toAlert(alert: ListedAlert, { level, message, silencedUntil }: Shown): Alert {
  const { id, rule, ruleVersion, kind, subjectId, label, poolId, scope, state } = alert
  const { lastSignal, evaluatedAt, acknowledgedByName } = alert
  const { since, began, part, told, mailed, returns = 0, episode, error } = state
  const { withheld = [], acknowledged } = state
  const isFired = (marks: readonly string[]) => hasFired(state) && marks.includes(`fired${part}`)
  return {
    id,
    rule,
    level,
    ruleVersion,
    subject: { kind, id: subjectId, label },
    poolId,
    message,
    cycle: scope === '' ? null : scope,
    phase: state.phase === 'inactive' ? 'pending' : state.phase,
    since: new Date(since).toISOString(),
    metSince: new Date(began).toISOString(),
    times: scope === '' ? episode : returns + (hasFired(state) ? 1 : 0),
    isLogged: isFired(told),
    isMailed: isFired(mailed),
    silencedUntil: silencedUntil === null ? null : new Date(silencedUntil).toISOString(),
    withheld: [...withheld],
    acknowledgedAt: acknowledged === undefined ? null : new Date(acknowledged.at).toISOString(),
    acknowledgedBy: acknowledged?.by ?? null,
    acknowledgedByName,
    lastSignal,
    error,
    evaluatedAt: evaluatedAt.toISOString(),
  }
}

/** Whether its present or last episode fires, or did. */
const hasFired = (state: AlertState): boolean =>
  isFiring(state) || (state.phase === 'resolved' && state.told.length + state.mailed.length > 0)
