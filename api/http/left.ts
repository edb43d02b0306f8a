/** Ends the work for a request after its sender has left: its answer is not read. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import type { Store } from '../../store/tenancy.ts'

const signals = new WeakMap<FastifyRequest, AbortSignal>()

/** Watches the connections of the requests of a scope. */
export function watchConnections(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, { raw }) => {
    const left = new AbortController()
    signals.set(request, left.signal)
    // Not the request's own `close`: it comes as soon as the body has been read.
    raw.once('close', () => {
      if (raw.writableFinished) return
      left.abort(new ServiceError('invalid_request', 'The connection was closed before the answer.'))
    })
  })
}

/** Aborted when the sender leaves before the answer. Undefined in an unwatched scope. */
export const leavingOf = (request: FastifyRequest): AbortSignal | undefined => signals.get(request)

/** The same store, whose transactions end when the sender leaves. */
export function whileThere(store: Store, request: FastifyRequest): Store {
  const left = leavingOf(request)
  return left === undefined ? store : { ...store, left }
}
