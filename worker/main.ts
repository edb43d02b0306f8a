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
import { httpNetwork } from '../adapters/carrier/http.ts'
import { renderOperatorMail } from '../adapters/channels/mail/operator-mail.ts'
import { renderMail } from '../adapters/channels/mail/render.ts'
import { createTransport } from '../adapters/channels/mail/transport.ts'
import { createWebhookSender } from '../adapters/channels/webhook/webhook-sender.ts'
import { consume, openQueues, type QueuesAt } from '../adapters/queues/backend.ts'
import { openAddresses } from '../adapters/rest/addresses.ts'
import { openWorkflowClient, type WorkflowClient } from '../adapters/temporal/client.ts'
import { LINKS_LAST_MS, type Link, sealLink } from '../domain/channels/link.ts'
import { durationMs } from '../domain/time/duration.ts'
import { alertMetrics } from '../process/alert-metrics.ts'
import { clockDependency, registerClockOffset } from '../process/clock.ts'
import { databaseDependency, rulesDependency } from '../process/health.ts'
import { jobMetrics, startHealth } from '../process/health-server.ts'
import { createMetrics } from '../process/metrics.ts'
import { operatorSweeps } from '../process/operator-sweeps.ts'
import { directUrl, evaluationOptions, mailOptions, ticketOptions, webhookOptions } from '../process/options.ts'
import { startPresence } from '../process/presence.ts'
import { everySoOften, reasonOf, untilDone } from '../process/retry.ts'
import { activateFirstRules, readRuleFiles, refusedRules } from '../process/rule-files.ts'
import type { Settings } from '../process/settings.ts'
import { startSweeps } from '../process/sweeps.ts'
import { linkKey } from '../service/channels/rows/link-key.ts'
import type { Mailer } from '../service/channels/send-mails.ts'
import { connect } from '../store/connect.ts'
import { inPlatform, type Store } from '../store/tenancy.ts'
import { startBacktests } from './backtests.ts'
import { carrierDependency } from './carrier.ts'
import { createHandlers } from './handlers.ts'
import { keyIsTaken, workersKey } from './service-key.ts'
import { startTemporalWorker, type TemporalWorker } from './temporal.ts'
import { missingSchedules, workLists } from './work-lists.ts'
import { bundleWorkflows, readBundle } from './workflow-bundle.ts'

