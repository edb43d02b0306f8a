/** The service's HTTP interfaces, as commands call them: patient with a service that is restarted, strict with answers. */
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { CommandFailure, ExitCode, wordsOf } from './failures.ts'

export interface CallOptions {
  /** Makes a POST safe to repeat. */
  readonly once?: string
  readonly signal?: AbortSignal
}

/** One listener, with one key and for one tenant. */
export interface Caller {
  /** @throws ServiceAnswer for a problem, CommandFailure where the service stays away */
  readonly get: <T extends TSchema>(path: string, answer: T, options?: CallOptions) => Promise<Static<T>>
  /** @param body JSON, or bytes with their own headers */
  readonly post: <T extends TSchema>(
    path: string,
    body: object | Delivery | undefined,
    answer: T,
    options?: CallOptions,
  ) => Promise<Static<T>>
}

/** A body that is not JSON. */
export interface Delivery {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

/** The service answered, but not with what was asked for. */
export class ServiceAnswer extends Error {
  readonly status: number
  readonly code: string
  /** The fields that are wrong, a line each. */
  readonly faults: readonly string[]
  constructor(status: number, code: string, message: string, faults: readonly string[] = []) {
    super(message)
    this.name = 'ServiceAnswer'
    this.status = status
    this.code = code
    this.faults = faults
  }
}

/** A minute: a killed API is back within seconds, and its database within some more. */
const PATIENCE_MS = 60_000
const PAUSE_FIRST_MS = 200
const PAUSE_LONGEST_MS = 5000
const REQUEST_TIMEOUT_MS = 30_000
const AGAIN: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

export interface CallerOptions {
  readonly url: string
  readonly key: string
  readonly tenantId?: string
  /** How long a service that is away is waited for, in milliseconds. Default: a minute. */
  readonly patienceMs?: number
  /** How long an answer may take, in milliseconds. Default: half a minute. */
  readonly timeoutMs?: number
}

/** The exit code that says what a service's answer said. */
export const exitCodeOf = ({ status }: ServiceAnswer): ExitCode =>
  status === 404 ? ExitCode.notFound : status === 409 ? ExitCode.conflict : ExitCode.failure

/**
 * An answer that is taken while it comes; asked for once.
 *
 * @throws ServiceAnswer for a problem, CommandFailure where the service is away
 */
export async function download({ url, key, tenantId }: CallerOptions, path: string): Promise<Readable> {
  const headers = { authorization: `Bearer ${key}`, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) }
  const response = await fetch(url + path, { headers }).catch((error: unknown) => {
    throw new CommandFailure(`${url} does not answer GET ${path}: ${wordsOf(error)}`, ExitCode.unreachable)
  })
  if (response.ok && response.body !== null) return Readable.from(response.body)
  const body = parsed(await response.text())
  const message = `GET ${path}: ${detailOf(response.status, body)}`
  throw new ServiceAnswer(response.status, codeOf(body), message, faultsOf(body))
}

export function caller({
  url,
  key,
  tenantId,
  patienceMs = PATIENCE_MS,
  timeoutMs = REQUEST_TIMEOUT_MS,
}: CallerOptions): Caller {
  const call = async (method: 'GET' | 'POST', path: string, body: object | undefined, options: CallOptions) => {
    const deadline = performance.now() + patienceMs
    for (let pauseMs = PAUSE_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_LONGEST_MS)) {
      const answer = await attempt(method, path, body, options)
      if (answer.response?.ok === true) return answer.body
      options.signal?.throwIfAborted()
      const { status = 0 } = answer.response ?? {}
      const mayRepeat =
        answer.response === undefined || AGAIN.has(status) || codeOf(answer.body) === 'idempotency_in_progress'
      if (!mayRepeat)
        throw new ServiceAnswer(
          status,
          codeOf(answer.body),
          `${method} ${path}: ${detailOf(status, answer.body)}`,
          faultsOf(answer.body),
        )
      if (performance.now() > deadline) {
        const why = answer.response === undefined ? wordsOf(answer.fault) : detailOf(status, answer.body)
        throw new CommandFailure(`${url} does not answer ${method} ${path}: ${why}`, ExitCode.unreachable)
      }
      await sleep(pauseMs, undefined, options.signal === undefined ? {} : { signal: options.signal })
    }
  }

  const attempt = async (method: string, path: string, body: object | undefined, { once, signal }: CallOptions) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const delivery = isDelivery(body) ? body : undefined
    try {
      const response = await fetch(url + path, {
        method,
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
        headers: {
          authorization: `Bearer ${key}`,
          ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }),
          ...(once === undefined ? {} : { 'idempotency-key': once }),
          ...(body === undefined ? {} : (delivery?.headers ?? { 'content-type': 'application/json' })),
        },
        ...(body === undefined ? {} : { body: delivery?.bytes ?? JSON.stringify(body) }),
      })
      const text = await response.text()
      return { response, body: parsed(text) }
    } catch (fault) {
      return { fault }
    }
  }

  const checked = <T extends TSchema>(path: string, schema: T, body: unknown): Static<T> => {
    if (Value.Check(schema, body)) return body
    const [error] = Value.Errors(schema, body)
    throw new Error(
      `${url}${path} answered something else than expected: ${error?.instancePath ?? ''} ${error?.message ?? ''}`,
    )
  }

  return {
    get: async (path, schema, options = {}) => checked(path, schema, await call('GET', path, undefined, options)),
    post: async (path, body, schema, options = {}) => checked(path, schema, await call('POST', path, body, options)),
  }
}

const isDelivery = (body: object | undefined): body is Delivery =>
  body !== undefined && 'bytes' in body && 'headers' in body

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function textIn(body: unknown, name: 'code' | 'detail'): string {
  if (typeof body !== 'object' || body === null) return ''
  const value: unknown = Object.entries(body).find(([key]) => key === name)?.[1]
  return typeof value === 'string' ? value : ''
}
const Faults = Type.Object({
  errors: Type.Array(
    Type.Object({
      pointer: Type.Optional(Type.String()),
      parameter: Type.Optional(Type.String()),
      detail: Type.String(),
    }),
  ),
})
const faultsOf = (body: unknown): string[] =>
  Value.Check(Faults, body)
    ? body.errors.map(({ pointer, parameter, detail }) => `${pointer ?? parameter ?? ''}: ${detail}`)
    : []

const codeOf = (body: unknown): string => textIn(body, 'code')
const detailOf = (status: number, body: unknown): string => {
  const code = codeOf(body)
  return code === '' ? `status ${status}` : `${textIn(body, 'detail') || code} (${status} ${code})`
}
