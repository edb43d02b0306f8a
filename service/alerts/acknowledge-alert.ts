/** Notes that a person has seen an alert. */

import type { AlertNamed } from '../../domain/alerts/alert.ts'
import { ServiceError } from '../../domain/errors.ts'
import { checkOneNamed, namedWords, subjectNamed } from '../../domain/watchdog/subject.ts'
import { isFiring } from '../../rules/alerts/alert-state.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { runningCycle } from '../usage/rows/cycles.ts'
import { loadAlerts, lockAlerts, saveAlerts } from './rows/alerts.ts'

/**
 * Acknowledges a firing alert: it is not escalated, until its episode ends. Safe to run twice: the first one stays.
 *
 * @param cycle key of its billing cycle, if it has one. Default: the running one
 * @throws ServiceError `invalid_request`, `alert_not_found`
 */
export async function acknowledgeAlert(tx: TenantTx, { rule, ...named }: AlertNamed, cycle?: string): Promise<void> {
  checkOneNamed(named)
  await lockAlerts(tx)
  const subject = subjectNamed(named)
  const stored = await loadAlerts(tx, [subject], [cycle ?? (await runningCycle(tx)).key, ''])
  const firing = stored.filter((alert) => alert.rule === rule && isFiring(alert.state))
  if (firing.length === 0)
    throw new ServiceError('alert_not_found', `Rule ${rule} does not fire for ${namedWords(subject)}.`)
  const unseen = firing.filter(({ state }) => state.acknowledged === undefined)
  const acknowledged = { at: tx.now.getTime(), by: tx.caller?.actor ?? null }
  await saveAlerts(
    tx,
    unseen.map((alert) => ({ ...alert, state: { ...alert.state, acknowledged } })),
  )
  for (const { kind, id } of unseen)
    await noteChange(tx, { subject: 'alert', id: `${rule}/${kind}/${id}`, before: null, after: { acknowledged: true } })
}
