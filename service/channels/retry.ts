/** When a mail is retried, and when it is given up. Pure; times are in milliseconds, instants epoch milliseconds. */

import type { MailTrouble } from '../../adapters/channels/mail/smtp-answer.ts'
import { backoffMs } from '../../domain/time/backoff.ts'

export interface MailRetries {
  /** Longest pause between attempts. */
  readonly retryMaxMs: number
  /** How long a mail is tried that the server may take later. */
  readonly giveUpAfterMs: number
}

/** The past attempts of a mail. */
export interface Tried {
  /** Number of attempts, the last one included. */
  readonly attempts: number
  /** When the server first announced that it may accept it later; null if it has not. */
  readonly triedSince: number | null
  /** When the server first refused the address; null if it has not. */
  readonly refusedAt: number | null
}

export interface NextAttempt extends Omit<Tried, 'attempts'> {
  /** Null: the mail is given up. */
  readonly at: number | null
}

/** Lease of a sender on a mail: longer than any SMTP conversation that the transport allows. */
export const LEASE_MS = 5 * 60_000

const FIRST_MS = 2000
/** Our own trouble ends when the operator has mended it, and all mails should then leave soon. */
const OURS_MAX_MS = 300_000
/** An address refused twice, so far apart, does not exist. */
const ADDRESS_AGAIN_MS = 3_600_000

/** Decides the next step of a mail after a failed attempt. Our own trouble never ends it. */
export function afterFailure(trouble: MailTrouble, tried: Tried, now: number, retries: MailRetries): NextAttempt {
  const { attempts, triedSince, refusedAt } = tried
  const pause = (longestMs: number) => now + backoffMs(attempts, { firstMs: FIRST_MS, longestMs })
  switch (trouble) {
    case 'ours':
      return { at: pause(Math.min(OURS_MAX_MS, retries.retryMaxMs)), triedSince, refusedAt }
    case 'mail':
      return { at: null, triedSince, refusedAt }
    case 'address': {
      const first = refusedAt ?? now
      const again = first + ADDRESS_AGAIN_MS
      return { at: now >= again ? null : again, triedSince, refusedAt: first }
    }
    case 'later': {
      const since = triedSince ?? now
      return {
        at: now - since >= retries.giveUpAfterMs ? null : pause(retries.retryMaxMs),
        triedSince: since,
        refusedAt,
      }
    }
  }
}
