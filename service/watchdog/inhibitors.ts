/** Finds the alerts that inhibit others. */
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { AlertState } from '../../rules/alerts/state.ts'
import type { StoredAlert } from '../../rules/alerts/stored-alert.ts'
import type { Moment } from '../../rules/facts-of.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { loadAlerts } from '../alerts/rows/alerts.ts'
import { type SubjectFacts, scopesAt } from './evaluation.ts'

/** Id of the pool whose data a SIM shares; null for other subjects. */
export function sharedPoolOf(subject: SubjectFacts): number | null {
  if (subject.kind !== 'sim' || subject.row.poolId === null) return null
  const { tariffType } = subject.facts
  return tariffType === 'Dynamic Pool' || tariffType === 'Fixed Pool' ? subject.row.poolId : null
}

/** Alerts of the pools shared by SIMs. */
export async function alertsOfSharedPools(
  tx: TenantTx,
  subjects: readonly SubjectFacts[],
  moment: Moment,
): Promise<StoredAlert<AlertState>[]> {
  const poolIds = new Set(subjects.map(sharedPoolOf).filter((id) => id !== null))
  if (poolIds.size === 0) return []
  const pools = [...poolIds].map((id): Subject => ({ kind: 'pool', id }))
  return loadAlerts<AlertState>(tx, pools, scopesAt(moment))
}
