/** Answers of the listeners to a page: required ones, and optional ones with a time limit. */
import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOrThrow, type FetchResult, faultsOf, textIn } from '../adapters/rest/client.ts'
import { ERROR_CODES, ServiceError } from '../domain/errors.ts'

/** The answer that a page is about. @throws ServiceError of the same code for any other answer */
export const mustAnswer = <T>(call: Promise<FetchResult<T>>): Promise<T> =>
  bodyOrThrow(call, (_, problem) => failureOf(problem))

function failureOf(problem: unknown): ServiceError {
  const code = ERROR_CODES.find((one) => one === textIn(problem, 'code')) ?? 'internal_error'
  return new ServiceError(code, wordsOf(problem))
}

/** Wrong fields that a page names. */
const MOST_FAULTS = 5

/** The detail of a problem, and the wrong fields that it does not speak of. */
function wordsOf(problem: unknown): string {
  const detail = textIn(problem, 'detail')
  const unsaid = faultsOf(problem, detail)
  if (unsaid.length === 0) return detail
  const more = unsaid.length > MOST_FAULTS ? `; and ${unsaid.length - MOST_FAULTS} more` : ''
  return `${detail} ${unsaid.slice(0, MOST_FAULTS).join('; ')}${more}`
}

/** Why a part of a page is missing. */
export interface Missing {
  readonly missing: string
  /** Whether it is being computed, and there at a later view. Default: no. */
  readonly isComing?: true
}

/** A part of a page: its data, why it is missing, or null if the key may not see it. */
export type Part<T> = { readonly data: T } | Missing | null

/** The data of a part; undefined if it is missing, or may not be seen. */
export const dataOf = <T>(part: Part<T>): T | undefined => (part !== null && 'data' in part ? part.data : undefined)

/** A part waits no longer than this, in milliseconds, and leaves the others alone. */
const PATIENCE_MS = 2000

/** The answer to a call that a page can do without. Never throws. @param late the part, if the answer takes longer */
export async function tryAnswer<T>(
  call: Promise<FetchResult<T>>,
  patienceMs = PATIENCE_MS,
  late: Missing = { missing: `It took longer than ${patienceMs / 1000} s.` },
): Promise<Part<T>> {
  const answered = new AbortController()
  const waiting = sleep(patienceMs, undefined, { signal: answered.signal }).catch(() => undefined)
  try {
    const answer = await Promise.race([call, waiting])
    if (answer === undefined) return late
    if (answer.response.status === 403) return null
    return answer.data === undefined ? { missing: failureOf(answer.error).message } : { data: answer.data }
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error) }
  } finally {
    answered.abort()
  }
}
