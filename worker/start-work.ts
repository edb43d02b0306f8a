/** The work of a worker: its jobs, sweeps and backtests. */
import type { Logger } from 'pino'
import { httpNetwork } from '../adapters/carrier/http-network.ts'
import { endpointChannels } from '../adapters/channels/index.ts'
import type { MailLinks } from '../adapters/channels/mail/links.ts'
import { mailChannel } from '../adapters/channels/mail/mail-channel.ts'
import { renderOperatorMail } from '../adapters/channels/mail/render-operator-mail.ts'
import { createTransport, type Transport } from '../adapters/channels/mail/transport.ts'
import { consume, openQueues, type QueuesAt } from '../adapters/queues/backend.ts'
import { openWorkflowClient } from '../adapters/temporal/client.ts'
import { LINKS_LAST_MS, type Link, sealLink } from '../domain/channels/link.ts'
import { durationMs } from '../domain/time/duration.ts'
import { alertMetrics } from '../process/alert-metrics.ts'
import { registerClockOffset } from '../process/clock-dependency.ts'
import type { Dependency } from '../process/health.ts'
import { createMetrics, jobMetrics } from '../process/metrics.ts'
import { directUrl, endpointOptions, evaluationOptions, mailOptions, ticketOptions } from '../process/options.ts'
import { activateFirstRules, type FirstRules, refusedRules } from '../process/rule-files.ts'
import type { Settings } from '../process/settings.ts'
import { startPresence } from '../process/start-presence.ts'
import { startSweeps } from '../process/start-sweeps.ts'
import { everySoOften, reasonOf, untilDone } from '../process/until-done.ts'
import { linkKey } from '../service/channels/rows/link-key.ts'
import { connect } from '../store/connect.ts'
import { inPlatform, type Store } from '../store/tenancy.ts'
import { createHandlers } from './create-handlers.ts'
import { startBacktests } from './start-backtests.ts'
import { missingSchedules, operatorSweeps, signInMails, workLists } from './work-lists.ts'

/** Least months of partitions ahead. Three are made; with fewer than two left, the operator has to act. */
const MONTHS_AHEAD_LEAST = 2
/** How long a webhook may take to answer, the connection included. */
const WEBHOOK_TIMEOUT_MS = 15_000
/** How often mails that sign in are looked for. */
const SIGN_INS_EVERY_MS = 1000

/** Opens the parts that the work uses. None needs to be reachable yet. */
export function openParts(settings: Settings, log: Logger) {
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

/** Everything that the work uses. It is opened before, and closed after. */
interface WorkOptions extends ReturnType<typeof openParts> {
  readonly settings: Settings
  readonly log: Logger
  /** Ends the wait for the database. */
  readonly signal: AbortSignal
  readonly firstRules: FirstRules
  readonly schema: Dependency
}

/** Starts jobs and sweeps once the database is migrated. @returns undefined if stopped before */
export async function startWork(options: WorkOptions) {
  const { settings, log, signal, store, schema, at, alerts } = options
  const patience = { log, signal }
  if ((await untilDone('the database', schema.check, patience)) === undefined) return undefined
  const rules = await untilDone('the rules', () => activateFirstRules(store, options.firstRules, log), patience)
  if (rules === undefined) return undefined
  const links = await mailLinks(settings, store, patience)
  if (links === undefined) return undefined
  const presence = startPresence(store, 'worker', log)
  const transport = alerts.counted(options.smtp)
  const consumers = consume(at, handlersFor(options, mailChannel(transport, links)), (queue, error) =>
    log.error({ queue, err: error }, 'a job failed'),
  )
  const everyMs = durationMs(settings.SWEEP_EVERY)
  const sweeps = [
    ...sweepsOf(options, transport).map((all) => startSweeps(all, everyMs, log)),
    // A person waits for it.
    startSweeps([signInMails(store, transport)], Math.min(everyMs, SIGN_INS_EVERY_MS), log),
  ]
  const backtests = startBacktests({
    store,
    databaseUrl: directUrl(settings),
    options: { evaluation: evaluationOptions(settings), render: mailChannel(transport).render },
    everyMs,
    log,
  })
  log.info('the worker works')
  const stop = () => Promise.all([...sweeps.map((one) => one.stop()), backtests.stop(), consumers.close()])
  return { presence, stop }
}

function handlersFor(options: WorkOptions, mailer: ReturnType<typeof mailChannel>) {
  const { settings, log, store, network, workflowClient, evaluation, alerts, jobs } = options
  const endpoints = endpointOptions(settings)
  const noMail = everySoOften((error, silenced) =>
    log.error({ reason: error.message, silenced }, 'no mail can be sent: all wait until the mail server takes them'),
  )
  return createHandlers({
    store,
    network,
    mailer,
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
    mails: {
      ...mailOptions(settings),
      onTrouble: (response) => noMail(new Error(response)),
      onAccepted: alerts.onAccepted,
    },
    endpointChannels: endpointChannels({ clock: store.clock, timeoutMs: WEBHOOK_TIMEOUT_MS, allow: endpoints.allow }),
    webhooks: { ...endpoints, onAttempt: jobs.webhookTried },
    add: options.queues.add,
    onRequestFailed: (workflowId, error) =>
      log.warn({ workflowId, reason: reasonOf(error) }, 'a workflow request failed'),
    onFailedRun: ({ workflowId, type, status }) => {
      jobs.failedRunMet(type)
      log.error({ workflowId, status }, 'enforcement stands still: its workflow has failed and does not start again')
    },
    observe: jobs.observe,
  })
}

/** The sweeps, in lists that run separately: work lists must wait neither for Temporal nor for a mail server. */
const sweepsOf = (
  { settings, log, store, workflowClient, evaluation, jobs }: WorkOptions,
  transport: Pick<Transport, 'send'>,
) => [
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
  [missingSchedules(store, (schedule) => workflowClient.ensureSchedule(schedule))],
  operatorSweeps(
    store,
    { ...mailChannel(transport), render: (notices) => renderOperatorMail(notices, settings.CONSOLE_URL) },
    settings,
    log,
  ),
]

/** The links in mails. @returns undefined if stopped before */
async function mailLinks(
  { SERVICE_URL: serviceUrl, CONSOLE_URL: consoleUrl }: Settings,
  store: Store,
  patience: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<MailLinks | undefined> {
  const key = await untilDone('the key of links in mails', () => inPlatform(store, linkKey), patience)
  if (key === undefined) return undefined
  return { serviceUrl, consoleUrl, sign: (link: Link) => sealLink(key, link, store.clock() + LINKS_LAST_MS) }
}
