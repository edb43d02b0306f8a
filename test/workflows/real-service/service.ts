/**
 * The real service on the server that skips time: both listeners on real PostgreSQL, a Temporal worker on that
 * server, the simulated carrier, and an SMTP inbox. A pump runs the jobs and sweeps of a worker.
 *
 * Everything uses one clock, that server's time (model/server-clock.ts). It is refreshed before each request, by a
 * proxy in front of the listeners, and before each job and sweep of the pump. Time runs at its usual rate and leaps only
 * during `skipTo`. The server then goes from timer to timer, but never past a workflow task or an activity in flight. A
 * workflow waits for a ticket in an activity, so the pump executes tickets meanwhile. An evaluation, a mail or a signal
 * in the outbox does not stop time. So the pump is let settle before each leap.
 *
 * Do not wait for a workflow's end through the environment's own client: time leaps for as long as it waits. Once the
 * workflow has ended, the next timer is a run's time limit, ten years ahead.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { httpNetwork } from '../../../adapters/carrier/http-network.ts'
import type { CarrierRequest, Network } from '../../../adapters/carrier/network.ts'
import { endpointChannels } from '../../../adapters/channels/index.ts'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { createTransport } from '../../../adapters/channels/mail/transport.ts'
import { openWorkflowClient } from '../../../adapters/temporal/client.ts'
import { startApi } from '../../../api/main.ts'
import { monthEndTimerId } from '../../../domain/temporal/ids.ts'
import { cycleAt, nextCycle } from '../../../domain/time/cycle.ts'
import { rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { createKey } from '../../../service/tenants/create-key.ts'
import { startCarrier } from '../../../stack/carrier/carrier.ts'
import { startInbox } from '../../../stack/inbox/inbox.ts'
import type { InboxMail } from '../../../stack/inbox/mails.ts'
import { connect } from '../../../store/connect.ts'
import { inPlatform, type Store } from '../../../store/tenancy.ts'
import { createHandlers } from '../../../worker/create-handlers.ts'
import { installRuntime, startTemporalWorker } from '../../../worker/start-temporal-worker.ts'
import { workLists } from '../../../worker/work-lists.ts'
import { freshDatabase } from '../../setup/database.ts'
import { until } from '../../setup/soon.ts'
import { workflowBundle } from '../../setup/workflow-bundle.ts'
import { makePump } from '../model/pump.ts'
import { type Fate, refreshingProxy, serverClock } from '../model/server-clock.ts'
import { startSkippingServer } from '../model/skipping-server.ts'
import { putRulesInForce } from './rules.ts'

const SECRET = 'secret-of-the-tests'
/** Small batches: five hundred changes take several runs of a month end, and a few SIMs several runs of a batch. */
const OPTIONS = {
  closeAfter: 'PT6H',
  batches: { pageSize: 10, parallel: 4, perRun: 15 },
  provisioning: { pageSize: 3, perRun: 4 },
}
const ESIM = { smdpHost: 'smdp.simherd.example', iccidPrefix: '8999901' }
const TICKETS = { leaseMs: 60_000, retryMinMs: 50, retryMaxMs: 200, attempts: 3, patienceMs: 3_600_000 }
const MAILS = { retryMaxMs: 60_000, giveUpAfterMs: 3_600_000 }
const GROUPING = { groupFirstMs: 60_000, groupNextMs: 3_600_000 }

const log = pino({ level: process.env.LOG_LEVEL ?? 'silent' })

/** A function for each started server that stops it. They are called in the reverse order. */
type Closing = (() => Promise<unknown>)[]

