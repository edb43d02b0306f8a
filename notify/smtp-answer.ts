/** What a failed attempt to send a mail means. Pure. Source: RFC 5321, enhanced status codes of RFC 3463. */

/**
 * Whose trouble it is.
 *
 * `ours`: the server is away, or does not let us send at all: every mail waits until the operator has mended it.
 * `address`: the server does not know the recipient. `mail`: it refuses this mail. `later`: it may take it later.
 */
export type MailTrouble = 'ours' | 'address' | 'mail' | 'later'

/** What is known of a failed attempt: properties of nodemailer's errors. */
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

/** Codes of replies that say that a mailbox does not exist, if they answer the recipient. */
const NO_MAILBOX: ReadonlySet<number> = new Set([550, 551, 553])
/** The server is about to close, wants a password, or finds our session out of order. */
const ABOUT_US: ReadonlySet<number> = new Set([421, 503, 530, 535])
/** Failures before the server hears of a mail. A connection that ends later may be due to the mail. */
const BEFORE_ANSWERS: ReadonlySet<string> = new Set(['EAUTH', 'ETLS', 'EDNS'])

/** Classifies a failure. */
export function troubleOf({
  code = '',
  command = '',
  syscall = '',
  responseCode,
  response = '',
}: SmtpFailure): MailTrouble {
  if (BEFORE_ANSWERS.has(code) || syscall === 'connect') return 'ours'
  // No address was usable, so no server was asked.
  if (responseCode === undefined) return code === 'EENVELOPE' ? 'address' : 'later'
  const [, subject, detail] = /^\d{3}[ -][245]\.(\d{1,3})\.(\d{1,3})/.exec(response) ?? []
  // A policy against us says so before the mail itself; after it, it may be one against this mail.
  const isPolicy = subject === '7'
  if (ABOUT_US.has(responseCode) || (isPolicy && command !== 'DATA')) return 'ours'
  if (responseCode < 500 || isPolicy) return 'later'
  if (command === 'MAIL FROM') return 'ours'
  if (subject === '1') return 'address'
  // A full mailbox may be emptied.
  if (subject === '2' && detail === '2') return 'later'
  const isBare = subject === undefined
  return command === 'RCPT TO' && isBare && NO_MAILBOX.has(responseCode) ? 'address' : 'mail'
}
