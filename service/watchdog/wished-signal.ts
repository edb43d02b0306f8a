/**
 * Decides which signal enforcement needs now. Level-triggered: the wish of an alert is compared with the last signal.
 * Pure; instants are epoch milliseconds.
 */
import { SimStatus } from '../../domain/codes.ts'
import { type AlertSignal, isOrdered } from '../../domain/temporal/signals.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Wish } from '../../rules/alerts/decide.ts'
import type { Permission } from '../../rules/alerts/permission.ts'
import type { StoredAlert } from '../../rules/alerts/stored-alert.ts'
import type { SubjectFacts } from '../../rules/alerts/subject.ts'
import type { Rule } from '../../rules/rule.ts'

/** `would`: only logged, as a suspension that would have happened. The others are signals. */
export type Signal = AlertSignal | 'would'

/** A wish about a subject, and the requests before it. */
export interface Wished {
  readonly wish: Wish
  readonly permission: Permission['suspend']
  /** The rule is older than the one that should be in force, and its stage must not take a suspension back. */
  readonly keep: boolean
  readonly stored: Pick<StoredAlert, 'lastSignal' | 'lastSignalAt'> | null
  /** Of a SIM; null for another or a removed subject. */
  readonly sim: { readonly status: SimStatus; readonly statusSince: Date } | null
  /** Whether to signal again while it lasts: a pool's usage grows, and its workflow picks SIMs again. */
  readonly repeats: boolean
}

/** A rule, and its permission on a subject. */
export interface Wishing {
  readonly rule: Rule
  readonly subject: SubjectFacts
  readonly permission: Permission
  readonly stored: Wished['stored']
  /** This build refuses the rule set that should be in force, so an older one decides. */
  readonly isRefused: boolean
}

/** The wish of a rule that covers a subject; null if it never suspends. */
export function wishedOf(wish: Wish, { rule, subject, permission, stored, isRefused }: Wishing): Wished | null {
  const { suspend, stage } = rule.event.params
  if (suspend === undefined) return null
  return {
    wish,
    permission: permission.suspend,
    keep: isRefused && stage !== 'enforce',
    stored,
    sim: subject.kind === 'sim' ? subject.row : null,
    repeats: subject.kind === 'pool',
  }
}

export interface SignalMoment {
  readonly at: number
  readonly cycle: Cycle
  /** Whether enforcement is on for the tenant. */
  readonly enabled: boolean
}

/** A pool still over is signalled again after a sixtieth of the cycle, or after a minute if shorter. */
const MOST_AGAIN_MS = 60_000
const AGAIN_PARTS = 60
const againAfterMs = ({ startsAt, endsAt }: Cycle): number => Math.min(MOST_AGAIN_MS, (endsAt - startsAt) / AGAIN_PARTS)

/** The last signal of this cycle. Earlier ones do not count: the runs of a cycle end with it. */
export function lastSignalSince(startsAt: number, { stored }: Pick<Wished, 'stored'>): string | null {
  return stored !== null && (stored.lastSignalAt?.getTime() ?? 0) >= startsAt ? stored.lastSignal : null
}

/** The signal to send now; undefined if nothing has changed since the last one. */
export function signalFor(wished: Wished, { at, cycle, enabled }: SignalMoment): Signal | undefined {
  const before = lastSignalSince(cycle.startsAt, wished)
  if (wished.wish === 'keep') {
    return isOrdered(before) && at < cycle.endsAt && isBarred(wished, enabled) ? 'standDown' : undefined
  }
  const wanted = wantedFor(wished, enabled)
  if (isOrdered(before) && wanted !== 'overLimit') {
    if (wished.wish === 'clear') return 'cleared'
    return wished.keep ? undefined : 'standDown'
  }
  if (wanted === undefined || wanted !== before) return wanted
  const lastSignalAt = wished.stored?.lastSignalAt?.getTime() ?? 0
  const isDue = wished.repeats ? at - lastSignalAt >= againAfterMs(cycle) : becameActive(wished, lastSignalAt)
  return isDue ? wanted : undefined
}

/** Whether a person has removed the watchdog's permission to suspend, regardless of the alert. */
const isBarred = ({ permission, keep }: Wished, enabled: boolean): boolean => !keep && (permission !== 'do' || !enabled)

/** When to look again even if nothing happens; undefined if no signal is repeated. @param signalled one is sent now */
export function signalsAgainAt(wished: Wished, moment: SignalMoment, signalled: boolean): number | undefined {
  if (!wished.repeats || wantedFor(wished, moment.enabled) === undefined) return undefined
  const last = signalled ? moment.at : wished.stored?.lastSignalAt?.getTime()
  return last === undefined ? undefined : last + againAfterMs(moment.cycle)
}

/** Whether a SIM became active after `since`. The earlier signal found it suspended, so it had no effect. */
const becameActive = ({ sim }: Wished, since: number): boolean =>
  sim !== null && sim.status === SimStatus.Active && sim.statusSince.getTime() > since

/** The signal that the alert calls for, regardless of earlier signals; undefined if the rule may not even log it. */
function wantedFor({ wish, permission }: Wished, enabled: boolean): 'overLimit' | 'would' | undefined {
  if (wish !== 'over' || permission === 'no') return undefined
  return permission === 'do' && enabled ? 'overLimit' : 'would'
}
