/** Decides when to probe a carrier that refuses our credentials, and when to notify people. Pure. */
import { scryptSync } from 'node:crypto'
import { backoffMs } from '../time/backoff.ts'

/**
 * The fingerprint of a carrier's address and our secret, 32 hex digits. By scrypt, some 50 ms a hash: even a weak secret
 * cannot be found from it by trial.
 */
export const credentialOf = (url: string, secret: string): string => scryptSync(secret, url, 16).toString('hex')

/** The carrier's refusals of one credential. */
export interface CarrierRefusal {
  /** Time of the first refusal since the last acceptance. */
  readonly since: Date
  /** Probes refused since then. */
  readonly probes: number
  /** When the next probe may be sent. While one is under way: when it is given up. */
  readonly probeAt: Date
  /** When people were notified last; null if never. */
  readonly toldAt: Date | null
  /** When the carrier accepted it again; null while it is refused. */
  readonly endedAt: Date | null
}

/** Answers of the carrier that refuse a credential. */
export interface RefusedTickets {
  readonly tickets: number
  /** Whether they are the answer to a probe. */
  readonly isProbe: boolean
}

/** Pauses between probes. A mended key is found within the longest. */
const PROBES = { firstMs: 1000, longestMs: 15_000 }
/** Shortest time between two notices about a credential refused now and then. */
const TOLD_APART_MS = 15 * 60_000

export const isRefused = ({ endedAt }: CarrierRefusal): boolean => endedAt === null

/** Whether people were notified of the refusal, and not yet of its end. */
export const isRefusalReported = ({ toldAt, since }: CarrierRefusal): boolean => toldAt !== null && toldAt >= since

/**
 * The state after refusals. People are notified once two tickets were refused: the fault may be in a single ticket.
 *
 * @returns with `tells`: whether to notify people now
 */
export function afterRefusal(
  before: CarrierRefusal,
  { tickets, isProbe }: RefusedTickets,
  now: Date,
): { readonly next: CarrierRefusal; readonly tells: boolean } {
  const isOn = isRefused(before)
  const since = isOn ? before.since : now
  const probes = isOn ? before.probes + (isProbe ? 1 : 0) : 0
  // Late answers to earlier requests do not move the next probe.
  const probeAt = isOn && !isProbe ? before.probeAt : afterPause(probes, now)
  const { toldAt } = before
  const isKnown = toldAt !== null && (toldAt >= since || now.getTime() - toldAt.getTime() < TOLD_APART_MS)
  const tells = !isKnown && (tickets > 1 || probes > 0)
  return { next: { since, probes, probeAt, toldAt: tells ? now : toldAt, endedAt: null }, tells }
}

/** The state after a probe without a verdict on the credential: the carrier was away, or busy. */
export const afterSilentProbe = (before: CarrierRefusal, now: Date): CarrierRefusal => ({
  ...before,
  probeAt: afterPause(before.probes, now),
})

/** The state after the carrier has accepted the credential. */
export const afterAcceptance = (before: CarrierRefusal, now: Date): CarrierRefusal => ({ ...before, endedAt: now })

const afterPause = (probes: number, now: Date): Date => new Date(now.getTime() + backoffMs(probes + 1, PROBES))
