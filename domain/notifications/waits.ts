/** The waits of notifications for others, and the periods in which mails are counted. Pure; all in milliseconds. */

export interface MailWaits {
  /** How long a notification waits for the next of its cause. */
  readonly forNextMs: number
  /** The longest wait of the first notification of a cause, for any number of later ones. */
  readonly mostMs: number
  /** Causes that follow within this time share a mail. Digests keep this distance. */
  readonly soonMs: number
  /** The time within which many mails are a storm. */
  readonly stormMs: number
}

const DAY_MS = 86_400_000
/** A nightly file is read and evaluated in batches, seconds apart. */
const FOR_NEXT_MS = 30_000
/** A notice of a suspended SIM should wait no longer than this. */
const MOST_MS = 120_000
const SOON_MS = 600_000
const STORM_MS = 3_600_000

/** Shortens a wait in a billing cycle shorter than a day: at most this part of it. Source: decision 6. */
export const shortenedWait = (ms: number, cycleMs: number, part: number): number =>
  cycleMs < DAY_MS ? Math.min(ms, cycleMs / part) : ms

/** @param cycleMs length of the billing cycle */
export const mailWaits = (cycleMs: number): MailWaits => ({
  forNextMs: shortenedWait(FOR_NEXT_MS, cycleMs, 60),
  mostMs: shortenedWait(MOST_MS, cycleMs, 15),
  soonMs: shortenedWait(SOON_MS, cycleMs, 60),
  stormMs: shortenedWait(STORM_MS, cycleMs, 10),
})
