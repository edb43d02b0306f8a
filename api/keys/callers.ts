/**
 * Callers within this process: the console asks the listeners in the name of a session's key, without its secret. The
 * caller is the async context of the call. A request from the wire begins without one, whatever it sends.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface LocalCaller {
  /** The key that it acts by. */
  readonly keyId: string
  /** Public id of the session of the console that asks. Omitted: none does. */
  readonly sessionId?: string | undefined
  /** Whether it shows activation codes of eSIMs to a person. Default: no, so the answer has none. */
  readonly showsCodes?: boolean | undefined
}
export type Callers = AsyncLocalStorage<LocalCaller>

export const openCallers = (): Callers => new AsyncLocalStorage()
