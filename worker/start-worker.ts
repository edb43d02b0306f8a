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
import { openAddresses } from '../adapters/rest/addresses.ts'
import type { WorkflowClient } from '../adapters/temporal/client.ts'
import { clockDependency } from '../process/clock-dependency.ts'
import { databaseDependency, rulesDependency, startHealth } from '../process/health.ts'
import { readFirstRules } from '../process/rule-files.ts'
import type { Settings } from '../process/settings.ts'
import { bundleWorkflows, readBundle } from './bundle-workflows.ts'
import { carrierDependency } from './carrier-dependency.ts'
import { startTemporalWorker, type TemporalWorker } from './start-temporal-worker.ts'
import { openParts, startWork } from './start-work.ts'
import { keyIsTaken, workersKey } from './workers-key.ts'

/**
 * Starts a worker.
 *
 * @param app its HTTP server, for health and metrics
 * @returns once it listens on its health port; its dependencies may still be away
 * @throws Error if a setting cannot be used, the rule files cannot be read, or the port is taken
 */
export async function startWorker(settings: Settings, log: Logger, app: FastifyInstance) {
  const stopping = new AbortController()
  const key = await workersKey(settings, (refusal) => {
    if (refusal === null) log.info("the service takes the workers' key again")
    else log.error({ reason: refusal }, "the service refuses the workers' key: what workflows ask for waits")
  })
  const firstRules = await readFirstRules(settings.RULES_DIR)
  const bundle = settings.WORKFLOW_BUNDLE
  const workflows = await (bundle === '' ? bundleWorkflows() : readBundle(bundle))
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
  const working = startWork({ ...parts, settings, log, signal: stopping.signal, firstRules, schema })

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

async function polls(workflowClient: WorkflowClient, temporal: TemporalWorker): Promise<string> {
  await workflowClient.check()
  if (!temporal.isRunning()) throw new Error('reachable, but this worker does not poll it yet')
  return 'reachable, and this worker polls it'
}