/** Least months of partitions ahead. Three are made; with fewer than two left, the operator has to act. */
const MONTHS_AHEAD_LEAST = 2
/** How long a webhook may take to answer, the connection included. */
const WEBHOOK_TIMEOUT_MS = 15_000

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
  const lost = everySoOften((error, silenced) => log.warn({ reason: error.message, silenced }, 'a connection was lost'))
  const noMail = everySoOften((error, silenced) =>
    log.error({ reason: error.message, silenced }, 'no mail can be sent: all wait until the mail server takes them'),
  )
  const key = await workersKey(settings, (refusal) => {
    if (refusal === null) log.info("the service takes the workers' key again")
    else log.error({ reason: refusal }, "the service refuses the workers' key: what workflows ask for waits")
  })
  const ruleFiles = await readRuleFiles(settings.RULES_DIR)
  const bundle = settings.WORKFLOW_BUNDLE
  const workflows = bundle === '' ? await bundleWorkflows() : await readBundle(bundle)
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
  const schema = databaseDependency(database.db)
  const queues = openQueues(at)
  const jobs = jobMetrics(metrics, queues)
  const store: Store = { db: database.db, clock: Date.now, enqueue: queues.enqueue }

  registerClockOffset(metrics, store)
  const evaluation = evaluationOptions(settings)
  const webhooks = webhookOptions(settings)
  const alerts = alertMetrics(metrics, store, evaluation.rules)
  const transport = alerts.counted(smtp)
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
      carrierDependency(metrics, store, network),
    ],
  })

  /** Starts the jobs and sweeps. They need the schema, and a worker may start before the migrations. */
  const work = async () => {
    const patience = { log, signal: stopping.signal }
    if ((await untilDone('the database', schema.check, patience)) === undefined) return undefined
    const rules = await untilDone('the rules', () => activateFirstRules(store, ruleFiles, log), patience)
    if (rules === undefined) return undefined
    const render = await renderer(settings, store, patience)
    if (render === undefined) return undefined
    const handlers = createHandlers({
      store,
      network,
      mailer: { render, transport },
      door: workflowClient,
      tickets: ticketOptions(settings),
      evaluation: {
        ...evaluation,
        onDecided: alerts.onDecided,
        onFailed: ({ tenantId, kind, id, error }) => {
          jobs.subjectFailed()
          log.error({ tenantId, kind, id, err: error }, 'a subject could not be evaluated')
        },
      },
      mails: { ...mailOptions(settings), onTrouble: noMail, onAccepted: alerts.onAccepted },
      webhookSender: createWebhookSender({ timeoutMs: WEBHOOK_TIMEOUT_MS, allow: webhooks.allow }),
      webhooks: { ...webhooks, onAttempt: jobs.webhookTried },
      add: queues.add,
      onRequestFailed: (workflowId, error) =>
        log.warn({ workflowId, reason: reasonOf(error) }, 'a workflow request failed'),
      onFailedRun: ({ workflowId, type, status }) => {
        jobs.failedRunMet(type)
        log.error({ workflowId, status }, 'enforcement stands still: its workflow has failed and does not start again')
      },
      observe: jobs.observe,
    })
    const presence = startPresence(store, 'worker', log)
    const sweepMs = durationMs(settings.SWEEP_EVERY)
    const consumers = consume(at, handlers, (queue, error) => log.error({ queue, err: error }, 'a job failed'))
    const sweeps = startSweeps(
      [
        ...workLists({
          store,
          webhookLogMs: durationMs(settings.WEBHOOK_LOG),
          onMonthsAhead: (months) => {
            jobs.monthsAhead(months)
            if (months < MONTHS_AHEAD_LEAST)
              log.error({ months }, 'partitions of the usage records are missing: ingest stops when the months end')
          },
        }),
        refusedRules(store, evaluation.rules, log),
      ],
      sweepMs,
      log,
    )
    // Apart from the sweeps: those must wait neither for Temporal nor for a mail server.
    const schedules = startSweeps(
      [missingSchedules(store, (schedule) => workflowClient.ensureSchedule(schedule))],
      sweepMs,
      log,
    )
    const operator = startSweeps(
      operatorSweeps(store, { render: renderOperatorMail, transport }, settings, log),
      sweepMs,
      log,
    )
    const backtests = startBacktests({
      store,
      databaseUrl: directUrl(settings),
      options: {
        evaluation: evaluationOptions(settings),
        render: (notifications, isCopy) => renderMail(notifications, null, isCopy),
      },
      everyMs: sweepMs,
      log,
    })
    log.info('the worker works')
    return { presence, consumers, sweeps, schedules, operator, backtests }
  }
  const working = work()

  return {
    stop: async () => {
      stopping.abort()
      const running = await working
      // First stops everything that takes work, at once and in parallel. Then closes what that work uses.
      await Promise.all([
        running?.sweeps.stop(),
        running?.schedules.stop(),
        running?.operator.stop(),
        running?.backtests.stop(),
        running?.consumers.close(),
        temporal.shutdown(),
      ])
      await running?.presence.stop()
      smtp.close()
      await Promise.all([queues.close(), workflowClient.close(), health.stop()])
      await database.close()
    },
  }
}

/** The renderer of mails: with links, if the service has a public address. @returns undefined if stopped before */
async function renderer(
  { SERVICE_URL: serviceUrl }: Settings,
  store: Store,
  patience: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<Mailer['render'] | undefined> {
  if (serviceUrl === '') return (notifications, isCopy) => renderMail(notifications, null, isCopy)
  const key = await untilDone('the key of links in mails', () => inPlatform(store, linkKey), patience)
  if (key === undefined) return undefined
  const sign = (link: Link) => sealLink(key, link, store.clock() + LINKS_LAST_MS)
  return (notifications, isCopy) => renderMail(notifications, { serviceUrl, sign }, isCopy)
}

async function polls(workflowClient: WorkflowClient, temporal: TemporalWorker): Promise<string> {
  await workflowClient.check()
  if (!temporal.isRunning()) throw new Error('reachable, but this worker does not poll it yet')
  return 'reachable, and this worker polls it'
}
