/** Finds the alerts that inhibit others. */
import type { Subject } from '../../domain/watchdog/subject.ts'
import { type Inhibitor, measureOf } from '../../rules/alerts/inhibit.ts'
import { type AlertState, isFiring } from '../../rules/alerts/state.ts'
import { levelAt } from '../../rules/ladder.ts'
import type { Rule } from '../../rules/rule.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { StoredAlert } from '../../store/watchdog/alerts.ts'
import { type SubjectFacts, scopesAt } from './evaluation.ts'
import type { Moment } from './facts.ts'
import { storedAlerts } from './stored-alerts.ts'

/** Rules by their name. */
export const byName = (rules: readonly Rule[]): ReadonlyMap<string, Rule> =>
  new Map(rules.map((rule) => [rule.name, rule]))

/** Id of the pool whose data a SIM shares with others; null for other subjects. */
export function sharedPoolOf(subject: SubjectFacts): number | null {
  if (subject.kind !== 'sim' || subject.row.poolId === null) return null
  const { tariffType } = subject.facts
  return tariffType === 'Dynamic Pool' || tariffType === 'Fixed Pool' ? subject.row.poolId : null
}

/** Whether people know that it fires, or have silenced it. */
export function isTold(state: AlertState): boolean {
  const { part, told, mailed = told, withheld = [] } = state
  return isFiring(state) && (mailed.includes(`fired${part ?? ''}`) || withheld.includes('silenced'))
}

/** The inhibitors among alerts. */
export function inhibitorsAmong(
  alerts: readonly (Subject & { readonly rule: string; readonly state: AlertState })[],
  rules: ReadonlyMap<string, Rule>,
): Inhibitor[] {
  return alerts.flatMap(({ rule: name, kind, id, state }) => {
    const rule = rules.get(name)
    const measure = rule === undefined ? null : measureOf(rule)
    if (rule === undefined || measure === null || !isTold(state)) return []
    return [{ rule: name, kind, id, level: levelAt(rule, state.step), measure }]
  })
}

/** Alerts of the pools whose data SIMs share. */
export async function alertsOfSharedPools(
  tx: TenantTx,
  subjects: readonly SubjectFacts[],
  moment: Moment,
): Promise<StoredAlert<AlertState>[]> {
  const poolIds = new Set(subjects.map(sharedPoolOf).filter((id) => id !== null))
  if (poolIds.size === 0) return []
  const pools = [...poolIds].map((id): Subject => ({ kind: 'pool', id }))
  return storedAlerts(tx, pools, scopesAt(moment))
}
