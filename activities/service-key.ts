/** The key that activities ask the service with: it may be rotated while they run. */
import { textIn } from '../client/problem.ts'
import { isKeyRefusal } from './failures.ts'

export interface ServiceKey {
  /** The key to ask with now. */
  readonly current: () => string
  /**
   * Hears that the service has refused a key, and why.
   *
   * @returns the key to ask with instead; undefined where there is no other
   */
  readonly refused: (key: string, why: string) => Promise<string | undefined>
  /** Hears that the service has taken a key. */
  readonly taken: (key: string) => void
}

/** A key that stays as it is. */
export const fixedKey = (key: string): ServiceKey => ({
  current: () => key,
  refused: async () => undefined,
  taken: () => {},
})

/** Why an answer refuses the key; undefined where it does not. The answer can still be read. */
async function refusalIn(response: Response): Promise<string | undefined> {
  if (response.ok || response.status < 401 || response.status > 403) return undefined
  const problem: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  if (!isKeyRefusal(response.status, textIn(problem, 'code'))) return undefined
  return textIn(problem, 'detail') || `status ${response.status}`
}

/**
 * Sends a request with the key of now, and again where the service refuses it and there is another by now: what was
 * refused has done nothing.
 */
export async function sendWithKey(key: ServiceKey, request: Request, signal: AbortSignal): Promise<Response> {
  for (let tried = key.current(); ; ) {
    const sent = request.clone()
    sent.headers.set('authorization', `Bearer ${tried}`)
    const response = await fetch(sent, { signal })
    const why = await refusalIn(response)
    if (why === undefined) {
      if (response.ok) key.taken(tried)
      return response
    }
    const next = await key.refused(tried, why)
    if (next === undefined) return response
    tried = next
  }
}
