/**
 * Decides what becomes of a delivery after an attempt. Pure; durations are in milliseconds. Sources: decisions 39 and
 * 47.
 */
import { backoffMs } from '../time/backoff.ts'
import type { Outcome } from './channel.ts'

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1000, 60_000, 3_600_000]

/** How deliveries that met an outcome are retried; null: they are given up at once. */
interface Retry {
  /** The pause after a number of attempts. */
  readonly pauseMs: (attempts: number) => number
  /** How long a delivery is tried, from its first such outcome. */
  readonly forMs: number
  /** Whether the last attempt comes at the end of that time. */
  readonly isLastAtEnd?: true
}

/** How the deliveries of a channel are tried. */
export interface Retries extends Readonly<Record<Exclude<Outcome, 'delivered'>, Retry | null>> {
  /** Lease of a sender on a delivery: longer than an attempt and its commit. */
  readonly leaseMs: number
}

export interface MailRetries {
  /** Longest pause between attempts. */
  readonly retryMaxMs: number
  /** How long a mail is tried that the server may take later. */
  readonly giveUpAfterMs: number
}

const doubling = (longestMs: number) => (attempts: number) => backoffMs(attempts, { firstMs: 2 * SECOND_MS, longestMs })

export const mailRetries = ({ retryMaxMs, giveUpAfterMs }: MailRetries): Retries => ({
  leaseMs: 5 * MINUTE_MS,
  later: { pauseMs: doubling(retryMaxMs), forMs: giveUpAfterMs },
  refused: null,
  // An address refused twice, so far apart, does not exist.
  gone: { pauseMs: () => Number.POSITIVE_INFINITY, forMs: HOUR_MS, isLastAtEnd: true },
  // It ends when the operator has mended it, and all mails should then leave soon.
  ours: { pauseMs: doubling(Math.min(5 * MINUTE_MS, retryMaxMs)), forMs: Number.POSITIVE_INFINITY },
})

/** Pauses in seconds after the first attempt at an endpoint, the second, and so on; then a day again and again. */
const PAUSES: readonly number[] = [5, 30, 2 * 60, 15 * 60, 3600, 4 * 3600, 12 * 3600]
const pauseAfter = (times: number): number => SECOND_MS * (PAUSES[times - 1] ?? 24 * 3600)

/** How long deliveries to an endpoint are tried. */
export const WEBHOOK_TRIED_MS = 72 * HOUR_MS
const FOR_DAYS: Retry = { pauseMs: pauseAfter, forMs: WEBHOOK_TRIED_MS, isLastAtEnd: true }

export const WEBHOOK_RETRIES: Retries = {
  leaseMs: MINUTE_MS,
  later: FOR_DAYS,
  refused: FOR_DAYS,
  gone: null,
  ours: FOR_DAYS,
}

/**
 * Until when an endpoint without an answer is left alone: after its return, waiting deliveries arrive within a quarter
 * of an hour.
 *
 * @param failures failed attempts in a row
 */
export const pausedUntil = (failures: number, now: Date, askedMs = 0): Date =>
  new Date(now.getTime() + Math.max(Math.min(pauseAfter(failures), 15 * MINUTE_MS), askedMs))

/** The attempts at a delivery. */
export interface PastAttempts {
  /** Number of attempts, the last one included. */
  readonly attempts: number
  /** Since when it is tried: the first `later` of a mail, the writing of a webhook's; null if it has not begun. */
  readonly triedSince: Date | null
  /** When the target was first `gone`; null if it has not been. */
  readonly refusedAt: Date | null
}

export interface NextStep extends Omit<PastAttempts, 'attempts'> {
  readonly status: 'pending' | 'sent' | 'failed'
  /** The time of the next attempt; now unless it is pending. */
  readonly nextAt: Date
}

/**
 * Decides the next step of a delivery.
 *
 * @param options.askedMs the pause requested by the target
 */
export function nextStep(
  outcome: Outcome,
  tried: PastAttempts,
  { retries, now, askedMs = 0 }: { readonly retries: Retries; readonly now: Date; readonly askedMs?: number },
): NextStep {
  const since = {
    triedSince: tried.triedSince ?? (outcome === 'later' ? now : null),
    refusedAt: tried.refusedAt ?? (outcome === 'gone' ? now : null),
  }
  if (outcome === 'delivered') return { status: 'sent', nextAt: now, ...since }
  const retry = retries[outcome]
  const from = (outcome === 'gone' ? since.refusedAt : since.triedSince) ?? now
  const until = from.getTime() + (retry?.forMs ?? 0)
  if (retry === null || now.getTime() >= until) return { status: 'failed', nextAt: now, ...since }
  const { pauseMs, isLastAtEnd } = retry
  const at = now.getTime() + Math.max(pauseMs(tried.attempts), askedMs)
  return { status: 'pending', nextAt: new Date(isLastAtEnd ? Math.min(at, until) : at), ...since }
}
