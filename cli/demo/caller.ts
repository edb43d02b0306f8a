/**
 * The service's HTTP interfaces, as the demonstration calls them: like a customer who has only read the interface's
 * document; patient with a service that is restarted, strict with answers.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { codeOf, detailOf, faultsOf, ServiceAnswer } from '../service.ts'

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
