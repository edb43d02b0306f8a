/**
 * A worker: does the work that the API and the clock leave to it. It is stateless, and any number may run.
 *
 *   queues ──▶ tickets · evaluation · mails · workflow requests
 *   Temporal ──▶ workflows and their activities
 *   sweeps ──▶ jobs for due work without one
 *   the table `backtests` ──▶ backtests, one at a time
 *
 * It waits for unreachable dependencies, at the start or later. The process stays, and `/readyz` names them.
 */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { httpNetwork } from '../adapters/carrier/http-network.ts'
import { createTransport } from '../adapters/channels/mail/transport.ts'
import { openQueues, type QueuesAt } from '../adapters/queues/backend.ts'
import { openAddresses } from '../adapters/rest/addresses.ts'
import { openWorkflowClient, type WorkflowClient } from '../adapters/temporal/client.ts'
import { durationMs } from '../domain/time/duration.ts'
import { alertMetrics } from '../process/alert-metrics.ts'
import { clockDependency, registerClockOffset } from '../process/clock-dependency.ts'
import { databaseDependency, rulesDependency } from '../process/health.ts'
import { createMetrics } from '../process/metrics.ts'
import { directUrl, evaluationOptions } from '../process/options.ts'
import { readRuleFiles } from '../process/rule-files.ts'
import type { Settings } from '../process/settings.ts'
import { jobMetrics, startHealth } from '../process/start-health.ts'
import { everySoOften } from '../process/until-done.ts'
import { connect } from '../store/connect.ts'
import type { Store } from '../store/tenancy.ts'
import { carrierDependency } from './carrier-dependency.ts'
import { startTemporalWorker, type TemporalWorker } from './start-temporal-worker.ts'
import { startWork } from './start-work.ts'
import { keyIsTaken, workersKey } from './workers-key.ts'
import { bundleWorkflows, readBundle } from './workflow-bundle.ts'

/**
 * Starts a worker.
 *
 * @param app its HTTP server, for health and metrics
 * @returns once it listens on its health port; its dependencies may still be away
 * @throws Error if a setting cannot be used, the rule files cannot be read, or the port is taken
 */
export async function startWorker(
  settings: Settings,
  log: Logger,
  app: FastifyInstance,
): Promise<{ readonly stop: () => Promise<void> }> {
  const stopping = new AbortController()
  const key = await workersKey(settings, (refusal) => {
    if (refusal === null) log.info("the service takes the workers' key again")
    else log.error({ reason: refusal }, "the service refuses the workers' key: what workflows ask for waits")
  })
  const ruleFiles = await readRuleFiles(settings.RULES_DIR)
  const bundle = settings.WORKFLOW_BUNDLE
  const workflows = bundle === '' ? await bundleWorkflows() : await readBundle(bundle)
  const parts = openParts(settings, log)
  const { database, queues, smtp, workflowClient, metrics, store, evaluation } = parts
  const internalUrl = settings.SERVICE_INTERNAL_URL || `http://127.0.0.1:${settings.INTERNAL_PORT}`
  const internal = openAddresses(internalUrl)

  const temporal = startTemporalWorker({
    address: settings.TEMPORAL_ADDRESS,
    namespace: settings.TEMPORAL_NAMESPACE,
    serviceUrl: settings.SERVICE_BASE_URL || `http://127.0.0.1:${settings.PORT}`,
    internalUrl,
    key,
    log,
    workflows,
  })
  const schema = databaseDependency(database.db)
  const health = await startHealth({
    app,
    host: settings.INTERNAL_HOST,
    port: settings.WORKER_PORT,
    metrics,
    dependencies: [
      schema,
      rulesDependency(store, evaluation.rules),
      clockDependency(store, true),
      { name: 'queues', isRequired: false, check: async () => (await queues.ping(), 'reachable') },
      { name: 'temporal', isRequired: false, check: () => polls(workflowClient, temporal) },
      { name: 'service key', isRequired: true, check: () => keyIsTaken(key, internal) },
      carrierDependency(metrics, store, parts.network),
    ],
  })
  const working = startWork({ ...parts, settings, log, signal: stopping.signal, ruleFiles, schema })

  return {
    stop: async () => {
      stopping.abort()
      const running = await working
      // First stops everything that takes work, at once and in parallel. Then closes the parts that it uses.
      await Promise.all([running?.stop(), temporal.shutdown()])
      await running?.presence.stop()
      smtp.close()
      await Promise.all([queues.close(), workflowClient.close(), health.stop()])
      await database.close()
    },
  }
}

/** Opens the parts that the work uses. None needs to be reachable yet. */
function openParts(settings: Settings, log: Logger) {
  const lost = everySoOften((error, silenced) => log.warn({ reason: error.message, silenced }, 'a connection was lost'))
  const network = httpNetwork({
    url: settings.CARRIER_URL,
    secret: settings.CARRIER_SECRET,
    timeoutMs: durationMs(settings.CARRIER_TIMEOUT),
  })
  const smtp = createTransport({
    smtpUrl: settings.SMTP_URL,
    from: settings.MAIL_FROM,
    plain: settings.SMTP_TLS === 'optional',
  })
  const workflowClient = openWorkflowClient({
    address: settings.TEMPORAL_ADDRESS,
    namespace: settings.TEMPORAL_NAMESPACE,
  })
  const database = connect(settings.DATABASE_URL, { max: settings.DATABASE_POOL, onError: lost })
  const at: QueuesAt = {
    redisUrl: settings.REDIS_URL,
    databaseUrl: directUrl(settings),
    queuePool: settings.QUEUE_POOL,
    onError: (error) => {
      jobs.jobLost()
      lost(error)
    },
  }
  const metrics = createMetrics()
  const queues = openQueues(at)
  const jobs = jobMetrics(metrics, queues)
  const store: Store = { db: database.db, clock: Date.now, enqueue: queues.enqueue }
  registerClockOffset(metrics, store)
  const evaluation = evaluationOptions(settings)
  const alerts = alertMetrics(metrics, store, evaluation.rules)
  return { network, smtp, workflowClient, database, at, metrics, queues, jobs, store, evaluation, alerts }
}

async function polls(workflowClient: WorkflowClient, temporal: TemporalWorker): Promise<string> {
  await workflowClient.check()
  if (!temporal.isRunning()) throw new Error('reachable, but this worker does not poll it yet')
  return 'reachable, and this worker polls it'
}
