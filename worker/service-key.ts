/** The workers' own key to the service: from a file, which may change while they run, or from a setting. */
import { type ServiceKey, sendWithKey } from '../activities/service-key.ts'
import { type KeySettings, readServiceKey } from '../process/key-file.ts'

export interface WorkersKey extends ServiceKey {
  /** Why the service refuses the key that there is now; undefined where it does not. */
  readonly refusal: () => string | undefined
}

/**
 * The key as the settings have it. Refused, the file is read again: who rotates the key writes the new one there.
 *
 * @param onChange hears when the service begins to refuse the key, and null when it takes it again
 * @throws Error where there is no key to begin with
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
      // Where it cannot be read now, what there was stands.
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

/** Well within the time of a check of `/readyz`. */
const PATIENCE_MS = 2000

/**
 * Whether the service takes the key, asked now. A service that is away has refused nothing.
 *
 * @throws Error where it is refused
 */
export async function keyIsTaken(key: WorkersKey, internalUrl: string): Promise<string> {
  const request = new Request(`${internalUrl}/internal/rules`)
  const answer = await sendWithKey(key, request, AbortSignal.timeout(PATIENCE_MS)).catch(() => undefined)
  await answer?.body?.cancel()
  const refusal = key.refusal()
  if (refusal !== undefined) {
    throw new Error(`the service refuses the workers' key: ${refusal} Put one that works into SERVICE_KEY_FILE.`)
  }
  return answer?.ok ? 'the service takes it' : 'not known: the service does not answer'
}
