/** `simherd api`: runs the listeners with the database, queues and Temporal server of the settings. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { openQueues } from '../../adapters/queues/backend.ts'
import { openRequestCounts } from '../../adapters/queues/open-request-counts.ts'
import { openWorkflowClient } from '../../adapters/temporal/client.ts'
import { startApi } from '../../api/main.ts'
import { buildConsole } from '../../console/main.ts'
import { withoutSlash } from '../../domain/http.ts'
import { parseNetworks } from '../../domain/networks.ts'
import { durationMs } from '../../domain/time/duration.ts'
import { clockDependency, registerClockOffset } from '../../process/clock-dependency.ts'
import { createLog } from '../../process/create-log.ts'
import { databaseDependency, rulesDependency } from '../../process/health.ts'
import { createMetrics, registerTurns } from '../../process/metrics.ts'
import { directUrl, endpointOptions, ticketQuota, workflowOptions } from '../../process/options.ts'
import type { Settings } from '../../process/settings.ts'
import { startPresence } from '../../process/start-presence.ts'
import { everySoOften } from '../../process/until-done.ts'
import { rulesInForce } from '../../service/rules/rules-in-force.ts'
import { connect } from '../../store/connect.ts'
import type { Store } from '../../store/tenancy.ts'
import { openTurns } from '../../store/turns.ts'
import { requireSettings } from '../failures.ts'
import { refuseDatabase } from '../refuse-database.ts'
import { type Running, runUntilSignal } from '../run-until-signal.ts'

/** Runs the API until a signal. @throws as {@link runApi} */
export async function serveApi(settings: Settings): Promise<void> {
  const log = createLog(settings, 'api')
  await runUntilSignal(log, () => runApi(settings, log))
}

/**
 * Starts the API. It listens even if a dependency is missing. Then `/readyz` reports it, and requests that need it get
 * 503 until it is back.
 *
 * @throws Error if a port is not available; CommandFailure if the database refuses the process for good
 */
async function runApi(settings: Settings, log: Logger): Promise<Running> {
  requireSettings(settings, ['DATABASE_URL', 'TEMPORAL_ADDRESS'])
  await refuseDatabase(settings)
  const lost = everySoOften((error, silenced) => log.warn({ reason: error.message, silenced }, 'a connection was lost'))
  const database = connect(settings.DATABASE_URL, { max: settings.DATABASE_POOL, onError: lost })
  const at = { redisUrl: settings.REDIS_URL, databaseUrl: directUrl(settings), onError: lost }
  const queues = openQueues(at)
  const workflowClient = openWorkflowClient({
    address: settings.TEMPORAL_ADDRESS,
    namespace: settings.TEMPORAL_NAMESPACE,
  })
  const counts = settings.REDIS_URL === '' ? undefined : openRequestCounts(settings.REDIS_URL, lost)
  const turns = openTurns({ connections: settings.DATABASE_POOL })
  const store: Store = { db: database.db, clock: Date.now, enqueue: queues.enqueue, turns }
  const rules = rulesInForce()
  const metrics = createMetrics()
  registerClockOffset(metrics, store)
  registerTurns(metrics, turns)
  const consoleUrl = withoutSlash(settings.CONSOLE_URL)
  const api = await startApi({
    metrics,
    trustedProxies: parseNetworks(settings.TRUSTED_PROXIES) ?? [],
    refusalLimit: settings.REFUSAL_LIMIT,
    anonymousLimit: settings.ANONYMOUS_LIMIT,
    requestLimit: { perMinute: settings.RATE_LIMIT, ...(counts === undefined ? {} : { redis: counts.redis }) },
    store,
    databaseUrl: directUrl(settings),
    onLost: lost,
    ticketQuota: ticketQuota(settings),
    hasMailLinks: settings.SERVICE_URL !== '',
    consoleUrl,
    billingCycle: settings.BILLING_CYCLE,
    currency: settings.CURRENCY,
    rules,
    workflowClient,
    historyUrl: historyUrlOf(settings),
    workflowOptions: workflowOptions(settings),
    usage: { maxAgeMs: durationMs(settings.USAGE_MAX_AGE) },
    esim: { smdpHost: settings.ESIM_SMDP_HOST, iccidPrefix: settings.ESIM_ICCID_PREFIX },
    endpoints: endpointOptions(settings),
    host: settings.HOST,
    port: settings.PORT,
    internalHost: settings.INTERNAL_HOST,
    internalPort: settings.INTERNAL_PORT,
    ...(settings.CONSOLE_PORT !== 'off' && {
      console: {
        host: settings.CONSOLE_HOST,
        port: Number(settings.CONSOLE_PORT),
        build: (options) => buildConsole({ ...options, url: consoleUrl }),
      },
    }),
    dependencies: [
      databaseDependency(database.db),
      rulesDependency(store, rules),
      clockDependency(store, false),
      { name: 'queues', isRequired: false, check: async () => (await queues.ping(), 'reachable') },
      { name: 'temporal', isRequired: false, check: async () => (await workflowClient.check(), 'reachable') },
    ],
    untilUnused: () => sleep(durationMs(settings.STOP_DELAY)),
    logger: log,
  })
  const presence = startPresence(store, 'api', log)
  log.info({ api: api.apiUrl, internal: api.internalUrl, console: consoleUrl || api.consoleUrl }, 'the API listens')
  return {
    stop: async () => {
      await api.close()
      await presence.stop()
      await Promise.all([counts?.close(), queues.close(), workflowClient.close(), database.close()])
    },
  }
}

/** Address of a run's page in Temporal's web interface; null without TEMPORAL_UI_URL. */
function historyUrlOf({ TEMPORAL_UI_URL: page, TEMPORAL_NAMESPACE: namespace }: Settings) {
  if (page === '') return null
  return ({ workflowId, runId }: { readonly workflowId: string; readonly runId: string }) =>
    `${withoutSlash(page)}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`
}
