/**
 * The service's HTTP interfaces, as commands use them. The clients have the types of the OpenAPI documents, and wait
 * for a service that restarts.
 */

import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Addresses, openAddresses } from '../adapters/rest/addresses.ts'
import * as client from '../adapters/rest/client.ts'
import { backoffMs } from '../domain/time/backoff.ts'
import { CommandFailure, ExitCode, wordsOf } from './failures.ts'

/** The service responded, but with a problem. */
export class ProblemResponse extends Error {
  readonly status: number
  readonly code: string
  /** The wrong fields, one line each. */
  readonly faults: readonly string[]
  constructor(status: number, code: string, message: string, faults: readonly string[] = []) {
    super(message)
    this.name = 'ProblemResponse'
    this.status = status
    this.code = code
    this.faults = faults
  }
}

/** One minute: a killed API is back within seconds, and its database a little later. */
const PATIENCE_MS = 60_000
const PAUSES = { firstMs: 200, longestMs: 5000 }
const REQUEST_TIMEOUT_MS = 30_000
const AGAIN: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

export interface ServiceOptions {
  /** Address of one listener, or several with commas between them. */
  readonly url: string
  readonly key: string
  readonly tenantId?: string
  /** How long to wait for an unreachable service, in milliseconds. Default: one minute. */
  readonly patienceMs?: number
  /** How long a response may take, in milliseconds. Default: half a minute. */
  readonly timeoutMs?: number
  /**
   * Streams responses as they arrive. Left out: a response is read completely first, so one that breaks off is
   * requested again.
   */
  readonly streams?: boolean
}

/** A client of the public listener. */
export const openPublicClient = (options: ServiceOptions): client.PublicClient => client.publicClient(patient(options))

/** A client of the internal listener. */
export const openInternalClient = (options: ServiceOptions): client.InternalClient =>
  client.internalClient(patient(options))

const patient = ({
  url,
  key,
  tenantId,
  patienceMs = PATIENCE_MS,
  timeoutMs = REQUEST_TIMEOUT_MS,
  streams = false,
}: ServiceOptions) => {
  const addresses = openAddresses(url)
  return {
    baseUrl: addresses.first,
    headers: { authorization: `Bearer ${key}`, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) },
    fetch: (request: Request) => fetchPatiently(request, { addresses, patienceMs, timeoutMs, streams }),
  }
}

/** Options of a request whose body is raw bytes, not JSON. */
export const delivered = (bytes: Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>>) => ({
  bodySerializer: () => bytes,
  headers,
})

/** The request as a person would write it: workflow ids have colons. */
const nameOf = ({ method, url }: Request) => `${method} ${new URL(url).pathname.replaceAll('%3A', ':')}`

interface Patience {
  readonly addresses: Addresses
  readonly patienceMs: number
  readonly timeoutMs: number
  readonly streams: boolean
}

/**
 * Sends a request, and repeats it while that may help.
 *
 * @throws CommandFailure if that has not helped before the patience ends
 */
async function fetchPatiently(request: Request, options: Patience): Promise<Response> {
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
      const { names } = options.addresses
      throw new CommandFailure(`${names} does not answer ${nameOf(request)}: ${why}`, ExitCode.unreachable)
    }
    await sleep(backoffMs(failures, PAUSES), undefined, { signal: request.signal })
  }
}

async function attempt(
  request: Request,
  { addresses, timeoutMs, streams }: Patience,
): Promise<{ response?: Response; fault?: unknown }> {
  try {
    const answer = await addresses.send(request, { timeoutMs })
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

/** The request of each response, for messages. */
const asked = new WeakMap<Response, string>()

async function bodyIn(response: Response): Promise<unknown> {
  const text = await response.clone().text()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * The body of a successful response.
 *
 * @throws ProblemResponse for a problem, CommandFailure if the service stays away
 */
export const responseOf = <T>(request: Promise<client.FetchResult<T>>): Promise<T> =>
  client.bodyOrThrow(request, (response, error) => {
    const message = `${asked.get(response) ?? response.url}: ${detailOf(response.status, error)}`
    return new ProblemResponse(response.status, codeOf(error), message, client.faultsOf(error))
  })

/** The bytes of a response, as they arrive. Otherwise like {@link responseOf}. */
export async function streamOf(request: Promise<client.FetchResult<ReadableStream | null>>): Promise<Readable> {
  const stream = await responseOf(request)
  return stream === null ? Readable.from([]) : Readable.fromWeb(stream)
}

/** Exit codes by the status of a response. */
const EXIT_CODES: Readonly<Record<number, ExitCode>> = {
  400: ExitCode.usage,
  404: ExitCode.notFound,
  409: ExitCode.conflict,
  412: ExitCode.conflict,
}

/** Words of the interface, and the options of commands that have them. */
const OPTIONS = [
  ['ignoreUnknown=true', '--ignore-unknown'],
  ['endsAt or lasts', '--until or --for'],
  ['rule, simId, poolId, tag and level', '--rule, --sim, --pool and --tag'],
] as const

/** A text of the service, with the options of commands for the interface's words. */
export const withOptions = (text: string): string =>
  OPTIONS.reduce((said, [words, option]) => said.replaceAll(words, option), text)

/**
 * Ends a command with the service's response, each wrong field on a line.
 *
 * @throws CommandFailure for a problem; any other error unchanged
 */
export function refused(error: unknown): never {
  if (!(error instanceof ProblemResponse)) throw error
  const { message, status } = error
  // A single wrong field is already in the message, with its field name before or after it.
  const faults = error.faults.filter((fault) => !message.includes(fault.slice(fault.indexOf(': ') + 2)))
  const exitCode = EXIT_CODES[status] ?? ExitCode.failure
  throw new CommandFailure(withOptions([message, ...faults].join('\n  ')), exitCode, { cause: error })
}

/** The code of a problem; empty if the body is not a problem. */
const codeOf = (body: unknown): string => client.textIn(body, 'code')
/** The text of a failed response. */
const detailOf = (status: number, body: unknown): string => {
  const code = codeOf(body)
  return code === '' ? `status ${status}` : `${client.textIn(body, 'detail') || code} (${status} ${code})`
}
