/** Classifies the result of an SMTP attempt. Pure. */

import type { MailTrouble } from '../../adapters/channels/mail/smtp-answer.ts'
import type { MailError } from '../../adapters/channels/mail/transport.ts'
import { storable } from '../../domain/text.ts'
import { afterFailure, type MailRetries } from './retry.ts'

const isMailError = (error: unknown): error is MailError => error instanceof Error && error.name === 'MailError'

/** Details of a failed attempt. */
export interface Failure {
  readonly trouble: MailTrouble
  /** The response of the server, or the error before one. */
  readonly response: string
  /** The same for people; null if there is no wording for it. */
  readonly why: string | null
}

/** @param error of the transport, or of rendering */
export const failureOf = (error: unknown): Failure =>
  isMailError(error)
    ? { trouble: error.trouble, response: storable(error.message), why: error.plainWords }
    : { trouble: 'later', response: storable(String(error)), why: null }

/** A mail's attempts, the last one included. */
export interface AttemptedMail {
  readonly attempts: number
  readonly triedSince: Date | null
  readonly refusedAt: Date | null
}

export interface Outcome extends Omit<AttemptedMail, 'attempts'> {
  readonly status: 'sent' | 'pending' | 'failed'
  readonly nextAt: Date
}

/** @param trouble null: the server accepted the mail @param now epoch milliseconds */
export function outcomeOf(
  trouble: MailTrouble | null,
  { attempts, triedSince, refusedAt }: AttemptedMail,
  now: number,
  retries: MailRetries,
): Outcome {
  const date = (at: number | null) => (at === null ? null : new Date(at))
  if (trouble === null) return { status: 'sent', nextAt: new Date(now), triedSince, refusedAt }
  const tried = { attempts, triedSince: triedSince?.getTime() ?? null, refusedAt: refusedAt?.getTime() ?? null }
  const next = afterFailure(trouble, tried, now, retries)
  return {
    status: next.at === null ? 'failed' : 'pending',
    nextAt: new Date(next.at ?? now),
    triedSince: date(next.triedSince),
    refusedAt: date(next.refusedAt),
  }
}
