/** Classifies a failed attempt to send a mail. Pure. Source: RFC 5321, enhanced status codes of RFC 3463. */
import type { Outcome } from '../../../domain/channels/channel.ts'

/** Properties of nodemailer's errors for a failed attempt. */
export interface SmtpFailure {
  /** nodemailer's code, such as `EAUTH` or `ETIMEDOUT`. */
  readonly code?: string | undefined
  /** The command that failed: `MAIL FROM`, `RCPT TO`, `DATA` … */
  readonly command?: string | undefined
  /** Of a failed system call: `connect`, `read` … */
  readonly syscall?: string | undefined
  /** The server's reply code; undefined if it gave none. */
  readonly responseCode?: number | undefined
  readonly response?: string | undefined
}

/** Reply codes for a mailbox that does not exist, if they answer the recipient. */
const NO_MAILBOX: ReadonlySet<number> = new Set([550, 551, 553])
/** The server is about to close, requires a password, or finds our session out of order. */
const ABOUT_US: ReadonlySet<number> = new Set([421, 503, 530, 535])
/** Failures before the server receives a mail. A connection that ends later may be due to the mail. */
const BEFORE_ANSWERS: ReadonlySet<string> = new Set(['EAUTH', 'ETLS', 'EDNS'])

/**
 * Classifies a failure. `ours`: the server is down, or refuses all our mails. `gone`: it rejects the recipient as
 * unknown. `refused`: it refuses this mail.
 */
export function smtpOutcome({
  code = '',
  command = '',
  syscall = '',
  responseCode,
  response = '',
}: SmtpFailure): Outcome {
  if (BEFORE_ANSWERS.has(code) || syscall === 'connect') return 'ours'
  // No address was usable, so no server was asked.
  if (responseCode === undefined) return code === 'EENVELOPE' ? 'gone' : 'later'
  const [, subject, detail] = /^\d{3}[ -][245]\.(\d{1,3})\.(\d{1,3})/.exec(response) ?? []
  // A policy against us is reported before the mail itself; later, it may be a policy against this mail.
  const isPolicy = subject === '7'
  if (ABOUT_US.has(responseCode) || (isPolicy && command !== 'DATA')) return 'ours'
  if (responseCode < 500 || isPolicy) return 'later'
  if (command === 'MAIL FROM') return 'ours'
  if (subject === '1') return 'gone'
  // A full mailbox may be emptied.
  if (subject === '2' && detail === '2') return 'later'
  const isBare = subject === undefined
  return command === 'RCPT TO' && isBare && NO_MAILBOX.has(responseCode) ? 'gone' : 'refused'
}
