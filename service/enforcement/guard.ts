/**
 * The guard: the number of subjects for which one rule may act in an hour, before a person has to decide about the
 * rest. It guards suspensions, and the mails and actions that a rule begins. Source: decisions 15, 42.
 */
import type { GuardScope } from '../../domain/enforcement/guard.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { countPools, countSims } from '../../store/counts.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import {
  addCount,
  type CountScope,
  countedInHour,
  insertHold,
  openHoldOf,
  readEnforcementSettings,
} from './rows/guard.ts'

/** The room that a scope has in its hour. */
interface Room {
  /** Id of its open hold: it takes all later subjects, which must not pass before it. Undefined: there is none. */
  readonly open: number | undefined
  /** Subjects passed in the hour. */
  readonly used: number
  readonly allowed: number
  readonly free: number
}

interface Asking {
  readonly kind: SubjectKind
  readonly count: number
}

/**
 * Reads for how many subjects of a scope there is room now. Call under the lock of the subjects: the tenant's guard for
 * suspensions, its alerts for alerts.
 *
 * @param counted the counts that take the room. Default: that of the scope
 */
export async function readRoom(
  tx: TenantTx,
  scope: GuardScope,
  { kind, count }: Asking,
  counted: readonly CountScope['what'][] = [scope.what],
): Promise<Room> {
  const open = await openHoldOf(tx, scope)
  let used = 0
  for (const what of counted) used += await countedInHour(tx, { ...scope, what })
  const allowed = await allowedIn(tx, scope, kind, used + count)
  return { open, used, allowed, free: open === undefined ? Math.max(0, allowed - used) : 0 }
}

export interface TakenHold {
  readonly id: number
  /** Whether it was opened for them. */
  readonly isNew: boolean
  /** Subjects passed in the hour. */
  readonly used: number
  readonly allowed: number
}

interface Passage<T> {
  readonly passed: readonly T[]
  readonly held: readonly T[]
  /** Null if all have passed. */
  readonly hold: TakenHold | null
}

/**
 * Lets subjects pass up to the hourly limit of their scope, in their order, and counts them. The others go into the
 * scope's hold, opened if there is none. Locks as for {@link readRoom}.
 */
export async function pass<T>(
  tx: TenantTx,
  scope: GuardScope,
  subjects: readonly T[],
  { kind, cycle }: { readonly kind: SubjectKind; readonly cycle: Pick<Cycle, 'endsAt'> },
): Promise<Passage<T>> {
  const room = await readRoom(tx, scope, { kind, count: subjects.length })
  const [passed, held] = [subjects.slice(0, room.free), subjects.slice(room.free)]
  if (passed.length > 0) await addCount(tx, scope, passed.length)
  if (held.length === 0) return { passed, held, hold: null }
  const { open, allowed } = room
  const used = room.used + passed.length
  const id = open ?? (await insertHold(tx, scope, { cycleEndsAt: new Date(cycle.endsAt), suspended: used, allowed }))
  return { passed, held, hold: { id, isNew: open === undefined, used, allowed } }
}

/**
 * The hourly limit: the larger of a number and a share of the estate. The share of alerts is of all the tenant's
 * subjects of their kind, those in Monitor mode too.
 *
 * @param wanted how many are to pass, with those passed. The estate is counted only if the number is not enough for
 *   all, and only as far as it decides
 */
async function allowedIn(tx: TenantTx, { what, poolId }: GuardScope, kind: SubjectKind, wanted: number) {
  const settings = await readEnforcementSettings(tx)
  const isOfAlerts = what === 'alerts'
  const least = isOfAlerts ? settings.alertGuardLeast : settings.guardLeast
  const pct = isOfAlerts ? settings.alertGuardPct : settings.guardPct
  if (wanted <= least || pct === 0) return least
  const enough = Math.min(Number.MAX_SAFE_INTEGER, Math.ceil((wanted * 100) / pct) + 1)
  const size =
    !isOfAlerts || kind === 'sim' ? await countSims(tx, poolId) : kind === 'pool' ? await countPools(tx, enough) : 1
  return Math.max(least, Math.floor((pct * size) / 100))
}
