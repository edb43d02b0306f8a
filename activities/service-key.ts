/** The key that activities use for requests to the service. It may be rotated while they run. */
import { textIn } from '../adapters/rest/client.ts'
import { isKeyRefusal } from './failures.ts'

export interface ServiceKey {
  /** The key to use now. */
  readonly current: () => string
  /** Called with a refused key and the reason. @returns the key to use instead; undefined if none is left */
  readonly refused: (key: string, why: string) => Promise<string | undefined>
  /** Called when the service has accepted a key. */
  readonly taken: (key: string) => void
}

/** A key without rotation. */
export const fixedKey = (key: string): ServiceKey => ({
  current: () => key,
  refused: async () => undefined,
  taken: () => {},
})

/** Why a response refuses the key; undefined if it does not. The response can still be read. */
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
 * Sends a request with the current key. If the service refuses the key and there is another by now, sends it again. A
 * refused request has done nothing, so this is safe.
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
