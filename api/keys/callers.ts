/**
 * Callers within this process: the console asks the listeners in the name of a session's key, without its secret. The
 * caller is the async context of the call. A request from the wire begins without one, whatever it sends.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export type Callers = AsyncLocalStorage<{ readonly keyId: string }>

export const openCallers = (): Callers => new AsyncLocalStorage()
