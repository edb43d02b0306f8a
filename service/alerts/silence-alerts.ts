/** Begins and ends silences. */

import { LONGEST_SILENCE_MS, MOST_SILENCES, type NewSilence, type Silence } from '../../domain/alerts/silence.ts'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { durationMs } from '../../domain/time/duration.ts'
import { noteChange } from '../../store/audit.ts'
import { insertEvent } from '../../store/events.ts'
import { resumeNotifications } from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { knownPool } from '../pools/rows/pools.ts'
import { knownSim } from '../sims/rows/sims.ts'
import { runningCycle } from '../usage/rows/cycles.ts'
import { lockAlerts, markFiringDue } from './rows/alerts.ts'
import { insertSilence, lockSilence, openSilences, writeSilenceEnd } from './rows/silences.ts'

/**
 * Begins a silence. Mails held back by it are sent when it ends, if they are still true then.
 *
 * @throws ServiceError `invalid_request`, `sim_not_found`, `pool_not_found`, `silence_limit`
 */
export async function addSilence(tx: TenantTx, ask: NewSilence): Promise<{ id: number }> {
  const { rule = null, simId = null, poolId = null, tag = null, level = null, reason } = ask
  if (rule === null && simId === null && poolId === null && tag === null && level === null)
    throw new ServiceError('invalid_request', 'got none of rule, simId, poolId, tag and level, expected at least one')
  const endsAt = endOf(tx.now, ask, (await runningCycle(tx)).endsAt)
  if (simId !== null) await knownSim(tx, simId)
  if (poolId !== null) await knownPool(tx, poolId)
  // One evaluation at a time: none that started without the silence reports after this one.
  await lockAlerts(tx)
  if ((await openSilences(tx)).length >= MOST_SILENCES)
    throw new ServiceError('silence_limit', `The tenant has ${MOST_SILENCES} silences that have not ended.`)
  const silence = { rule, simId, poolId, tag, level, reason, endsAt }
  const id = await insertSilence(tx, silence)
  await noteChange(tx, { subject: 'silence', id, before: null, after: { ...silence, endsAt: endsAt.toISOString() } })
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Silence ${id} until ${endsAt.toISOString()}`,
    description: `Alerts of ${wordsOf(silence)} are not mailed: ${reason}`,
  })
  return { id }
}

function endOf(now: Date, { endsAt = null, lasts = null }: NewSilence, cycleEndsAt: number): Date {
  if ((endsAt === null) === (lasts === null))
    throw new ServiceError('invalid_request', `got ${endsAt === null ? 'neither' : 'both'}, expected endsAt or lasts`)
  if (lasts === 'cycle') return new Date(cycleEndsAt)
  const end = endsAt === null ? now.getTime() + durationMs(lasts ?? 'PT0S') : Date.parse(endsAt)
  if (end > now.getTime() && end <= now.getTime() + LONGEST_SILENCE_MS) return new Date(end)
  const field = endsAt === null ? 'lasts' : 'endsAt'
  throw new ServiceError('invalid_request', `${field}: got ${endsAt ?? lasts}, expected an end within 90 days from now`)
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
  if (silence.endedAt !== null || Date.parse(silence.endsAt) <= tx.now.getTime()) return { id }
  await writeSilenceEnd(tx, id)
  await markFiringDue(tx)
  await resumeNotifications(tx, new Date(silence.endsAt))
  await noteChange(tx, { subject: 'silence', id, before: { endedAt: null }, after: { endedAt: tx.now.toISOString() } })
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: `Silence ${id} has been ended`,
    description: `Alerts of ${wordsOf(silence)} are mailed again.`,
  })
  return { id }
}
