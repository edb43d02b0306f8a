/** Decides what Temporal retries: by HTTP status, and by the `retryable` column of domain/errors.ts. */

import { ApplicationFailure } from '@temporalio/activity'
import { ApplicationFailureCategory } from '@temporalio/common'
import { textIn } from '../adapters/rest/client.ts'
import { ERRORS } from '../domain/errors.ts'
import { retryAfterMs } from '../domain/http.ts'

/** Statuses that may be gone at the next attempt. The remaining 4xx are final, unless their code is retryable. */
const RETRYABLE_STATUS = new Set([408, 425, 429])

const RETRYABLE_CODES: ReadonlySet<string> = new Set(
  Object.entries(ERRORS).flatMap(([code, { retryable }]) => (retryable ? [code] : [])),
)

/** Whether a request that got this HTTP status and problem code may succeed at another attempt. */
export const isRetryable = (status: number, code: string): boolean =>
  status >= 500 || RETRYABLE_STATUS.has(status) || RETRYABLE_CODES.has(code)

/** Pause after the service has refused the key. It has been rotated, or soon will be; half a minute is long enough. */
const KEY_REFUSED_RETRY_MS = 30_000

/**
 * Whether a response refuses the key and not the request. The service uses `unauthorized` and `forbidden` only for
 * keys, before it reads the request. Any other 403, such as a proxy's, is final.
 */
export const isKeyRefusal = (status: number, code: string): boolean => status === 401 || code === 'forbidden'

/** Statuses that report the state of things. Workflows expect them, so they are no warning in a worker's log. */
const ANSWERS: ReadonlySet<number> = new Set([404, 409, 422])

/** The longest respected Retry-After, in milliseconds: an hour. */
const RETRY_AFTER_MAX_MS = 3_600_000

/** The failure for an unsuccessful response. Its type is the problem's stable code, or `http_<status>` without one. */
export function failureOfResponse(response: Response, problem: unknown): ApplicationFailure {
  const code = textIn(problem, 'code') || `http_${response.status}`
  const detail = textIn(problem, 'detail') || textIn(problem, 'title') || response.statusText
  const isRefused = isKeyRefusal(response.status, code)
  const delay =
    retryAfterMs(response.headers.get('retry-after'), Date.now(), RETRY_AFTER_MAX_MS) ??
    (isRefused ? KEY_REFUSED_RETRY_MS : undefined)
  return ApplicationFailure.create({
    type: code,
    message: detail,
    nonRetryable: !isRefused && !isRetryable(response.status, code),
    ...(ANSWERS.has(response.status) ? { category: ApplicationFailureCategory.BENIGN } : {}),
    ...(delay === undefined ? {} : { nextRetryDelay: delay }),
    details: [{ status: response.status, path: new URL(response.url).pathname }],
  })
}

/** The failure for an unresponsive service. It is always retried. */
export const failureOfConnection = (url: string, error: unknown): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'unavailable',
    message: `${url} does not answer: ${error instanceof Error ? error.message : String(error)}`,
    nonRetryable: false,
    ...(error instanceof Error ? { cause: error } : {}),
  })
