/**
 * Callers within this process: the console asks the listeners in the name of a session's key, without its secret. The
 * caller is the async context of the call. A request from the wire begins without one, whatever it sends.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** The key that a caller acts by, and the session of the console that asks; undefined: none does. */
interface LocalCaller {
  readonly keyId: string
  readonly sessionId?: string | undefined
}
export type Callers = AsyncLocalStorage<LocalCaller>

export const openCallers = (): Callers => new AsyncLocalStorage()
