/** Starts both listeners, and stops them. */
import type { FastifyBaseLogger } from 'fastify'
import type { Dependency } from '../process/health.ts'
import { createMetrics, type Metrics } from '../process/metrics.ts'
import type { RefusalLimit } from './http/auth.ts'
import { rememberKeys } from './http/key-cache.ts'
import type { RequestLimit } from './http/rate-limit.ts'
import type { InternalOptions } from './options.ts'
import { buildInternal, buildPublic } from './server.ts'

export interface ApiConfig extends Omit<InternalOptions, 'keys'>, RefusalLimit {
  /** For a connection that hears of changed keys; left out: keys are read for each request. */
  readonly databaseUrl?: string
  /** Called for each time that this connection is lost. */
  readonly onLost?: (error: Error) => void
  readonly host: string
  readonly port: number
  readonly internalHost: string
  readonly internalPort: number
  readonly requestLimit?: RequestLimit
  /** The dependencies that `/readyz` checks. */
  readonly dependencies: readonly Dependency[]
  readonly logger?: FastifyBaseLogger
  readonly metrics?: Metrics
}

export interface RunningApi {
  /** Without a trailing slash. */
  readonly apiUrl: string
  readonly internalUrl: string
  /** Takes no more connections, responds to the open requests, then resolves. */
  readonly close: () => Promise<void>
}

/**
 * Listens on both ports; port 0 takes a free one.
 *
 * @throws Error if a port is not available; nothing is left listening
 */
export async function startApi(config: ApiConfig): Promise<RunningApi> {
  const metrics = config.metrics ?? createMetrics()
  const common = { metrics, ...(config.logger === undefined ? {} : { logger: config.logger }) }
  const { databaseUrl, onLost } = config
  const keys =
    databaseUrl === undefined
      ? undefined
      : rememberKeys(config.store, { databaseUrl, ...(onLost === undefined ? {} : { onError: onLost }) })
  const routes = { ...config, ...(keys === undefined ? {} : { keys }) }
  const outside = await buildPublic(routes, common)
  const inside = await buildInternal(routes, common)
  const close = async () => {
    await Promise.all([outside.close(), inside.close()])
    await keys?.close()
  }
  try {
    const apiUrl = await outside.listen({ host: config.host, port: config.port })
    const internalUrl = await inside.listen({ host: config.internalHost, port: config.internalPort })
    return { apiUrl, internalUrl, close }
  } catch (error) {
    await close()
    throw error
  }
}
