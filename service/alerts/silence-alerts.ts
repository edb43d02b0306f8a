/** Begins and ends silences. */

import { LONGEST_SILENCE_MS, MOST_SILENCES, type NewSilence, type Silence } from '../../domain/alerts/silence.ts'
import { inWords } from '../../domain/alerts/week-times.ts'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { zoneFault } from '../../domain/local-time.ts'
import { durationMs } from '../../domain/time/duration.ts'
import { noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import { resumeNotifications } from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { knownPool } from '../pools/rows/pools.ts'
import { knownSim } from '../sims/rows/sims.ts'
import { runningCycle, tenantSettings } from '../usage/rows/cycles.ts'
import { lockAlerts, markFiringDue } from './rows/alerts.ts'
import { countSilences, holdsUntil, insertSilence, lockSilence, writeSilenceEnd } from './rows/silences.ts'

/**
 * Begins a silence. Mails held back by it are sent when it ends, if they are still true then.
 *
 * @throws ServiceError `invalid_request`, `sim_not_found`, `pool_not_found`, `silence_limit`
 */
export async function addSilence(tx: TenantTx, ask: NewSilence): Promise<{ id: number }> {
  const { rule = null, simId = null, poolId = null, tag = null, level = null, times = null, reason } = ask
  if (rule === null && simId === null && poolId === null && tag === null && level === null)
    throw new ServiceError('invalid_request', 'got none of rule, simId, poolId, tag and level, expected at least one')
  if (times === null && ask.timeZone != null)
    throw new ServiceError('invalid_request', `got the timeZone ${ask.timeZone} without times, expected both`)
  const endsAt = endOf(tx.now, ask, (await runningCycle(tx)).endsAt)
  const timeZone = times === null ? null : (ask.timeZone ?? (await tenantSettings(tx)).timeZone)
  const wrongZone = timeZone === null ? undefined : zoneFault(timeZone)
  if (wrongZone !== undefined) throw new ServiceError('invalid_request', `timeZone: ${wrongZone}`)
  if (simId !== null) await knownSim(tx, simId)
  if (poolId !== null) await knownPool(tx, poolId)
  // One evaluation at a time: none that started without the silence reports after this one.
  await lockAlerts(tx)
  if ((await countSilences(tx)) >= MOST_SILENCES)
    throw new ServiceError('silence_limit', `The tenant has ${MOST_SILENCES} silences that have not ended.`)
  const silence = { rule, simId, poolId, tag, level, reason, times, timeZone, endsAt }
  const id = await insertSilence(tx, silence)
  const until = endsAt?.toISOString() ?? null
  const when = times === null ? '' : ` at ${inWords(times)} (${timeZone})`
  await noteChange(tx, { subject: 'silence', id, before: null, after: { ...silence, endsAt: until } })
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Silence ${id}${until === null ? ' without an end' : ` until ${until}`}`,
    description: `Alerts of ${wordsOf(silence)} are not mailed${when}: ${reason}`,
  })
  return { id }
}

/** @returns null for one at times of the week, if it has no end */
function endOf(now: Date, { endsAt = null, lasts = null, times = null }: NewSilence, cycleEndsAt: number): Date | null {
  if (times !== null && endsAt === null && lasts === null) return null
  if ((endsAt === null) === (lasts === null))
    throw new ServiceError('invalid_request', `got ${endsAt === null ? 'neither' : 'both'}, expected endsAt or lasts`)
  if (lasts === 'cycle') return new Date(cycleEndsAt)
  const end = endsAt === null ? now.getTime() + durationMs(lasts ?? 'PT0S') : Date.parse(endsAt)
  const latest = times === null ? now.getTime() + LONGEST_SILENCE_MS : Number.POSITIVE_INFINITY
  if (end > now.getTime() && end <= latest) return new Date(end)
  const field = endsAt === null ? 'lasts' : 'endsAt'
  throw new ServiceError(
    'invalid_request',
    `${field}: got ${endsAt ?? lasts}, expected an end ${times === null ? 'within 90 days from now' : 'after now'}`,
  )
}

function wordsOf({ rule, simId, poolId, tag, level }: Pick<Silence, 'rule' | 'simId' | 'poolId' | 'tag' | 'level'>) {
  const words = { rule, SIM: simId, pool: poolId, tag, level }
  return Object.entries(words)
    .flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]))
    .join(', ')
}

/** Ends a silence: firing alerts that it held back are mailed. Idempotent. @throws ServiceError `silence_not_found` */
export async function endSilence(tx: TenantTx, id: number): Promise<{ id: number }> {
  await lockAlerts(tx)
  const silence = await lockSilence(tx, id)
  if (silence === undefined) throw new ServiceError('silence_not_found', `There is no silence ${id}.`)
  const now = tx.now.getTime()
  if (silence.endedAt !== null || (silence.endsAt !== null && Date.parse(silence.endsAt) <= now)) return { id }
  await writeSilenceEnd(tx, id)
  await markFiringDue(tx)
  const heldUntil = holdsUntil(silence, now)
  if (heldUntil !== null) await resumeNotifications(tx, new Date(heldUntil))
  await noteChange(tx, { subject: 'silence', id, before: { endedAt: null }, after: { endedAt: tx.now.toISOString() } })
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Silence ${id} has been ended`,
    description: `Alerts of ${wordsOf(silence)} are mailed again.`,
  })
  return { id }
}
