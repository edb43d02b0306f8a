/** Serves the model of the service over HTTP. Checks requests and responses against the OpenAPI documents. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ERRORS, type ErrorCode, ServiceError } from '../../../domain/errors.ts'
import { problemOf, standInCheck } from '../../setup/documents.ts'

/** A response with status 202. */
export class Accepted {
  readonly body: object
  constructor(body: object) {
    this.body = body
  }
}

/** The workflow that sends a request, and its step's idempotency key. */
export interface Requester {
  readonly workflowId: string | undefined
  readonly key: string | undefined
}

/** Handlers of requests, by method and path. A `*` stands for a segment of the path, and the handler gets them all. */
export type Routes = Readonly<
  Record<string, (at: readonly [string, string], body: any, query: URLSearchParams, by: Requester) => unknown>
>

/**
 * @param respond returns the body of a response with status 200, or an {@link Accepted}. A ServiceError becomes a
 *   problem, as in the service
 */
export async function serveModel(respond: (request: IncomingMessage, text: string) => Promise<unknown>) {
  const faults = new Set<string>()
  const check = standInCheck()

  const responseTo = async (request: IncomingMessage, text: string) => {
    try {
      const body = await respond(request, text)
      return body instanceof Accepted ? { status: 202, body: body.body } : { status: 200, body }
    } catch (error) {
      const code: ErrorCode = error instanceof ServiceError ? error.code : 'internal_error'
      const detail = error instanceof Error ? error.message : String(error)
      return { status: ERRORS[code].status, body: problemOf(code, detail, request.url?.split('?')[0] ?? '') }
    }
  }
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const text = (await request.toArray()).join('')
    const { status, body } = await responseTo(request, text)
    response.setHeader('content-type', status < 400 ? 'application/json' : 'application/problem+json')
    response.setHeader('x-request-id', randomUUID())
    if (status === 401) response.setHeader('www-authenticate', 'Bearer realm="simherd"')
    if (status === 200 && method === 'GET') response.setHeader('etag', '"1.0123456789abcdef"')
    const sent = JSON.stringify(body)
    const received = { headers, body: text === '' ? '' : JSON.parse(text) }
    const returned = { status, headers: response.getHeaders(), body: JSON.parse(sent) }
    const fault = check({ method, url, ...returned, request: received })
    if (fault !== undefined) faults.add(fault)
    response.writeHead(status).end(sent)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** @throws Error if a request or a response differed from the documents */
    close: async () => {
      await new Promise<void>((done) => server.close(() => done()))
      if (faults.size > 0) throw new Error(`not as the OpenAPI documents say:\n${[...faults].join('\n')}`)
    },
  }
}
