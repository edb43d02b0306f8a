/**
 * The whole service for a test: API and worker as separate processes, on the PostgreSQL and Temporal that all tests
 * share. Namespace, database, carrier and inbox are the test's own. A killed process is started again. For servers that
 * can be killed too, see `own-servers.ts`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Connection } from '@temporalio/client'
import { inject } from 'vitest'
import { hasAll } from '../../cli/start/answers.ts'
import { childEnv } from '../../process/child-env.ts'
import type { Settings } from '../../process/settings.ts'
import { createKey } from '../../service/tenants/create-key.ts'
import { startCarrier } from '../../stack/carrier/carrier.ts'
import { freePort } from '../../stack/free-port.ts'
import { startInbox } from '../../stack/inbox/inbox.ts'
import type { InboxMail } from '../../stack/inbox/mails.ts'
import { supervise } from '../../stack/supervise.ts'
import { connect } from '../../store/connect.ts'
import { inPlatform } from '../../store/tenancy.ts'
import { administrate, freshDatabase } from './database.ts'
import { documentCheck } from './document-check.ts'
import { loginOfProcesses } from './login.ts'
import { until } from './soon.ts'

const COMMAND = fileURLToPath(new URL('../../cli/simherd.js', import.meta.url))
const SECRET = 'secret-of-the-tests'

/** The servers that the service uses. */
export interface Servers {
  readonly databaseUrl: string
  readonly temporalAddress: string
  readonly namespace: string
  /** Empty if the queues are in PostgreSQL. */
  readonly redisUrl: string
  readonly carrierUrl: string
  readonly carrierSecret: string
  readonly stop: () => Promise<void>
}

/** The shared servers, with a database, a namespace and a carrier of the test's own. */
async function sharedServers(folder: string): Promise<Servers> {
  const database = await freshDatabase()
  const carrier = await startCarrier({ file: join(folder, 'carrier.jsonl'), secret: SECRET })
  return {
    databaseUrl: database.url,
    temporalAddress: inject('temporalAddress'),
    namespace: await freshNamespace(),
    redisUrl: '',
    carrierUrl: carrier.url,
    carrierSecret: SECRET,
    stop: async () => {
      await carrier.stop()
      await database.drop()
    },
  }
}

/** A new namespace on the Temporal server that all test files share. @returns its name */
export async function freshNamespace(): Promise<string> {
  const namespace = `test-${crypto.randomUUID()}`
  const connection = await Connection.connect({ address: inject('temporalAddress') })
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  })
  await until('the namespace', () => connection.workflowService.listWorkflowExecutions({ namespace }))
  await connection.close()
  return namespace
}

async function operatorKey(databaseUrl: string): Promise<string> {
  const { db, close } = connect(databaseUrl, { max: 1 })
  const store = { db, clock: Date.now, enqueue: () => {} }
  const { key } = await inPlatform(store, (tx) => createKey(tx, null, { name: 'tests', scopes: ['operator'] }))
  await close()
  return key
}

/**
 * @param more settings; where they depend on the database, made from its url, with the login of the processes
 * @param given default: the shared servers; stopped with the service
 * @param each how many APIs and how many workers to start; workers get all APIs; requests go to the APIs in turn
 */
