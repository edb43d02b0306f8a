/**
 * Sends mails over SMTP.
 *
 * A mail may arrive twice. If the connection breaks between its last line and the server's reply, it is sent again,
 * with the same Message-ID. Most mail programs then show it once.
 */
import { createTransport as createSmtp } from 'nodemailer'
import parseAddresses from 'nodemailer/lib/addressparser'
import type { Attempt, Outcome } from '../../../domain/channels/channel.ts'
import { isThisMachine } from '../../../domain/networks.ts'
import { type Mail, TENANT_HEADER } from './render-mail.ts'

export interface OutgoingMail extends Mail {
  /** A single address. */
  readonly to: string
  /** `<…@…>`, the same for every attempt. */
  readonly messageId: string
}

export interface Transport {
  /** Makes one attempt. Never rejects. */
  send(mail: OutgoingMail): Promise<Attempt>
  /** Closes idle connections. Sending of mails is completed. */
  close(): void
}

export interface TransportOptions {
  /** `smtp://` or `smtps://`, with user and password if the server requires them. */
  readonly smtpUrl: string
  /** Sender: `Name <address>`. */
  readonly from: string
  /** Time from connecting to the server's last reply, in milliseconds. Default: one minute. */
  readonly timeoutMs?: number
  /** Whether to send unencrypted if the server offers no encryption. Default: only to this machine. */
  readonly plain?: boolean
}

/** One minute. RFC 5321 allows longer, but a retry is cheap and a hanging sender is not. */
const TIMEOUT_MS = 60_000

/**
 * A transport through this server, over a few persistent connections.
 *
 * @throws Error if the URL is not smtp:// or smtps://
 */
export function createTransport({ smtpUrl, from, timeoutMs = TIMEOUT_MS, plain = false }: TransportOptions): Transport {
  const smtp = openSmtp({ smtpUrl, timeoutMs, plain })
  return {
    send: async ({ to, attachments, ...mail }) => {
      try {
        const { response } = await smtp.sendMail({
          ...mail,
          from: senderOf(from, mail.headers[TENANT_HEADER]),
          // As an object it is one address, even if it contains commas.
          to: { name: '', address: to },
          attachments: (attachments ?? []).map((attachment) => ({ ...attachment })),
          headers: { ...mail.headers },
          // The timeouts above restart with each byte. A server that trickles bytes would block us forever.
          signal: AbortSignal.timeout(timeoutMs),
        })
        return { outcome: 'delivered', code: null, response, why: '' }
      } catch (error) {
        return failed(error)
      }
    },
    close: () => smtp.close(),
  }
}

/**
 * Checks that the mail server takes our connection, with the TLS and the login of its URL. Sends no mail.
 *
 * @throws Error with the server's reply for any failure
 */
export async function checkSmtp({ smtpUrl, timeoutMs = TIMEOUT_MS, plain = false }: Omit<TransportOptions, 'from'>) {
  const smtp = openSmtp({ smtpUrl, timeoutMs, plain })
  try {
    await smtp.verify()
  } catch (error) {
    throw new Error(failed(error).response, { cause: error })
  } finally {
    smtp.close()
  }
}

/** @throws Error if the URL is not smtp:// or smtps:// */
function openSmtp({ smtpUrl, timeoutMs, plain }: Required<Omit<TransportOptions, 'from'>>) {
  if (!/^smtps?:$/.test(URL.canParse(smtpUrl) ? new URL(smtpUrl).protocol : '')) {
    // The message omits the URL, which may contain a password.
    throw new Error('the mail server must be smtp://host:port or smtps://host:port: check SMTP_URL')
  }
  return createSmtp({
    url: smtpUrl,
    pool: true,
    // Mails contain customers and their usage, so only a connection within this machine may be unencrypted.
    requireTLS: !plain && !isThisMachine(new URL(smtpUrl).hostname),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // The content of a mail must not make us read a file or URL into it.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** The sender, with the tenant in its name. An object gives one address for any content of the name. */
function senderOf(from: string, tenant: string | undefined): string | { name: string; address: string } {
  const [sender] = parseAddresses(from)
  if (tenant === undefined || sender?.address === undefined) return from
  return { name: `${sender.name || 'Simherd'} for ${tenant}`, address: sender.address }
}

/** Properties of nodemailer's errors for a failed attempt. */
interface SmtpFailure {
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
 * Classifies a failure, by RFC 5321 and the enhanced status codes of RFC 3463. `ours`: the server is down, or refuses all our mails. `gone`: it rejects the recipient as
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

const isFailure = (error: unknown): error is Error & SmtpFailure => error instanceof Error

const NOT_NOW = 'the mail server cannot be reached, or does not take it now'
/** For a tenant: without addresses, and with only the reply code from the server. */
const WORDS: Readonly<Record<Outcome, string>> = {
  delivered: '',
  ours: NOT_NOW,
  later: NOT_NOW,
  gone: 'the mail server refuses this address',
  refused: 'the mail server refuses the mail',
}

function failed(error: unknown): Attempt {
  if (!isFailure(error)) return { outcome: 'later', code: null, response: String(error), why: NOT_NOW }
  const said = error.response ?? `${error.message || error.name}${error.code === undefined ? '' : ` (${error.code})`}`
  const response = said.replace(/\s+/g, ' ').trim()
  const [outcome, code] = [smtpOutcome(error), error.responseCode ?? null]
  return { outcome, code, response, why: code === null ? WORDS[outcome] : `${WORDS[outcome]} (${code})` }
}
