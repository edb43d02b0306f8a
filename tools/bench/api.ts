/** Processes of the service on a database, for a bench. */
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openWorkflowClient } from '../../adapters/temporal/client.ts'
import { startApi as startApiHere } from '../../api/main.ts'
import { childEnv } from '../../process/child-env.ts'
import type { Settings } from '../../process/settings.ts'
import { rulesInForce } from '../../service/rules/rules-in-force.ts'
import { freePort } from '../../stack/free-port.ts'
import { supervise } from '../../stack/supervise.ts'
import { bundleHeader, bundleWorkflows } from '../../worker/bundle-workflows.ts'
import type { Estate } from './estate.ts'

/** Prints the beginning of a line, unless it is of a request. Whole stacks add nothing. */
const say = (line: string) => {
  if (!line.includes('"level":30,')) console.error(line.slice(0, 300))
}
const COMMAND = fileURLToPath(new URL('../../cli/simherd.js', import.meta.url))

/** @param settings override those of the process, which reaches no Temporal */
export async function startApi(databaseUrl: string, settings: Partial<Settings> = {}) {
  const [port, internalPort] = [await freePort(), await freePort()]
  const apiUrl = `http://127.0.0.1:${port}`
  const internalUrl = `http://127.0.0.1:${internalPort}`
  const api = await supervise({
    name: 'api',
    args: [COMMAND, 'api'],
    env: childEnv({
      DATABASE_URL: databaseUrl,
      REDIS_URL: '',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      PORT: port,
      INTERNAL_PORT: internalPort,
      CONSOLE_PORT: 'off',
      LOG_LEVEL: 'warn',
      STOP_DELAY: 'PT0S',
      ...settings,
    }),
    onLine: say,
    ready: async () => (await fetch(`${internalUrl}/healthz`)).ok,
  })
  return { apiUrl, internalUrl, pid: api.pid() ?? 0, stop: () => api.stop() }
}

/**
 * An API and a worker, as `simherd start` starts them, with the queues in PostgreSQL. There is no carrier and no SMTP
 * server, and no Temporal unless the settings name one.
 */
export async function startApiAndWorker(
  { url, operatorKey }: Pick<Estate, 'url' | 'operatorKey'>,
  settings: Partial<Settings> = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-bench-'))
  // Bundled by the worker, it would add to its peak of memory.
  const bundle = join(folder, 'workflows.js')
  await writeFile(bundle, `${await bundleHeader()}${await bundleWorkflows()}`)
  const api = await startApi(url, { RATE_LIMIT: 0, ...settings })
  const workerPort = await freePort()
  const worker = await supervise({
    name: 'worker',
    args: [COMMAND, 'worker'],
    env: childEnv({
      DATABASE_URL: url,
      REDIS_URL: '',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      SERVICE_BASE_URL: api.apiUrl,
      SERVICE_INTERNAL_URL: api.internalUrl,
      SERVICE_KEY: operatorKey,
      CARRIER_URL: 'http://127.0.0.1:1',
      CARRIER_SECRET: 'none',
      SMTP_URL: 'smtp://127.0.0.1:1',
      WORKER_PORT: workerPort,
      WORKFLOW_BUNDLE: bundle,
      // Without Temporal a worker warns all the time.
      LOG_LEVEL: 'error',
      ...settings,
    }),
    onLine: say,
    ready: async () => (await fetch(`http://127.0.0.1:${workerPort}/healthz`)).ok,
  })
  return {
    apiUrl: api.apiUrl,
    internalUrl: api.internalUrl,
    /** The most memory of each so far, as words. */
    memory: () => `API ${peakMiB(api.pid).toFixed(0)} MiB, worker ${peakMiB(worker.pid() ?? 0).toFixed(0)} MiB`,
    /** CPU seconds of each so far. */
    cpuSeconds: () => ({ api: cpuSeconds(api.pid), worker: cpuSeconds(worker.pid() ?? 0) }),
    stop: async () => {
      await Promise.all([worker.stop(), api.stop()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The API of an estate in this process. It reaches no Temporal. */
export const apiOf = (estate: Estate) =>
  startApiHere({
    store: estate.store,
    rules: rulesInForce(),
    databaseUrl: estate.url,
    host: '127.0.0.1',
    port: 0,
    internalHost: '127.0.0.1',
    internalPort: 0,
    dependencies: [],
    billingCycle: 'P1M',
    currency: 'EUR',
    workflowClient: openWorkflowClient({ address: '127.0.0.1:1', namespace: 'default' }),
    workflowOptions: { closeAfter: 'PT6H' },
    esim: { smdpHost: 'smdp.simherd.example', iccidPrefix: '8999901' },
  })

/** The most memory that a process has had, in MiB. Linux only. */
export function peakMiB(pid: number): number {
  const [, kB] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kB) / 1024
}

/**
 * CPU seconds that a process has taken; with its children, also those that have ended. Linux only.
 *
 * @throws Error if there is none with this id
 */
export function cpuSeconds(pid: number, of: 'alone' | 'and its children' = 'alone'): number {
  const own = timesOf(pid)
  if (own === undefined) throw new Error(`there is no process ${pid}`)
  if (of === 'alone') return own.seconds
  const others = readdirSync('/proc').flatMap((name) => timesOf(Number(name)) ?? [])
  const living = others.filter(({ parent }) => parent === pid).reduce((sum, { seconds }) => sum + seconds, 0)
  return own.seconds + own.endedChildren + living
}

/** Of /proc/<pid>/stat, in seconds; its unit is the hundredth. */
function timesOf(pid: number) {
  if (!Number.isInteger(pid)) return undefined
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before the last parenthesis may have any characters.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [parent = 0] = fields.slice(1, 2)
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
    return { parent, seconds: (user + system) / 100, endedChildren: (endedUser + endedSystem) / 100 }
  } catch {
    return undefined
  }
}
