/**
 * An SMTP inbox for development and tests. It takes every mail, forwards none, and shows them on a page.
 *
 *   GET    /                             the list; as JSON for `Accept: application/json`, newest first
 *   DELETE /                             deletes all mails
 *   GET    /mails/{id}                   one mail, as page or JSON
 *   GET    /mails/{id}/html, /source, /attachments/{n}
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { freePort, LOOPBACK, requireFreePort } from '../free-port.ts'
import { answerJson, answerText, serve } from '../http.ts'
import { type Mails, openMails } from './mails.ts'
import { listPage, mailPage } from './page.ts'

/** 25 MB, like the large mail providers. */
const SIZE_LIMIT_BYTES = 25_000_000

export interface InboxOptions {
  /** Where mails are kept, one file each. Existing mails are shown. */
  readonly dir: string
  /** Default: any free port; the same for `httpPort`. */
  readonly smtpPort?: number
  readonly httpPort?: number
  /** Refuses a recipient with this SMTP code, such as 451 (later) or 550 (never). */
  readonly refuse?: (recipient: string) => number | undefined
  /** Breaks the connection after a mail is stored, before the response: the sender cannot tell the outcome. */
  readonly dropAfterData?: (recipients: readonly string[]) => boolean
}

export interface Inbox {
  readonly smtpUrl: string
  readonly inboxUrl: string
  readonly stop: () => Promise<void>
}

/**
 * Starts the inbox on loopback.
 *
 * @throws Error with the fix if a port is in use
 */
export async function startInbox(options: InboxOptions): Promise<Inbox> {
  const mails = await openMails(options.dir)
  const smtp = await startSmtp(options, mails)
  try {
    const web = await serve(options.httpPort ?? 0, "the inbox's page", (request, response) => {
      handle(mails, request, response).catch((error: unknown) => {
        if (!response.headersSent) answerText(response, 500, 'text/plain', `the inbox failed: ${String(error)}\n`)
      })
    })
    const stop = async () => {
      await smtp.stop()
      await web.stop()
    }
    return { smtpUrl: smtp.url, inboxUrl: web.url, stop }
  } catch (error) {
    await smtp.stop()
    throw error
  }
}

async function startSmtp(options: InboxOptions, mails: Mails) {
  const port = options.smtpPort || (await freePort())
  await requireFreePort(port, 'the SMTP inbox')
  const sockets = new Map<number, Socket>()
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    size: SIZE_LIMIT_BYTES,
    logger: false,
    onRcptTo({ address }, _session, callback) {
      const code = options.refuse?.(address)
      callback(code === undefined ? null : smtpError(code, `refused: ${address}`))
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.once('end', () => {
        if (stream.sizeExceeded) return callback(smtpError(552, `a mail may have ${SIZE_LIMIT_BYTES} bytes`))
        const recipients = session.envelope.rcptTo.map(({ address }) => address)
        mails.add(Buffer.concat(chunks)).then(
          ({ id }) => {
            if (options.dropAfterData?.(recipients)) sockets.get(session.remotePort)?.destroy()
            else callback(null, `kept as ${id}`)
          },
          (error: unknown) => callback(smtpError(452, `cannot keep the mail: ${String(error)}`)),
        )
      })
    },
  })
  // A client may break its connection, without a failure here.
  server.on('error', () => undefined)
  server.server.on('connection', (socket: Socket) => {
    const { remotePort } = socket
    if (remotePort === undefined) return
    sockets.set(remotePort, socket)
    socket.once('close', () => sockets.delete(remotePort))
  })
  await new Promise<void>((done, fail) => {
    server.server.once('error', fail)
    server.listen(port, LOOPBACK, done)
  })
  const stop = () =>
    new Promise<void>((done) => {
      server.close(done)
      // A sender that keeps its connection open must not delay the stop.
      for (const socket of sockets.values()) socket.destroy()
    })
  return { url: `smtp://${LOOPBACK}:${port}`, stop }
}

const smtpError = (code: number, message: string): Error => Object.assign(new Error(message), { responseCode: code })

async function handle(mails: Mails, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // A page of another site must not read the mails through a host name that it points here.
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(request.headers.host ?? '')) {
    return answerText(response, 421, 'text/plain', 'ask for this page as http://127.0.0.1 or http://localhost\n')
  }
  const wantsJson = (request.headers.accept ?? '').includes('application/json')
  const { pathname } = new URL(request.url ?? '/', 'http://inbox')
  if (pathname === '/' && request.method === 'DELETE') {
    await mails.clear()
    response.writeHead(204).end()
    return
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return answerText(response, 405, 'text/plain', 'GET / shows the mails, DELETE / clears them\n')
  }
  if (pathname === '/') {
    const list = mails.list()
    return wantsJson ? answerJson(response, 200, list) : answerPage(response, listPage(list))
  }
  const [, folder, id = '', part, index] = pathname.split('/')
  const found = folder === 'mails' ? mails.find(id) : undefined
  if (found === undefined) return answerText(response, 404, 'text/plain', 'no such mail\n')
  if (part === undefined) {
    return wantsJson ? answerJson(response, 200, found.mail) : answerPage(response, mailPage(found))
  }
  if (part === 'source') return answerText(response, 200, 'text/plain', await mails.source(id))
  if (part === 'html') return answerMailHtml(response, found.mail.html)
  const attachment = part === 'attachments' ? found.attachments[Number(index)] : undefined
  if (attachment === undefined) return answerText(response, 404, 'text/plain', 'no such part of this mail\n')
  response.writeHead(200, {
    'content-type': attachment.type,
    'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(attachment.name)}`,
    'x-content-type-options': 'nosniff',
  })
  response.end(attachment.content)
}

function answerPage(response: ServerResponse, html: string): void {
  response.setHeader('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'")
  response.setHeader('vary', 'accept')
  answerText(response, 200, 'text/html', html)
}

/** The mail's HTML may show itself and inline pictures. Other resources and scripts are blocked. */
function answerMailHtml(response: ServerResponse, html: string): void {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
  const sandbox = 'sandbox allow-popups allow-popups-to-escape-sandbox'
  response.setHeader('content-security-policy', `${policy}; ${sandbox}`)
  answerText(response, 200, 'text/html', `<base target="_blank">${html}`)
}