async function startOutside(closing: Closing) {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-true-'))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  const carrier = await startCarrier({ file: join(folder, 'carrier.jsonl'), secret: SECRET })
  const inbox = await startInbox({ dir: join(folder, 'mails') })
  closing.push(carrier.stop, inbox.stop)
  const headers = { authorization: `Bearer ${SECRET}`, accept: 'application/json' }
  const network = httpNetwork({ url: carrier.url, secret: SECRET, timeoutMs: 30_000 })
  const operate = async (operation: 'provision' | 'unprovision', iccid: string): Promise<void> => {
    const response = await fetch(`${carrier.url}/operations`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ ticketId: crypto.randomUUID(), operation, iccid }),
    })
    // Reading the whole body frees the connection for the next request.
    const text = await response.text()
    if (!response.ok) throw new Error(`${operation} ${iccid}: ${response.status} ${text}`)
  }
  const json = async <T>(url: string) => (await (await fetch(url, { headers })).json()) as T
  return {
    network,
    smtpUrl: inbox.smtpUrl,
    /** Mails to an address, the oldest first. */
    mails: async (to: string) =>
      (await json<InboxMail[]>(inbox.inboxUrl)).filter((mail) => mail.to.includes(to)).toReversed(),
    /** The carrier's operations on a line that had an effect, the oldest first. */
    effects: async (iccid: string) =>
      (await json<{ operation: string }[]>(`${carrier.url}/operations?iccid=${iccid}`)).map(
        ({ operation }) => operation,
      ),
    /** The carrier loses a line without the service's knowledge. It then refuses everything but a new provision. */
    lose: (iccid: string) => operate('unprovision', iccid),
    /** The carrier has the line again. */
    find: (iccid: string) => operate('provision', iccid),
    doubleEffects: async () => (await json<{ doubleEffects: number }>(`${carrier.url}/stats`)).doubleEffects,
  }
}

