/**
 * The simulated carrier: a server of its own with its own memory. It can be slow, fail, or act without its response
 * arriving.
 *
 *   POST /operations          {ticketId, operation, iccid, tariff?, pool?, message?} → 200 {ticketId, effect}
 *                             409 {code, detail} impossible for the line · 503 simulated failure, may be repeated
 *   GET  /operations?iccid=   effects in their order
 *   GET  /stats               counts of calls and their outcomes
 *   GET  /knobs, PUT /knobs   how it behaves; PUT changes the knobs that are given
 *   GET  /healthz             without the secret
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Value } from 'typebox/value'
import { answerJson, readBody, serve } from '../http.ts'
import { type CarrierBook, OperationBody, openBook } from './carrier-book.ts'
import { drawMishaps, type Knobs, turnKnobs } from './knobs.ts'

export interface CarrierOptions {
  /** The journal; made if it is missing. */
  readonly file: string
  /** Expected as `Authorization: Bearer <secret>`. */
  readonly secret: string
  /** Default: any free port. */
  readonly port?: number
  readonly knobs?: Partial<Knobs>
}

export interface Carrier {
  readonly url: string
  readonly stop: () => Promise<void>
}

/**
 * Starts the simulated carrier. With an existing file it remembers what it did.
 *
 * @throws Error with the fix: port in use, a knob out of range, a file that is not a journal of its own
 */
export async function startCarrier(options: CarrierOptions): Promise<Carrier> {
  let knobs = turnKnobs(options.knobs ?? {})
  /** Operations refused because of the secret, since the start. */
  let refusals = 0
  const book = await openBook(options.file)
  const attempts = new Map<string, number>()

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://carrier')
    const route = `${request.method} ${pathname}`
    if (route === 'GET /healthz') return answerJson(response, 200, { ok: true })
    if (request.headers.authorization !== `Bearer ${options.secret}`) {
      return answerJson(response, 401, { code: 'unauthorized', detail: 'send Authorization: Bearer <the secret>' })
    }
    switch (route) {
      case 'POST /operations':
        if (!knobs.refusesSecret) return operate(request, response, { book, attempts, knobs })
        refusals += 1
        return answerJson(response, 401, { code: 'unauthorized', detail: 'simulated: the secret has expired' })
      case 'GET /operations':
        return answerJson(response, 200, book.effectsOf(searchParams.get('iccid') ?? undefined))
      case 'GET /stats':
        return answerJson(response, 200, { ...book.stats(), unauthorized: refusals })
      case 'PUT /knobs':
        knobs = turnKnobs(await readBody(request), knobs)
        return answerJson(response, 200, knobs)
      case 'GET /knobs':
        return answerJson(response, 200, knobs)
      default:
        return answerJson(response, 404, { code: 'not_found', detail: `there is no ${route}` })
    }
  }

  const server = await serve(options.port ?? 0, 'the simulated carrier', (request, response) => {
    handle(request, response).catch((error: unknown) => fail(response, error))
  }).catch(async (error: unknown) => {
    await book.close()
    throw error
  })
  return { url: server.url, stop: () => stopAll(server, book) }
}

interface OperateOptions {
  readonly book: CarrierBook
  /** Attempts of each ticket so far. */
  readonly attempts: Map<string, number>
  readonly knobs: Knobs
}

async function operate(request: IncomingMessage, response: ServerResponse, { book, attempts, knobs }: OperateOptions) {
  const body = await readBody(request)
  if (!Value.Check(OperationBody, body)) {
    const faults = [...Value.Errors(OperationBody, body)].map(
      ({ instancePath, message }) => `${instancePath} ${message}`,
    )
    return answerJson(response, 400, { code: 'invalid_request', detail: faults.join('; ') })
  }
  const attempt = (attempts.get(body.ticketId) ?? 0) + 1
  attempts.set(body.ticketId, attempt)
  const mishaps = drawMishaps(knobs, body.ticketId, attempt)
  if (mishaps.latencyMs > 0) await sleep(mishaps.latencyMs)
  if (mishaps.fails) {
    await book.noteFailure(body)
    return answerJson(response, 503, { code: 'unavailable', detail: 'simulated failure: try again' })
  }
  const answer = await book.perform(body)
  if ('code' in answer) return answerJson(response, 409, answer)
  const { repeated, ...result } = answer
  // Only the first response gets lost: a repeated request gets its response.
  if (!repeated && mishaps.lost === 'dropped') return request.socket.destroy()
  if (!repeated && mishaps.lost === 'late') await sleep(knobs.lateMs, undefined, { ref: false })
  answerJson(response, 200, result)
}

async function stopAll(server: { readonly stop: () => Promise<void> }, book: CarrierBook): Promise<void> {
  await server.stop()
  await book.close()
}

/** An error with a code is the system's, such as a full disk: 503. Any other error is the request's: 400. */
function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) return
  const detail = error instanceof Error ? error.message : String(error)
  if (error instanceof Error && 'code' in error) answerJson(response, 503, { code: 'unavailable', detail })
  else answerJson(response, 400, { code: 'invalid_request', detail })
}
