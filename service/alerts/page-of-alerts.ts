/** Reads the open alerts of a tenant's subjects. */

import type { Alert, AlertQuery } from '../../domain/alerts/alert.ts'
import { LogLevel } from '../../domain/codes.ts'
import type { Page } from '../../domain/page.ts'
import { isFiring } from '../../rules/alerts/alert-state.ts'
import { byName, quietOf } from '../../rules/alerts/quiet.ts'
import { levelAt } from '../../rules/ladder.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { ReadRules } from '../rules/rules-in-force.ts'
import { runningCycle } from '../usage/rows/cycles.ts'
import { type OpenAlert, pageOfOpenAlerts } from './rows/open-alerts.ts'
import { openSilences } from './rows/silences.ts'

/** A page of the pending and firing alerts, by rule and subject. */
export async function pageOfAlerts(tx: TenantTx, query: AlertQuery, rules: ReadRules): Promise<Page<Alert>> {
  const silences = await openSilences(tx)
  const inForce = byName((await rules(tx)).rules)
  const { data, pagination } = await pageOfOpenAlerts(tx, (await runningCycle(tx)).key, query)
  return {
    pagination,
    data: data.map((alert) => {
      const found = inForce.get(alert.rule)
      const level = found === undefined ? LogLevel.Info : levelAt(found, alert.state.step)
      const { rule, poolId, tag } = alert
      return toAlert(alert, quietOf(silences, { rule, level, subject: alert, poolId, tag })?.until ?? null)
    }),
  }
}

function toAlert(alert: OpenAlert, silencedUntil: number | null): Alert {
  const { rule, ruleVersion, kind, id, label, scope, state, lastSignal, evaluatedAt, acknowledgedByName } = alert
  const { phase, since, began, part, told, mailed, returns = 0, episode, error } = state
  const { withheld = [], acknowledged } = state
  const isFired = (marks: readonly string[]) => isFiring(state) && marks.includes(`fired${part}`)
  return {
    rule,
    ruleVersion,
    subject: { kind, id, label },
    cycle: scope === '' ? null : scope,
    phase: phase === 'firing' || phase === 'recovering' ? phase : 'pending',
    since: new Date(since).toISOString(),
    metSince: new Date(began).toISOString(),
    times: scope === '' ? episode : returns + (isFiring(state) ? 1 : 0),
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
