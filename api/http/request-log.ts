/** One line in the log for each request, when it ends. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../domain/errors.ts'

/** Why a request was refused, in bounded words. */
interface Refusal {
  readonly code: ErrorCode
  readonly detail: string
}

const refusals = new WeakMap<FastifyRequest, Refusal>()

/** Keeps why a request was refused, for the line that ends it. */
export const noteRefusal = (request: FastifyRequest, refusal: Refusal): void => {
  refusals.set(request, refusal)
}

/** Trace id in the header `traceparent` (W3C Trace Context): `00-<trace id>-<span id>-<flags>`. */
const TRACE = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/

function traceOf(request: FastifyRequest): string | undefined {
  const given = request.headers.traceparent
  return typeof given === 'string' ? TRACE.exec(given)?.[1] : undefined
}

/**
 * Logs each request: method, route (as the document names it), status, milliseconds, and as far as they are known the tenant,
 * the id of the key, the workflow that asks, the trace, and why the request was refused. Answers to a balancer, to
 * Prometheus or to a page that keeps itself up to date are logged at `debug`: they come each second.
 *
 * Fastify's own lines have none of this, and are off.
 */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const refusal = refusals.get(request)
    const line = {
      method: request.method,
      route: request.routeOptions.url,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      tenant: request.tenantId || undefined,
      keyId: request.keyId || undefined,
      workflow: request.workflowId ?? undefined,
      trace: traceOf(request),
      ...refusal,
    }
    const { isPolled = false, isWatched = false } = request.routeOptions.config
    request.log[isPolled || (isWatched && refusal === undefined) ? 'debug' : 'info'](line, 'request')
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a monitor asks it every few seconds. */
    readonly isPolled?: boolean
    /** Whether pages ask it every few seconds. */
    readonly isWatched?: boolean
  }
}
