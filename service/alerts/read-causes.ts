/** Reads the open alerts by their causes. */
import type { AlertCause, AlertCauses } from '../../domain/alerts/cause.ts'
import { LogLevel } from '../../domain/codes.ts'
import { byName } from '../../rules/alerts/quiet.ts'
import { levelAt } from '../../rules/ladder.ts'
import type { Rule } from '../../rules/rule.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { ReadRules } from '../rules/rules-in-force.ts'
import { runningCycle } from '../usage/rows/cycles.ts'
import { toAlerts } from './page-of-alerts.ts'
import { type AlertGroup, groupAlerts } from './rows/causes.ts'
import { findAlerts, MOST_LOOKED_AT } from './rows/open-alerts.ts'

/** Takes four statements for any number. */
export async function readCauses(tx: TenantTx, rules: ReadRules): Promise<AlertCauses> {
  const inForce = (await rules(tx)).rules
  const { groups, looked } = await groupAlerts(tx, (await runningCycle(tx)).key)
  const causes = causesOf(groups, inForce)
  const ids = causes.map(({ newestId }) => newestId)
  const newest = new Map((await toAlerts(tx, await findAlerts(tx, ids), inForce)).map((alert) => [alert.id, alert]))
  return {
    causes: causes.flatMap(({ newestId, since, ...cause }): AlertCause[] => {
      const alert = newest.get(newestId)
      return alert === undefined ? [] : [{ ...cause, since: new Date(since).toISOString(), newest: alert }]
    }),
    alerts: looked,
    isWhole: looked < MOST_LOOKED_AT,
  }
}

/** How many open alerts have each level, of the newest 5,000. @param cycleKey the running one */
export async function countByLevel(tx: TenantTx, rules: ReadRules, cycleKey: string) {
  const { groups, looked } = await groupAlerts(tx, cycleKey)
  const levels: Record<LogLevel, number> = { [LogLevel.Info]: 0, [LogLevel.Warning]: 0, [LogLevel.Critical]: 0 }
  for (const { level, alerts } of causesOf(groups, (await rules(tx)).rules)) levels[level] += alerts
  return { levels, isWhole: looked < MOST_LOOKED_AT }
}

interface Cause extends Omit<AlertGroup, 'step'> {
  readonly level: LogLevel
}

/** Groups of the same rule, kind and level together. Alerts of rules not in force are of level Info. */
function causesOf(groups: readonly AlertGroup[], rules: readonly Rule[]): Cause[] {
  const inForce = byName(rules)
  const causes = new Map<string, Cause>()
  for (const { step, ...group } of groups) {
    const rule = inForce.get(group.rule)
    const level = rule === undefined ? LogLevel.Info : levelAt(rule, step)
    const key = `${level} ${group.kind} ${group.rule}`
    const before = causes.get(key)
    causes.set(key, before === undefined ? { ...group, level } : together(before, group))
  }
  return [...causes.values()].toSorted((a, b) => b.level - a.level || b.alerts - a.alerts || (a.rule < b.rule ? -1 : 1))
}

const together = (cause: Cause, group: Omit<AlertGroup, 'step'>): Cause => ({
  ...cause,
  alerts: cause.alerts + group.alerts,
  firing: cause.firing + group.firing,
  acknowledged: cause.acknowledged + group.acknowledged,
  withheld: cause.withheld + group.withheld,
  since: Math.min(cause.since, group.since),
  newestId: Math.max(cause.newestId, group.newestId),
})
