/**
 * Mails over SMTP.
 *
 * A mail may arrive twice: when the connection dies between its last line and the server's answer, it is
 * sent again. It carries the same Message-ID then, by which most mail programs show it once.
 */
import { createTransport as createSmtp } from 'nodemailer'
import type { MailAttachment } from './render.ts'

export interface OutgoingMail {
  /** One address. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** `<…@…>`, the same for every attempt. */
  readonly messageId: string
  readonly attachments?: readonly MailAttachment[]
}

interface Delivery {
  /** Addresses the server took the mail for. */
  readonly accepted: readonly string[]
  /** The server's last words. */
  readonly response: string
}

export interface Transport {
  /** @throws MailError always and only */
  send(mail: OutgoingMail): Promise<Delivery>
  /** Closes idle connections; mails on their way are finished. */
  close(): void
}

export interface TransportOptions {
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  readonly smtpUrl: string
  /** Sender: `Name <address>`. */
  readonly from: string
  /** From connecting to the server's last word, in milliseconds. Default: one minute. */
  readonly timeoutMs?: number
  /** Sends in the clear where the server offers nothing else. Default: only to this machine itself. */
  readonly plain?: boolean
}

/** Why a mail was not taken, or why that is not known. The message is the operator's: the server's own words. */
export class MailError extends Error {
  /** `permanent`: this mail will never be taken for this address. `temporary`: it may be later. */
  readonly kind: 'permanent' | 'temporary'
  /** The server's reply code; undefined where it gave none. */
  readonly responseCode: number | undefined
  /** The same for a tenant: no address, and of the server's words its reply code. */
  readonly plainWords: string
  constructor(message: string, kind: MailError['kind'], responseCode: number | undefined, cause: unknown) {
    super(message, { cause })
    this.name = 'MailError'
    this.kind = kind
    this.responseCode = responseCode
    const said =
      kind === 'permanent'
        ? 'the mail server refuses it for this address'
        : 'the mail server cannot be reached, or does not take it now'
    this.plainWords = responseCode === undefined ? said : `${said} (${responseCode})`
  }
}

/** A minute: RFC 5321 would wait longer, but a retry is cheap and a sender that hangs is not. */
const TIMEOUT_MS = 60_000

/**
 * Sends through this server, over a few connections that are kept open.
 *
 * @throws Error where the address of the server cannot be used
 */
export function createTransport({ smtpUrl, from, timeoutMs = TIMEOUT_MS, plain = false }: TransportOptions): Transport {
  if (!/^smtps?:$/.test(URL.canParse(smtpUrl) ? new URL(smtpUrl).protocol : '')) {
    // Not shown: it may hold a password.
    throw new Error('the mail server must be smtp://host:port or smtps://host:port: check SMTP_URL')
  }
  const smtp = createSmtp({
    url: smtpUrl,
    pool: true,
    requireTLS: !plain && !isThisMachine(new URL(smtpUrl).hostname),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // Nothing a mail holds may name a file or an address to be read into it.
    disableFileAccess: true,
    disableUrlAccess: true,
  })

  return {
    send: async ({ to, attachments, ...mail }) => {
      try {
        const { accepted, response } = await smtp.sendMail({
          ...mail,
          from,
          // As an object it is one address, whatever commas it holds.
          to: { name: '', address: to },
          attachments: (attachments ?? []).map((attachment) => ({ ...attachment })),
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
          // The timeouts above start anew with each byte; a server that trickles would hold us for ever.
          signal: AbortSignal.timeout(timeoutMs),
        })
        return { accepted, response }
      } catch (error) {
        throw asMailError(error)
      }
    },
    close: () => smtp.close(),
  }
}

/** Mails name customers and their usage: on a network nobody may read along. */
const isThisMachine = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/i.test(host)

/** What nodemailer puts on its errors. */
interface SmtpFailure extends Error {
  readonly code?: string
  readonly response?: string
  readonly responseCode?: number
}

const isFailure = (error: unknown): error is SmtpFailure => error instanceof Error

function asMailError(error: unknown): MailError {
  if (!isFailure(error)) return new MailError(String(error), 'temporary', undefined, error)
  const said = error.response ?? `${error.message || error.name}${error.code === undefined ? '' : ` (${error.code})`}`
  return new MailError(said.replace(/\s+/g, ' ').trim(), kindOf(error), error.responseCode, error)
}

/**
 * Only a word about this mail or its address is final. A refused password, a demand for one (530) or no encryption
 * is ours to mend, 503 is a muddled session: the mail waits.
 */
function kindOf({ code, responseCode }: SmtpFailure): MailError['kind'] {
  // No address was usable, so that no server was asked.
  if (responseCode === undefined) return code === 'EENVELOPE' ? 'permanent' : 'temporary'
  const ours = code === 'EAUTH' || code === 'ETLS' || responseCode === 503 || responseCode === 530
  return responseCode >= 500 && !ours ? 'permanent' : 'temporary'
}
