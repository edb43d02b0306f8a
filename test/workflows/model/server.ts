/** Serves the model of the service over HTTP; what it is asked and what it answers is held against the OpenAPI documents. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ERRORS, type ErrorCode, ServiceError } from '../../../domain/errors.ts'
import { problemOf, standInCheck } from '../../setup/documents.ts'

/** An answer that is not 200. */
export class Accepted {
  readonly body: object
  constructor(body: object) {
    this.body = body
  }
}

interface Answering {
  /** The body of an answer of 200, or an {@link Accepted}; a ServiceError is answered as the service does. */
  readonly answer: (request: IncomingMessage, text: string) => Promise<unknown>
  /** What an answer of 503 says, in seconds. */
  readonly retryAfter: () => number | null
}

export async function serveModel({ answer, retryAfter }: Answering) {
  const faults = new Set<string>()
  const check = standInCheck()

  const answered = async (request: IncomingMessage, text: string) => {
    try {
      const body = await answer(request, text)
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
    const { status, body } = await answered(request, text)
    response.setHeader('content-type', status < 400 ? 'application/json' : 'application/problem+json')
    response.setHeader('x-request-id', randomUUID())
    if (status === 401) response.setHeader('www-authenticate', 'Bearer realm="simherd"')
    if (status === 503 && retryAfter() !== null) response.setHeader('retry-after', retryAfter() ?? '')
    if (status === 200 && method === 'GET') response.setHeader('etag', '"1.0123456789abcdef"')
    const sent = JSON.stringify(body)
    const asked = { headers, body: text === '' ? '' : JSON.parse(text) }
    const told = { status, headers: response.getHeaders(), body: JSON.parse(sent) }
    const fault = check({ method, url, ...told, request: asked })
    if (fault !== undefined) faults.add(fault)
    response.writeHead(status).end(sent)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** @throws Error where something was not as the documents say */
    close: async () => {
      await new Promise<void>((done) => server.close(() => done()))
      if (faults.size > 0) throw new Error(`not as the OpenAPI documents say:\n${[...faults].join('\n')}`)
    },
  }
}
