/**
 * The two listeners. The public one serves the paths of the service document under `/api`, and links in mails. The
 * internal one serves everything else under `/internal`. It takes operator keys, and on few paths keys of the tenant.
 *
 * To add a resource, add a file in public/ or internal/<noun>/ and its line in the list here.
 */
import type { FastifyPluginAsync } from 'fastify'
import { type Dependency, healthRoutes } from '../process/health.ts'
import { createMetrics } from '../process/metrics.ts'
import { type App, type AppOptions, buildApp, refuseOtherMethods } from './http/app.ts'
import { checkBodies } from './http/bodies.ts'
import type { Route } from './http/declare-routes.ts'
import { useDocsPage } from './http/docs-page.ts'
import { useIdempotencyKeys } from './http/idempotency.ts'
import { type AnonymousLimit, type RequestLimit, useAnonymousLimit, useRateLimit } from './http/rate-limit.ts'
import { useWorkflowHeader } from './http/workflow-header.ts'
import { alertRoutes } from './internal/alerts/alerts.ts'
import { backtestRoutes } from './internal/backtests/backtests.ts'
import { addressRoutes } from './internal/channels/addresses.ts'
import { mailRoutes } from './internal/channels/mails.ts'
import { webhookRoutes } from './internal/channels/webhooks.ts'
import { countRoutes } from './internal/counts.ts'
import { enforcementRoutes } from './internal/enforcement/enforcement.ts'
import { guardRoutes } from './internal/enforcement/guard.ts'
import { undoRoutes } from './internal/enforcement/undo.ts'
import { exportRoutes } from './internal/exports.ts'
import { findRoutes } from './internal/find.ts'
import { cycleRoutes } from './internal/month-end/cycles.ts'
import { scheduleRoutes } from './internal/month-end/schedules.ts'
import { statementRoutes } from './internal/month-end/statements.ts'
import { internalOrderRoutes } from './internal/orders/orders.ts'
import { internalPoolRoutes } from './internal/pools/pools.ts'
import { explainRoutes } from './internal/rules/explain.ts'
import { ruleVersionRoutes } from './internal/rules/rule-versions.ts'
import { ruleRoutes } from './internal/rules/rules.ts'
import { internalSimRoutes } from './internal/sims/sims.ts'
import { statusRoutes } from './internal/status.ts'
import { internalTariffRoutes } from './internal/tariffs/tariffs.ts'
import { auditRoutes } from './internal/tenants/audit.ts'
import { keyRoutes } from './internal/tenants/keys.ts'
import { sessionRoutes } from './internal/tenants/sessions.ts'
import { internalTenantRoutes } from './internal/tenants/tenants.ts'
import { bulkTicketRoutes } from './internal/tickets/bulk.ts'
import { internalTicketRoutes } from './internal/tickets/tickets.ts'
import { usageRoutes } from './internal/usage/usage.ts'
import { provisionBatchRoutes } from './internal/workflows/provision-batches.ts'
import { troubleRoutes } from './internal/workflows/troubles.ts'
import { workflowUpdateRoutes } from './internal/workflows/updates.ts'
import { workflowRoutes } from './internal/workflows/workflows.ts'
import { type RefusalLimit, useKeys } from './keys/auth.ts'
import { mailLinkRoutes } from './links/mail-links.ts'
import { useOpenapi } from './openapi/description.ts'
import type { InternalOptions, RouteOptions } from './options.ts'
import { eventRoutes } from './public/events.ts'
import { orderRoutes } from './public/orders.ts'
import { poolRoutes } from './public/pools.ts'
import { simRoutes } from './public/sims.ts'
import { tariffRoutes } from './public/tariffs.ts'
import { tenantRoutes } from './public/tenant.ts'
import { ticketRoutes } from './public/tickets.ts'
import { watchdogRoutes } from './public/watchdog.ts'

const PUBLIC: readonly Route<RouteOptions>[][] = [
  watchdogRoutes,
  poolRoutes,
  simRoutes,
  ticketRoutes,
  orderRoutes,
  tenantRoutes,
  tariffRoutes,
  eventRoutes,
]
const INTERNAL: readonly Route<InternalOptions>[][] = [
  internalTenantRoutes,
  keyRoutes,
  sessionRoutes,
  internalTariffRoutes,
  internalPoolRoutes,
  internalSimRoutes,
  internalTicketRoutes,
  bulkTicketRoutes,
  internalOrderRoutes,
  usageRoutes,
  cycleRoutes,
  statementRoutes,
  enforcementRoutes,
  guardRoutes,
  alertRoutes,
  undoRoutes,
  workflowRoutes,
  troubleRoutes,
  provisionBatchRoutes,
  workflowUpdateRoutes,
  scheduleRoutes,
  countRoutes,
  statusRoutes,
  findRoutes,
  mailRoutes,
  addressRoutes,
  webhookRoutes,
  ruleRoutes,
  ruleVersionRoutes,
  explainRoutes,
  backtestRoutes,
  exportRoutes,
  auditRoutes,
]

interface Limits extends RefusalLimit, AnonymousLimit {
  readonly requestLimit?: RequestLimit
}

/** The public listener. It is ready to listen, or for `inject`. */
export async function buildPublic(routes: RouteOptions & Limits, options: AppOptions = {}): Promise<App> {
  const app = buildApp(options)
  const complete = refuseOtherMethods(app)
  await useAnonymousLimit(app, routes)
  await useOpenapi(app, 'public')
  useDocsPage(app)
  const scope: FastifyPluginAsync = async (api) => {
    useKeys(api, { ...routes, listener: 'public' })
    useWorkflowHeader(api)
    useIdempotencyKeys(api)
    checkBodies(api)
    if (routes.requestLimit !== undefined) await useRateLimit(api, routes.requestLimit)
    for (const route of PUBLIC.flat()) await route(api, routes)
  }
  await app.register(scope, { prefix: '/api' })
  if (routes.hasMailLinks === true) await app.register(mailLinkRoutes, routes)
  complete()
  await app.ready()
  return app
}

/** The internal listener, likewise. */
export async function buildInternal(
  routes: InternalOptions & Limits & { readonly dependencies: readonly Dependency[] },
  options: AppOptions = {},
): Promise<App> {
  const metrics = options.metrics ?? createMetrics()
  const app = buildApp({ ...options, metrics })
  const complete = refuseOtherMethods(app)
  await useAnonymousLimit(app, routes)
  await useOpenapi(app, 'internal')
  useDocsPage(app)
  await app.register(healthRoutes, { dependencies: routes.dependencies, metrics })
  const scope: FastifyPluginAsync = async (internal) => {
    useKeys(internal, { ...routes, listener: 'internal' })
    useWorkflowHeader(internal)
    useIdempotencyKeys(internal)
    checkBodies(internal)
    if (routes.requestLimit !== undefined) await useRateLimit(internal, routes.requestLimit)
    for (const route of INTERNAL.flat()) await route(internal, routes)
  }
  await app.register(scope, { prefix: '/internal' })
  complete()
  await app.ready()
  return app
}