/** @param path the time-skipping server's program */
export async function startRealService(path: string) {
  const closing: Closing = []
  const close = async () => {
    for (const end of closing.toReversed()) await end()
  }
  try {
    return { ...(await startAll(path, closing)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function startAll(path: string, closing: Closing) {
  installRuntime(log)
  const { env, leap, stop } = await startSkippingServer(path)
  closing.push(stop)
  const clock = await serverClock(env)
  const database = await freshDatabase()
  closing.push(database.drop)
  const { db, close: disconnect } = connect(database.url, { max: 12 })
  closing.push(disconnect)
  const outside = await startOutside(closing)

  const pump = makePump()
  const store: Store = { db, clock: clock.now, enqueue: pump.enqueue }
  const { key } = await inPlatform(store, (tx) => createKey(tx, null, { name: 'tests', scopes: ['operator'] }))
  await putRulesInForce(store)

  const at = { address: env.address, namespace: env.namespace ?? 'default' }
  const workflowClient = openWorkflowClient(at)
  closing.push(() => workflowClient.close())
  const anyPort = { host: '127.0.0.1', port: 0, internalHost: '127.0.0.1', internalPort: 0 }
  const rules = rulesInForce()
  const options = {
    rules,
    workflowClient,
    workflowOptions: OPTIONS,
    billingCycle: 'P1M',
    currency: 'EUR',
    esim: ESIM,
    dependencies: [],
  }
  const api = await startApi({ ...anyPort, ...options, store, databaseUrl: database.url, logger: log })
  closing.push(api.close)
  /** The connection of activities to the service. A test can make it fail without its own requests failing. */
  const line = { fateOf: (_: string): Fate => 'through' }
  const proxyTo = async (url: string, fateOf?: (request: string) => Fate) => {
    const proxy = await refreshingProxy(url, clock, fateOf)
    closing.push(proxy.stop)
    return proxy.url
  }
  const ofWorkers = (request: string) => line.fateOf(request)
  const [apiUrl, internalUrl] = [await proxyTo(api.apiUrl), await proxyTo(api.internalUrl)]

  /** Runs before each request to the carrier: a test makes the carrier slow, or changes a line without the service. */
  const carrierKnobs = { before: async (_: CarrierRequest): Promise<void> => {} }
  /** Makes the carrier hang on these requests. @returns ends that */
  const hangOn = (fits: (request: CarrierRequest) => boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    carrierKnobs.before = async (request) => {
      if (fits(request)) await promise
    }
    return resolve
  }
  /** Rejects when the harness closes: what a test makes the carrier wait for may never come. */
  const over = Promise.withResolvers<never>()
  over.promise.catch(() => undefined)
  const network: Network = {
    ...outside.network,
    perform: async (request, options) => {
      await Promise.race([carrierKnobs.before(request), over.promise])
      return outside.network.perform(request, options)
    },
  }
  const transport = createTransport({ smtpUrl: outside.smtpUrl, from: 'Simherd <simherd@localhost>' })
  closing.push(async () => transport.close())
  const handlers = createHandlers({
    store,
    network,
    mailer: mailChannel(transport),
    door: workflowClient,
    tickets: TICKETS,
    evaluation: { ...OPTIONS, ...GROUPING, rules },
    mails: MAILS,
    endpointChannels: endpointChannels({ clock: Date.now, timeoutMs: 30_000, allow: [] }),
    webhooks: { secretsKeys: [] },
    add: async (jobs) => pump.enqueue(jobs),
    onRequestFailed: (_, error) => log.warn({ err: error }, 'a workflow request failed'),
    onFailedRun: (met) => log.warn(met, 'a start has met a failed run'),
    observe: () => {},
  })
  // Sweeps with an interval (partitions, kept responses) do not run here.
  const lists = workLists({ store, webhookLogMs: 0, onMonthsAhead: () => {} })
  pump.start(
    handlers,
    lists.filter(({ everyMs }) => everyMs === undefined),
    clock.refresh,
  )
  closing.push(pump.stop)
  const worker = startTemporalWorker({
    ...at,
    serviceUrl: await proxyTo(api.apiUrl, ofWorkers),
    internalUrl: await proxyTo(api.internalUrl, ofWorkers),
    key,
    workflows: await workflowBundle(),
    log,
    shutdownGraceMs: 100,
  })
  closing.push(() => worker.shutdown())
  closing.push(async () => over.reject(new Error('the harness is closed')))
  await until('a polling worker', () => worker.isRunning())

  const skipTo = async (instant: number) => {
    await pump.settled()
    const left = instant - (await env.currentTimeMs())
    if (left > 0) await leap(left)
    await clock.refresh()
    await pump.settled()
  }
  return {
    apiUrl,
    internalUrl,
    key,
    pump,
    line,
    /** For what would take too many requests. */
    store,
    carrier: { ...outside, knobs: carrierKnobs, hangOn },
    /** Starts the workflow that a tenant's Schedule starts when a cycle ends. */
    timer: (tenantId: string) => {
      const input = { tenantId, billingCycle: 'P1M' }
      return workflowClient.start({ type: 'month-end-timer', workflowId: monthEndTimerId(tenantId), input })
    },
    /** Temporal's own handle, for what the service cannot do: terminate a run, read its history. */
    runOf: (workflowId: string) => env.client.workflow.getHandle(workflowId),
    /** Whether Temporal has recorded a cancel request for a run. Whatever comes later finds it cancelled. */
    isAskedToCancel: async (workflowId: string) => {
      const { events } = await env.client.workflow.getHandle(workflowId).fetchHistory()
      return events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes != null) ?? false
    },
    /** How many runs a workflow has had so far, each continued as the next. */
    countRuns: async (workflowId: string) => {
      let count = 0
      for (let runId: string | null | undefined; count === 0 || runId; count += 1) {
        const { events } = await env.client.workflow.getHandle(workflowId, runId ?? undefined).fetchHistory()
        runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId
      }
      return count
    },
    now: async () => {
      await clock.refresh()
      return clock.now()
    },
    /** Leaps to an instant. The jobs that are due before and after the leap are done. */
    skipTo,
    /** Leaps to a day of the next month that fits, at noon UTC. @returns its cycle */
    skipToMonth: async (day: number, fits: (startsAt: Date) => boolean = () => true) => {
      let cycle = nextCycle('P1M', cycleAt('P1M', await env.currentTimeMs()))
      while (!fits(new Date(cycle.startsAt))) cycle = nextCycle('P1M', cycle)
      await skipTo(cycle.startsAt + (day - 0.5) * 86_400_000)
      return cycle
    },
  }
}
export type RealService = Awaited<ReturnType<typeof startRealService>>
