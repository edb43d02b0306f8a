/** Reads alerts as they are stored, and puts right what releases before kept of them. */
import type { Subject } from '../../domain/watchdog/subject.ts'
import { keyOfMark } from '../../rules/alerts/keys.ts'
import type { AlertState } from '../../rules/alerts/state.ts'
import { knownNotifications } from '../../store/mail/mails.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { knownEntries, loadAlerts, type StoredAlert } from '../../store/watchdog/alerts.ts'

/**
 * Reads the alerts of subjects in any of the given scopes.
 *
 * A state of a release before says what fired, whether or not its rule was allowed to tell it. Here it says what the log
 * and the mail were told.
 */
export async function storedAlerts(
  tx: TenantTx,
  subjects: readonly Subject[],
  scopes: readonly string[],
): Promise<StoredAlert<AlertState>[]> {
  const alerts = await loadAlerts<AlertState>(tx, subjects, scopes)
  const keys = alerts.filter(isOfReleaseBefore).flatMap(keysOf)
  if (keys.length === 0) return alerts
  const [logged, mailed] = [await knownEntries(tx, keys), await knownNotifications(tx, keys)]
  return alerts.map((alert) => {
    if (!isOfReleaseBefore(alert)) return alert
    const toldIn = (known: ReadonlySet<string>) =>
      alert.state.told.filter((mark) => known.has(keyOfMark(nameOf(alert), mark)))
    return { ...alert, state: { ...alert.state, told: toldIn(logged), mailed: toldIn(mailed) } }
  })
}

const isOfReleaseBefore = ({ state: { told, mailed } }: StoredAlert<AlertState>): boolean =>
  mailed === undefined && told.length > 0

const nameOf = ({ rule, kind, id, scope }: StoredAlert<AlertState>) => ({ rule, subject: { kind, id }, scope })

const keysOf = (alert: StoredAlert<AlertState>): string[] =>
  alert.state.told.map((mark) => keyOfMark(nameOf(alert), mark))
