/** A person's decision about a hold of the guard: release it or discard it. */
import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import type { HoldResponse } from '../../domain/enforcement/guard.ts'
import { ServiceError } from '../../domain/errors.ts'
import { noteChange } from '../../store/audit.ts'
import { answerHeld, forgetCount, heldBy, lockGuard, lockHold, markDecided } from '../../store/enforcement/guard.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { insertLogEntries } from '../../store/watchdog/alerts.ts'

const DECISIONS = {
  released: { permits: 'granted', signal: 'guardReleased', words: 'is released: it may suspend' },
  discarded: { permits: 'discarded', signal: 'guardDiscarded', words: 'is discarded: it does not suspend' },
} as const

/**
 * Releases or discards a hold, and signals the workflows that wait for it. Idempotent for the same decision.
 *
 * Releasing it restarts the hourly count of the rule. Discarding it leaves its SIMs alone until their alerts clear.
 *
 * @returns `decided` is the number of SIMs in the hold whose alert has not cleared before
 * @throws ServiceError `hold_not_found`; `hold_not_open` if it was decided the other way, or its cycle has ended
 */
export async function decideHold(
  tx: TenantTx,
  holdId: number,
  decision: 'released' | 'discarded',
): Promise<HoldResponse> {
  await lockGuard(tx)
  const hold = await lockHold(tx, holdId)
  if (hold === undefined) throw new ServiceError('hold_not_found', `There is no hold ${holdId}.`)
  const lapsed = hold.state === 'held' && tx.now >= hold.cycleEndsAt
  if (lapsed || (hold.state !== 'held' && hold.state !== decision)) {
    const why = lapsed ? `has lapsed with cycle ${hold.cycleKey}` : `was ${hold.state} before`
    throw new ServiceError('hold_not_open', `Hold ${holdId} ${why}, so it cannot be ${decision}.`)
  }
  const decided = await heldBy(tx, holdId)
  if (hold.state === decision) return { id: holdId, state: decision, decided }
  const { permits, signal, words } = DECISIONS[decision]
  await answerHeld(tx, hold, permits, signal)
  if (decision === 'released') await forgetCount(tx, hold)
  await markDecided(tx, holdId, decision)
  await noteChange(tx, { subject: 'hold', id: holdId, before: { state: 'held' }, after: { state: decision, decided } })
  const message = `Hold ${holdId} of rule ${hold.rule}, version ${hold.version}, ${words} the ${decided} SIM(s) that waited.`
  await insertLogEntries(tx, [
    {
      dedupeKey: `guard/${holdId}/${decision}`,
      rule: hold.rule,
      ruleVersion: hold.version,
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
    title: `Guard ${decision}: ${hold.rule}`,
    description: message,
  })
  return { id: holdId, state: decision, decided }
}
