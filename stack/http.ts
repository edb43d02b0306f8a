/** Shared by the small servers of this folder: listening on loopback, reading a body, sending a response. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { decode } from '../domain/files/utf8.ts'
import { readJson } from '../domain/json.ts'
import { LOOPBACK, requireFreePort } from './free-port.ts'

/** 1 MB: these servers take only a few lines. */
const BODY_LIMIT_BYTES = 1_000_000
/** As in the API: longer than a client keeps an idle connection, so that none is closed during a request. */
const KEEP_ALIVE_MS = 72_000

/**
 * Serves on loopback.
 *
 * @param port 0 takes any free port
 * @throws Error with the fix if the port is taken
 */
export async function serve(
  port: number,
  what: string,
  listener: RequestListener,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  await requireFreePort(port, what)
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, listener)
  await new Promise<void>((done, fail) => {
    server.once('error', fail)
    server.listen(port, LOOPBACK, done)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error(`${what} has no port`)
  const stop = () =>
    new Promise<void>((done) => {
      server.close(() => done())
      server.closeAllConnections()
    })
  return { url: `http://${LOOPBACK}:${address.port}`, stop }
}

/** Reads a JSON body. @throws Error if it is too long, not UTF-8, or not JSON */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue
    size += chunk.length
    if (size > BODY_LIMIT_BYTES) throw new Error(`the body is longer than ${BODY_LIMIT_BYTES} bytes`)
    chunks.push(chunk)
  }
  const decoded = decode(Buffer.concat(chunks))
  if ('fault' in decoded) throw new Error(`the body ${decoded.fault}`)
  const read = readJson(decoded.text)
  if ('fault' in read) throw new Error(`${read.fault.pointer || 'the body'} ${read.fault.detail}`)
  return read.value
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

export function answerText(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8` }).end(body)
}