export async function startService(
  more: Partial<Settings> | ((databaseUrl: string) => Promise<Partial<Settings>>) = {},
  given?: Servers,
  each = 1,
) {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-service-'))
  const servers = given ?? (await sharedServers(folder))
  const key = await operatorKey(servers.databaseUrl)
  const inbox = await startInbox({ dir: join(folder, 'mails') })
  const login = await loginOfProcesses(servers.databaseUrl)
  const settings = typeof more === 'function' ? await more(login.url) : more
  const env = childEnv({
    DATABASE_URL: login.url,
    REDIS_URL: servers.redisUrl,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TEMPORAL_NAMESPACE: servers.namespace,
    SMTP_URL: inbox.smtpUrl,
    CARRIER_URL: servers.carrierUrl,
    CARRIER_SECRET: servers.carrierSecret,
    SERVICE_KEY: key,
    TICKET_LEASE: 'PT3S',
    SWEEP_EVERY: 'PT0.5S',
    STOP_DELAY: 'PT0S',
    CONSOLE_PORT: 'off',
    LOG_LEVEL: 'warn',
    WORKFLOW_BUNDLE: inject('workflowBundle'),
    ...settings,
  })
  const lines: string[] = []
  const start = (name: 'api' | 'worker', readyUrl: string, env: Readonly<Record<string, string | undefined>>) =>
    supervise({ name, args: [COMMAND, name], env, onLine: (line) => lines.push(line), ready: () => hasAll(readyUrl) })
  const documentOf = async (url: string) => documentCheck((await (await fetch(`${url}/openapi.json`)).json()) as object)
  const checks: Record<string, ReturnType<typeof documentCheck>> = {}

  const startApi = async () => {
    // Chosen just before use: until something listens on a port, anything may take it.
    const [port, internalPort] = [await freePort(), await freePort()]
    const [apiUrl, internalUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${internalPort}`]
    const ports = { PORT: String(port), INTERNAL_PORT: String(internalPort) }
    const api = await start('api', `${internalUrl}/readyz`, { ...env, ...ports })
    for (const url of [apiUrl, internalUrl]) checks[url] = await documentOf(url)
    return { apiUrl, internalUrl, api }
  }
  const startWorker = async (apis: readonly { readonly apiUrl: string; readonly internalUrl: string }[]) => {
    const workerPort = await freePort()
    const workerUrl = `http://127.0.0.1:${workerPort}`
    const reach = {
      WORKER_PORT: String(workerPort),
      SERVICE_BASE_URL: apis.map(({ apiUrl }) => apiUrl).join(','),
      SERVICE_INTERNAL_URL: apis.map(({ internalUrl }) => internalUrl).join(','),
    }
    return { workerUrl, worker: await start('worker', `${workerUrl}/readyz`, { ...env, ...reach }) }
  }
  const apis = [await startApi()]
  while (apis.length < each) apis.push(await startApi())
  const all: (Awaited<ReturnType<typeof startApi>> & Awaited<ReturnType<typeof startWorker>>)[] = []
  for (const one of apis) all.push({ ...one, ...(await startWorker(apis)) })
  const [first] = all
  if (first === undefined) throw new Error('at least one of each')
  let turn = 0
  const inTurn = () => all[turn++ % all.length] ?? first

  const call = async (url: string, method: string, path: string, tenantId: string, body?: unknown) => {
    const caller = { authorization: `Bearer ${key}`, 'x-tenant-id': tenantId }
    const sent =
      body === undefined
        ? { headers: caller }
        : { headers: { ...caller, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(url + path, { method, ...sent })
    const text = await response.text()
    const read = text === '' ? text : JSON.parse(text)
    const { status } = response
    checks[url]?.({ method, url: path, status, headers: Object.fromEntries(response.headers), body: read })
    if (!response.ok) throw new Error(`${method} ${path}: ${status} ${text}`)
    return text === '' ? null : read
  }
  const { apiUrl, internalUrl, workerUrl, api, worker } = first
  return {
    apiUrl,
    internalUrl,
    workerUrl,
    temporal: { address: servers.temporalAddress, namespace: servers.namespace },
    key,
    lines,
    api,
    worker,
    /** The started APIs and workers. */
    all,
    /** Calls the public interface, as a person of the tenant would. */
    tenantCall: (method: string, path: string, tenantId: string, body?: unknown) =>
      call(inTurn().apiUrl, method, path, tenantId, body),
    call: (method: string, path: string, tenantId: string, body?: unknown) =>
      call(inTurn().internalUrl, method, path, tenantId, body),
    /** The rows of a database query, run as the superuser. */
    rows: (query: string): Promise<readonly object[]> => administrate(query, servers.databaseUrl),
    mails: async (): Promise<InboxMail[]> =>
      (await fetch(inbox.inboxUrl, { headers: { accept: 'application/json' } })).json() as Promise<InboxMail[]>,
    carrierStats: async () => {
      const headers = { authorization: `Bearer ${servers.carrierSecret}` }
      const answer = await fetch(`${servers.carrierUrl}/stats`, { headers })
      return (await answer.json()) as { effects: number; doubleEffects: number; byOperation: Record<string, number> }
    },
    stop: async () => {
      await Promise.all(all.map((one) => one.worker.stop()))
      await Promise.all(all.map((one) => one.api.stop()))
      await login.drop()
      await servers.stop()
      await inbox.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
export type Service = Awaited<ReturnType<typeof startService>>
