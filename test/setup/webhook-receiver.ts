/** An endpoint: a real HTTP or HTTPS server on loopback, which answers as the test says. */
import {
  createServer as createHttp,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttps } from 'node:https'
import { onTestFinished } from 'vitest'
import type { WebhookEvent } from '../../domain/notifications/event.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts'
import { listenAnywhere } from './listen.ts'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The address that was connected to. */
  readonly address: string | undefined
}

/** Answers a request; what it does not answer hangs. */
export type Answer = (response: ServerResponse, received: Received, n: number) => unknown

/** An answer with this status. */
export const answers =
  (status: number, body = '', headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end(body)

/** An event that tells of itself by a message. */
export const anEvent = (message = 'x'): WebhookEvent => ({ type: 'feed.stale', data: { receivedAt: null, message } })

/** A receiver until the test ends, at the latest. @param tls whether it serves https, with the certificate of the tests */
export async function startReceiver({ tls = false } = {}) {
  const received: Received[] = []
  const receiver = { answer: answers(204) }
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const one = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      address: request.socket.localAddress?.replace('::ffff:', ''),
    }
    received.push(one)
    receiver.answer(response, one, received.length)
  }
  const server = tls ? createHttps({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, listener) : createHttp(listener)
  const port = await listenAnywhere(server, '0.0.0.0')
  const stop = () =>
    new Promise<void>((done) => {
      server.close(() => done())
      server.closeAllConnections()
    })
  onTestFinished(stop)
  return Object.assign(receiver, { received, port, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, stop })
}
