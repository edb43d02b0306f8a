/** When the carrier refuses our credentials: when to ask again, and when to tell people. Pure. */
import { backoffMs } from '../time/backoff.ts'

/** What is known of the carrier's refusals of one credential. */
export interface CarrierRefusal {
  /** When it was refused first, since it was accepted last. */
  readonly since: Date
  /** Probes that were refused since then. */
  readonly probes: number
  /** When the next probe may be sent. While one is under way: when it is given up. */
  readonly probeAt: Date
  /** When people were told last; null if they never were. */
  readonly toldAt: Date | null
  /** When the carrier accepted it again; null while it is refused. */
  readonly endedAt: Date | null
}

/** Answers of the carrier by which it refuses a credential. */
export interface RefusedTickets {
  readonly tickets: number
  /** Whether they are the answer to a probe. */
  readonly isProbe: boolean
}

/** Pauses between probes. A mended key is found within the longest. */
const PROBES = { firstMs: 1000, longestMs: 15_000 }
/** A credential that is refused now and then is told of once in this time. */
const TOLD_APART_MS = 15 * 60_000

export const isRefused = ({ endedAt }: CarrierRefusal): boolean => endedAt === null

/** Whether people were told that it is refused, and not yet that this has ended. */
export const isTold = ({ toldAt, since }: CarrierRefusal): boolean => toldAt !== null && toldAt >= since

/**
 * The state after refusals. People are told once two tickets were refused: one alone may be refused for its own sake.
 *
 * @returns with `tells`: whether to tell people now
 */
export function afterRefusal(
  before: CarrierRefusal,
  { tickets, isProbe }: RefusedTickets,
  now: Date,
): { readonly next: CarrierRefusal; readonly tells: boolean } {
  const isOn = isRefused(before)
  const since = isOn ? before.since : now
  const probes = isOn ? before.probes + (isProbe ? 1 : 0) : 0
  // Late answers to what was sent earlier do not move the next probe.
  const probeAt = isOn && !isProbe ? before.probeAt : afterPause(probes, now)
  const { toldAt } = before
  const isKnown = toldAt !== null && (toldAt >= since || now.getTime() - toldAt.getTime() < TOLD_APART_MS)
  const tells = !isKnown && (tickets > 1 || probes > 0)
  return { next: { since, probes, probeAt, toldAt: tells ? now : toldAt, endedAt: null }, tells }
}

/** The state after a probe whose answer says nothing of the credential: the carrier was away, or busy. */
export const afterSilentProbe = (before: CarrierRefusal, now: Date): CarrierRefusal => ({
  ...before,
  probeAt: afterPause(before.probes, now),
})

/** The state after the carrier has accepted the credential. */
export const afterAcceptance = (before: CarrierRefusal, now: Date): CarrierRefusal => ({ ...before, endedAt: now })

const afterPause = (probes: number, now: Date): Date => new Date(now.getTime() + backoffMs(probes + 1, PROBES))
