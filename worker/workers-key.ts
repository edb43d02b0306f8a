/** The workers' own key to the service. It comes from a setting, or from a file that may change while they run. */
import { type ServiceKey, sendWithKey } from '../activities/service-key.ts'
import type { Addresses } from '../adapters/rest/addresses.ts'
import { type KeySettings, readServiceKey } from '../process/read-service-key.ts'

export interface WorkersKey extends ServiceKey {
  /** Why the service refuses the current key; undefined if it does not. */
  readonly refusal: () => string | undefined
}

/**
 * The key of the settings. If the service refuses it, the file is read again: a rotated key is written there.
 *
 * @param onChange called with the reason when the service begins to refuse the key, and with null when it accepts it
 * again
 * @throws Error if the key cannot be read at the start
 */
export async function workersKey(
  settings: KeySettings,
  onChange: (refusal: string | null) => void,
): Promise<WorkersKey> {
  let key = await readServiceKey(settings)
  let refusal: string | undefined
  const say = (now: string | undefined) => {
    if ((now === undefined) !== (refusal === undefined)) onChange(now ?? null)
    refusal = now
  }
  return {
    current: () => key,
    refusal: () => refusal,
    async refused(tried, why) {
      // If the file cannot be read now, the previous key stays.
      key = await readServiceKey(settings).catch(() => key)
      if (key !== tried) return key
      say(why)
      return undefined
    },
    taken: (tried) => {
      if (tried === key) say(undefined)
    },
  }
}

/** Well below the time limit for a check of `/readyz`, in milliseconds. */
const PATIENCE_MS = 2000

/** Checks whether the service accepts the key; one that is away refuses none. @throws Error if it is refused */
export async function keyIsTaken(key: WorkersKey, internal: Addresses): Promise<string> {
  const request = new Request(`${internal.first}/internal/rules`)
  const send = (moved: Request, signal: AbortSignal) => sendWithKey(key, moved, signal)
  const answer = await internal.send(request, { timeoutMs: PATIENCE_MS, send }).catch(() => undefined)
  await answer?.body?.cancel()
  const refusal = key.refusal()
  if (refusal !== undefined) {
    throw new Error(`the service refuses the workers' key: ${refusal} Put one that works into SERVICE_KEY_FILE.`)
  }
  return answer?.ok ? 'the service takes it' : 'not known: the service does not answer'
}
