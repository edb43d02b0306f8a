/** Starts the listeners, and stops them. */
import type { FastifyBaseLogger } from 'fastify'
import type { Dependency } from '../process/health.ts'
import { createMetrics, type Metrics } from '../process/metrics.ts'
import type { App, AppOptions } from './http/app.ts'
import type { AnonymousLimit, RequestLimit } from './http/rate-limit.ts'
import type { RefusalLimit } from './keys/auth.ts'
import { type Callers, openCallers } from './keys/callers.ts'
import { askEachTime, rememberKeys } from './keys/key-cache.ts'
import { type Sessions, sessionsOf } from './keys/sessions.ts'
import type { InternalOptions } from './options.ts'
import { buildInternal, buildPublic } from './server.ts'

/** A listener next to the two, with the same limits. */
export interface ConsoleConfig {
  readonly host: string
  readonly port: number
  readonly build: (
    options: AppOptions &
      RefusalLimit &
      AnonymousLimit & {
        readonly outside: App
        readonly inside: App
        readonly callers: Callers
        readonly sessions: Sessions
      },
  ) => Promise<App>
}

export interface ApiConfig
  extends Omit<InternalOptions, 'keys' | 'callers'>,
    RefusalLimit,
    AnonymousLimit,
    Pick<AppOptions, 'trustedProxies'> {
  /** For a connection that hears of changed keys; left out: keys are read for each request. */
  readonly databaseUrl?: string
  /** Called for each time that this connection is lost. */
  readonly onLost?: (error: Error) => void
  readonly host: string
  readonly port: number
  readonly internalHost: string
  readonly internalPort: number
  /** Left out: no console. */
  readonly console?: ConsoleConfig
  readonly requestLimit?: RequestLimit
  /** The dependencies that `/readyz` checks. */
  readonly dependencies: readonly Dependency[]
  /** Resolves when load balancers have seen that this process ends: until then it serves. Left out: there are none. */
  readonly untilUnused?: () => Promise<void>
  readonly logger?: FastifyBaseLogger
  readonly metrics?: Metrics
}

export interface RunningApi {
  /** Without a trailing slash. */
  readonly apiUrl: string
  readonly internalUrl: string
  /** Null without a console. */
  readonly consoleUrl: string | null
  /** Fails `/readyz`; after `untilUnused` takes no more requests, responds to the open ones, and resolves. */
  readonly close: () => Promise<void>
}

/** Listens on all ports; port 0 takes a free one. @throws Error if a port is not available; then on none */
export async function startApi(config: ApiConfig): Promise<RunningApi> {
  const metrics = config.metrics ?? createMetrics()
  const ending = new AbortController()
  const common = { ...config, metrics, ending: ending.signal }
  const { databaseUrl, onLost } = config
  const keys =
    databaseUrl === undefined
      ? undefined
      : rememberKeys(config.store, { databaseUrl, ...(onLost && { onError: onLost }) })
  const dependencies = [stillRuns(ending.signal), ...config.dependencies]
  const callers = openCallers()
  const routes = { ...config, dependencies, ...(keys && { keys }), ...(config.console && { callers }) }
  const outside = await buildPublic(routes, common)
  const inside = await buildInternal(routes, common)
  const sessions = sessionsOf(config.store, keys ?? askEachTime(config.store))
  const pages = await config.console?.build({ ...common, outside, inside, callers, sessions })
  const closeAll = async () => {
    // Its requests go on to the two.
    await pages?.close()
    await Promise.all([outside.close(), inside.close()])
    await keys?.close()
  }
  const close = async () => {
    ending.abort()
    await config.untilUnused?.()
    await closeAll()
  }
  try {
    const apiUrl = await outside.listen({ host: config.host, port: config.port })
    const internalUrl = await inside.listen({ host: config.internalHost, port: config.internalPort })
    const consoleUrl = config.console === undefined ? null : await pages?.listen(hostAndPort(config.console))
    return { apiUrl, internalUrl, consoleUrl: consoleUrl ?? null, close }
  } catch (error) {
    await closeAll()
    throw error
  }
}

const hostAndPort = ({ host, port }: ConsoleConfig) => ({ host, port })

const stillRuns = (ending: AbortSignal): Dependency => ({
  name: 'process',
  isRequired: true,
  check: async () => {
    if (ending.aborted) throw new Error('ends: send requests elsewhere')
    return 'runs'
  },
})
