/**
 * The two listeners. The public one has the paths of the service document under `/api`; the internal one has
 * everything else under `/internal`, and asks for an operator key.
 *
 * A new resource is a file in routes/ or internal/ and its line in the list here.
 */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type App, type AppOptions, buildApp, refuseOtherMethods } from './app.ts'
import { type RefusalLimit, useKeys } from './auth.ts'
import { useOpenapi } from './description.ts'
import { useDocsPage } from './docs-page.ts'
import { type Dependency, healthRoutes } from './health.ts'
import { auditRoutes } from './internal/audit.ts'
import { bulkTicketRoutes } from './internal/bulk-tickets.ts'
import { countRoutes } from './internal/counts.ts'
import { cycleRoutes } from './internal/cycles.ts'
import { guardRoutes } from './internal/enforcement.ts'
import { exportRoutes } from './internal/exports.ts'
import { keyRoutes } from './internal/keys.ts'
import { orderPriceRoutes } from './internal/order-prices.ts'
import { orderRoutes as internalOrderRoutes } from './internal/orders.ts'
import { provisionBatchRoutes } from './internal/provision-batches.ts'
import { ruleRoutes } from './internal/rules.ts'
import { scheduleRoutes } from './internal/schedules.ts'
import { simRoutes as internalSimRoutes } from './internal/sims.ts'
import { statementRoutes } from './internal/statements.ts'
import { suspensionRoutes } from './internal/suspensions.ts'
import { tariffRoutes as internalTariffRoutes } from './internal/tariffs.ts'
import { tenantRoutes as internalTenantRoutes } from './internal/tenants.ts'
import { ticketRoutes as internalTicketRoutes } from './internal/tickets.ts'
import { undoRoutes } from './internal/undo.ts'
import { usageRoutes } from './internal/usage.ts'
import { enforcementRoutes } from './internal/watchdog.ts'
import { workflowRetryRoutes } from './internal/workflow-retry.ts'
import { workflowUpdateRoutes } from './internal/workflow-updates.ts'
import { workflowRoutes } from './internal/workflows.ts'
import { createMetrics } from './metrics.ts'
import { useOnceKeys } from './once.ts'
import type { InternalOptions, RouteOptions } from './options.ts'
import { type RequestLimit, useRateLimit } from './rate-limit.ts'
import { eventRoutes } from './routes/events.ts'
import { orderRoutes } from './routes/orders.ts'
import { poolRoutes } from './routes/pools.ts'
import { simRoutes } from './routes/sims.ts'
import { tariffRoutes } from './routes/tariffs.ts'
import { tenantRoutes } from './routes/tenant.ts'
import { ticketRoutes } from './routes/tickets.ts'
import { watchdogRoutes } from './routes/watchdog.ts'
import { useWorkflowHeader } from './workflow-header.ts'

const PUBLIC: readonly FastifyPluginAsyncTypebox<RouteOptions>[] = [
  watchdogRoutes,
  poolRoutes,
  simRoutes,
  ticketRoutes,
  orderRoutes,
  tenantRoutes,
  tariffRoutes,
  eventRoutes,
]
const INTERNAL: readonly FastifyPluginAsyncTypebox<InternalOptions>[] = [
  internalTenantRoutes,
  keyRoutes,
  internalTariffRoutes,
  internalSimRoutes,
  internalTicketRoutes,
  bulkTicketRoutes,
  internalOrderRoutes,
  orderPriceRoutes,
  usageRoutes,
  cycleRoutes,
  statementRoutes,
  enforcementRoutes,
  suspensionRoutes,
  guardRoutes,
  undoRoutes,
  workflowRoutes,
  provisionBatchRoutes,
  workflowUpdateRoutes,
  workflowRetryRoutes,
  scheduleRoutes,
  countRoutes,
  ruleRoutes,
  exportRoutes,
  auditRoutes,
]

/** The public listener, ready to listen or to be asked by `inject`. */
export async function buildPublic(
  routes: RouteOptions & RefusalLimit & { readonly requestLimit?: RequestLimit },
  options: AppOptions = {},
): Promise<App> {
  const app = buildApp(options)
  const complete = refuseOtherMethods(app)
  await useOpenapi(app, 'public')
  await useDocsPage(app)
  const scope: FastifyPluginAsyncTypebox = async (api) => {
    useKeys(api, { ...routes, listener: 'public' })
    useWorkflowHeader(api)
    useOnceKeys(api)
    if (routes.requestLimit !== undefined) await useRateLimit(api, routes.requestLimit)
    for (const plugin of PUBLIC) await api.register(plugin, routes)
  }
  await app.register(scope, { prefix: '/api' })
  complete()
  await app.ready()
  return app
}

/** The internal listener. */
export async function buildInternal(
  routes: InternalOptions & RefusalLimit & { readonly dependencies: readonly Dependency[] },
  options: AppOptions = {},
): Promise<App> {
  const metrics = options.metrics ?? createMetrics()
  const app = buildApp({ ...options, metrics })
  const complete = refuseOtherMethods(app)
  await useOpenapi(app, 'internal')
  await app.register(healthRoutes, { dependencies: routes.dependencies, metrics })
  const scope: FastifyPluginAsyncTypebox = async (internal) => {
    useKeys(internal, { ...routes, listener: 'internal' })
    useWorkflowHeader(internal)
    useOnceKeys(internal)
    for (const plugin of INTERNAL) await internal.register(plugin, routes)
  }
  await app.register(scope, { prefix: '/internal' })
  complete()
  await app.ready()
  return app
}
