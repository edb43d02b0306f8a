/**
 * The service's internal interface, as commands call it: by a client whose types are those of its OpenAPI document,
 * patient with a service that is restarted.
 */

import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import * as client from '../client/client.ts'
import { faultsOf, textIn } from '../client/problem.ts'
import { backoffMs } from '../domain/time/backoff.ts'
import { CommandFailure, ExitCode, wordsOf } from './failures.ts'

/** The service answered, but not with what was asked for. */
export class ProblemResponse extends Error {
  readonly status: number
  readonly code: string
  /** The fields that are wrong, a line each. */
  readonly faults: readonly string[]
  constructor(status: number, code: string, message: string, faults: readonly string[] = []) {
    super(message)
    this.name = 'ProblemResponse'
    this.status = status
    this.code = code
    this.faults = faults
  }
}

/** A minute: a killed API is back within seconds, and its database within some more. */
const PATIENCE_MS = 60_000
const PAUSES = { firstMs: 200, longestMs: 5000 }
const REQUEST_TIMEOUT_MS = 30_000
const AGAIN: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

export interface ServiceOptions {
  /** One listener. */
  readonly url: string
  readonly key: string
  readonly tenantId?: string
  /** How long a service that is away is waited for, in milliseconds. Default: a minute. */
  readonly patienceMs?: number
  /** How long an answer may take, in milliseconds. Default: half a minute. */
  readonly timeoutMs?: number
  /** Answers are read while they come. Left out: whole before they are taken, so that one that breaks off is asked for again. */
  readonly streams?: boolean
}

/** The public listener. */
export const publicClient = (options: ServiceOptions): client.PublicClient => client.publicClient(patient(options))

/** The internal listener. */
export const internalClient = (options: ServiceOptions): client.InternalClient =>
  client.internalClient(patient(options))

const patient = ({
  url,
  key,
  tenantId,
  patienceMs = PATIENCE_MS,
  timeoutMs = REQUEST_TIMEOUT_MS,
  streams = false,
}: ServiceOptions) => ({
  baseUrl: url,
  headers: { authorization: `Bearer ${key}`, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) },
  fetch: (request: Request) => fetchPatiently(request, { patienceMs, timeoutMs, streams }),
})

/** Options of a request whose body is bytes as they are, not JSON. */
export const delivered = (bytes: Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>>) => ({
  bodySerializer: () => bytes,
  headers,
})

/** As a person writes it: ids of workflows have colons. */
const nameOf = ({ method, url }: Request) => `${method} ${new URL(url).pathname.replaceAll('%3A', ':')}`

/** Asks again while that may help. @throws CommandFailure where it has not helped for long enough */
async function fetchPatiently(
  request: Request,
  options: { readonly patienceMs: number; readonly timeoutMs: number; readonly streams: boolean },
): Promise<Response> {
  const deadline = performance.now() + options.patienceMs
  for (let failures = 1; ; failures++) {
    const answer = await attempt(request.clone(), options)
    if (answer.response !== undefined && !(await mayHelp(answer.response))) return answer.response
    request.signal.throwIfAborted()
    if (performance.now() > deadline) {
      const why =
        answer.response === undefined
          ? wordsOf(answer.fault)
          : detailOf(answer.response.status, await bodyIn(answer.response))
      const { origin } = new URL(request.url)
      throw new CommandFailure(`${origin} does not answer ${nameOf(request)}: ${why}`, ExitCode.unreachable)
    }
    await sleep(backoffMs(failures, PAUSES), undefined, { signal: request.signal })
  }
}

async function attempt(
  request: Request,
  { timeoutMs, streams }: { readonly timeoutMs: number; readonly streams: boolean },
): Promise<{ response?: Response; fault?: unknown }> {
  try {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)])
    const answer = await fetch(request, { signal })
    const response = streams ? answer : await whole(answer)
    asked.set(response, nameOf(request))
    return { response }
  } catch (fault) {
    return { fault }
  }
}

async function whole(answer: Response): Promise<Response> {
  const body = await answer.arrayBuffer()
  return new Response(body.byteLength === 0 ? null : body, answer)
}

const mayHelp = async (response: Response): Promise<boolean> =>
  AGAIN.has(response.status) ||
  (response.status === 409 && codeOf(await bodyIn(response)) === 'idempotency_in_progress')

/** What each answer is an answer to. */
const asked = new WeakMap<Response, string>()

async function bodyIn(response: Response): Promise<unknown> {
  const text = await response.clone().text()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The body of a successful answer. @throws ProblemResponse for a problem, CommandFailure where the service stays away */
export const responseOf = <T>(request: Promise<client.FetchResult<T>>): Promise<T> =>
  client.bodyOf(request, (response, error) => {
    const message = `${asked.get(response) ?? response.url}: ${detailOf(response.status, error)}`
    return new ProblemResponse(response.status, codeOf(error), message, faultsOf(error))
  })

/** The bytes of an answer, while they come. As {@link responseOf} otherwise. */
export async function streamOf(request: Promise<client.FetchResult<ReadableStream | null>>): Promise<Readable> {
  const stream = await responseOf(request)
  return stream === null ? Readable.from([]) : Readable.fromWeb(stream)
}

/** By the status of an answer. */
const EXIT_CODES: Readonly<Record<number, ExitCode>> = {
  400: ExitCode.usage,
  404: ExitCode.notFound,
  409: ExitCode.conflict,
}

/**
 * Ends a command by what the service answered, each wrong field on a line.
 *
 * @throws CommandFailure; what is no answer of the service as it is
 */
export function refused(error: unknown): never {
  if (!(error instanceof ProblemResponse)) throw error
  const { message, status } = error
  // One that is wrong alone is in the message already, with its field before it or after.
  const faults = error.faults.filter((fault) => !message.includes(fault.slice(fault.indexOf(': ') + 2)))
  const exitCode = EXIT_CODES[status] ?? ExitCode.failure
  throw new CommandFailure([message, ...faults].join('\n  '), exitCode, { cause: error })
}

/** The code of a problem; empty where it is none. */
const codeOf = (body: unknown): string => textIn(body, 'code')
/** What a failed answer says. */
const detailOf = (status: number, body: unknown): string => {
  const code = codeOf(body)
  return code === '' ? `status ${status}` : `${textIn(body, 'detail') || code} (${status} ${code})`
}
