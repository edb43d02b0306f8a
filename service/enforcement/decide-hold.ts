/** A person's decision about a hold of the guard: release it or discard it. */

import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import type { HoldResponse } from '../../domain/enforcement/guard.ts'
import { ServiceError } from '../../domain/errors.ts'
import { counted } from '../../domain/quantity.ts'
import { noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import { insertLogEntries } from '../../store/log.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockAlerts } from '../alerts/rows/alerts.ts'
import { countWaiting, forgetCounts, heldIn, lockHold, markDecided, markWaitingDue, noHold } from './rows/guard.ts'
import { answerHeld, heldBy, lockGuard } from './rows/permits.ts'

const DECISIONS = {
  released: {
    permits: 'granted',
    signal: 'guardReleased',
    suspensions: 'is released: it may suspend the',
    alerts: 'is released: it may tell and act on the',
  },
  discarded: {
    permits: 'discarded',
    signal: 'guardDiscarded',
    suspensions: 'is discarded: it does not suspend the',
    alerts: 'is discarded: it neither tells nor acts on the',
  },
} as const

/**
 * Releases or discards a hold. Idempotent for the same decision.
 *
 * A hold of suspensions: signals the workflows that wait. A hold of alerts: their subjects are evaluated; alerts that
 * still fire are reported and acted on, or count as reported. Releasing restarts the hourly count of the rule.
 * Discarding leaves its subjects alone until their alerts clear.
 *
 * @param expected the most that may wait; left out: any number
 * @returns `decided` is the number of SIMs, or subjects, in the hold whose alert has not cleared before
 * @throws ServiceError `hold_not_found`; `hold_not_open` if it was decided the other way, or its cycle has ended;
 *   `hold_grown`
 */
export async function decideHold(
  tx: TenantTx,
  holdId: number,
  decision: 'released' | 'discarded',
  expected?: number,
): Promise<HoldResponse> {
  // An evaluation adds to holds under this lock: none adds to a decided hold.
  if ((await heldIn(tx, holdId)) === 'alerts') await lockAlerts(tx)
  await lockGuard(tx)
  const hold = await lockHold(tx, holdId)
  if (hold === undefined) throw noHold(holdId)
  const lapsed = hold.state === 'held' && tx.now >= hold.cycleEndsAt
  if (lapsed || (hold.state !== 'held' && hold.state !== decision)) {
    const why = lapsed ? `has lapsed with cycle ${hold.cycleKey}` : `was ${hold.state} before`
    throw new ServiceError('hold_not_open', `Hold ${holdId} ${why}, so it cannot be ${decision}.`)
  }
  const { what, rule } = hold
  const isOfAlerts = what === 'alerts'
  if (hold.state === decision)
    return { id: holdId, state: decision, decided: isOfAlerts ? (hold.subjects ?? 0) : await heldBy(tx, holdId) }
  const decided = isOfAlerts ? await countWaiting(tx, holdId) : await heldBy(tx, holdId)
  if (decided > (expected ?? decided))
    throw new ServiceError('hold_grown', `expect: got ${expected}, but ${decided} wait in hold ${holdId} now.`)
  const { permits, signal } = DECISIONS[decision]
  if (isOfAlerts) await markWaitingDue(tx, holdId)
  else await answerHeld(tx, hold, permits, signal)
  if (decision === 'released') await forgetCounts(tx, hold)
  await markDecided(tx, holdId, decision, isOfAlerts ? decided : null)
  await noteChange(tx, { subject: 'hold', id: holdId, before: { state: 'held' }, after: { state: decision, decided } })
  const version = isOfAlerts ? '' : `, version ${hold.version}`
  const waited = `${counted(decided, isOfAlerts ? 'subject' : 'SIM')} that waited`
  const message = `Hold ${holdId} of rule ${rule}${version}${isOfAlerts ? '' : ','} ${DECISIONS[decision][what]} ${waited}.`
  await insertLogEntries(tx, [
    {
      dedupeKey: `guard/${holdId}/${decision}`,
      rule,
      ruleVersion: isOfAlerts ? null : hold.version,
      simId: null,
      poolId: hold.poolId,
      level: LogLevel.Info,
      message,
      cycleKey: hold.cycleKey,
      explanation: { by: tx.caller?.keyId ?? null },
    },
  ])
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Guard ${decision}: ${rule}`,
    description: message,
  })
  return { id: holdId, state: decision, decided }
}
