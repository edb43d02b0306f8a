/** The console: pages for people. It asks both listeners as any client does, with the rights of the session's key. */
import formbody from '@fastify/formbody'
import helmet from '@fastify/helmet'
import type { FastifyPluginAsync } from 'fastify'
import { type App, type AppOptions, buildApp, refuseOtherMethods } from '../api/http/app.ts'
import { type AnonymousLimit, useAnonymousLimit } from '../api/http/rate-limit.ts'
import type { RefusalLimit } from '../api/keys/auth.ts'
import type { Sessions } from '../api/keys/sessions.ts'
import { ServiceError } from '../domain/errors.ts'
import type { Doors } from './calls.ts'
import { isOwnRequest } from './own-request.ts'
import { addressRoutes } from './pages/addresses/index.ts'
import { alertRoutes } from './pages/alerts/index.ts'
import { backtestRoutes } from './pages/backtests/index.ts'
import { bulkRoutes } from './pages/bulk/index.ts'
import { decisionRoutes } from './pages/decisions/index.ts'
import { enforcementRoutes } from './pages/enforcement/index.ts'
import { estateRoutes } from './pages/estate.ts'
import { findRoutes } from './pages/find.ts'
import { mailRoutes } from './pages/mails/index.ts'
import { monthRoutes } from './pages/month/index.ts'
import { myRoutes } from './pages/my/index.ts'
import { orderRoutes } from './pages/orders/index.ts'
import { overviewRoutes } from './pages/overview/index.ts'
import { poolRoutes } from './pages/pools/index.ts'
import { ruleRoutes } from './pages/rules/index.ts'
import { shadowLogRoutes } from './pages/shadow-log.ts'
import { doorRoutes } from './pages/sign-in/by-key.ts'
import { mailDoorRoutes } from './pages/sign-in/by-mail.ts'
import { silenceRoutes } from './pages/silences/index.ts'
import { simRoutes } from './pages/sims/index.ts'
import { tariffRoutes } from './pages/tariffs/index.ts'
import { tenantRoutes } from './pages/tenant/index.ts'
import { ticketRoutes } from './pages/tickets/index.ts'
import { webhookRoutes } from './pages/webhooks/index.ts'
import { workflowRoutes } from './pages/workflows/index.ts'
import { assetRoutes } from './parts/asset.ts'
import { sendFailure } from './parts/failure.ts'
import { pulseRoutes } from './pulse.ts'
import { keepContactsToOwn, requireSession, useSessions } from './session.ts'

export interface ConsoleOptions extends AppOptions, RefusalLimit, AnonymousLimit, Doors {
  readonly sessions: Sessions
  /** Address of the console as browsers see it, for links in mails. Empty, or left out: the one it listens on. */
  readonly url?: string
  /** Epoch milliseconds. Default: the machine's. */
  readonly clock?: () => number
}

const NONE = ["'none'"]
const OWN = ["'self'"]
/**
 * Pages load only what is served here, and are in no frame. `Origin` is null without a referrer, so forms keep theirs.
 * TLS is the work of the proxy before it: so is HSTS.
 */
const POLICY = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: NONE,
      scriptSrc: OWN,
      styleSrc: OWN,
      imgSrc: [...OWN, 'data:'],
      fontSrc: OWN,
      connectSrc: OWN,
      formAction: OWN,
      baseUri: NONE,
      frameAncestors: NONE,
    },
  },
  referrerPolicy: { policy: 'same-origin' },
  strictTransportSecurity: false,
} as const

/** The console's listener. It is ready to listen, or for `inject`. */
export async function buildConsole(options: ConsoleOptions): Promise<App> {
  const { clock = Date.now } = options
  const app = buildApp(options)
  await app.register(helmet, POLICY)
  const pages: FastifyPluginAsync = async (scope) => {
    scope.decorateRequest('pageTenant', null)
    scope.setErrorHandler((error, request, reply) => sendFailure(error, request, reply))
    scope.addHook('onRequest', async ({ method, headers }) => {
      if (method === 'GET' || method === 'HEAD' || isOwnRequest(headers)) return
      throw new ServiceError('forbidden', 'This was sent from another site: open the page here and send it again.')
    })
    await scope.register(formbody)
    await useSessions(scope, options.sessions)
    await useAnonymousLimit(scope, options)
    requireSession(scope)
    keepContactsToOwn(scope)
    const complete = refuseOtherMethods(scope)
    await scope.register(doorRoutes, options)
    await scope.register(mailDoorRoutes, { ...options, consoleUrl: () => options.url || app.listeningOrigin })
    await scope.register(assetRoutes)
    estateRoutes(scope, options)
    overviewRoutes(scope, options, clock)
    findRoutes(scope, options)
    pulseRoutes(scope, options, clock)
    simRoutes(scope, options, clock)
    poolRoutes(scope, options, clock)
    alertRoutes(scope, options, clock)
    decisionRoutes(scope, options, clock)
    enforcementRoutes(scope, options, clock)
    silenceRoutes(scope, options, clock)
    ticketRoutes(scope, options, clock)
    bulkRoutes(scope, options, clock)
    orderRoutes(scope, options, clock)
    tariffRoutes(scope, options, clock)
    workflowRoutes(scope, options, clock)
    ruleRoutes(scope, options, clock)
    backtestRoutes(scope, options, clock)
    shadowLogRoutes(scope, options, clock)
    monthRoutes(scope, options, clock)
    myRoutes(scope, options, clock)
    tenantRoutes(scope, options, clock)
    mailRoutes(scope, options, clock)
    addressRoutes(scope, options, clock)
    webhookRoutes(scope, options, clock)
    scope.get('/*', async ({ url }) => {
      throw new ServiceError('not_found', `There is no page ${url.split('?')[0]}.`)
    })
    complete()
  }
  await app.register(pages)
  await app.ready()
  return app
}
