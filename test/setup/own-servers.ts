/**
 * Servers for one test, each a process that can be killed and then continues: PostgreSQL from its folder, Temporal from
 * its SQLite file, the simulated carrier from its journal. Redis returns empty on the same port.
 */
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Knobs } from '../../stack/carrier/knobs.ts'
import { userCacheDir } from '../../stack/downloads.ts'
import { freePort } from '../../stack/free-port.ts'
import { startedAt } from '../../stack/pids.ts'
import { startPostgres } from '../../stack/postgres/postgres.ts'
import { startRedis } from '../../stack/redis.ts'
import { supervise } from '../../stack/supervise.ts'
import { findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { migrate } from '../../store/migrate/migrate.ts'
import { noteServer } from './notes.ts'
import type { Servers } from './service.ts'

const CARRIER = fileURLToPath(new URL('../../stack/carrier/main.ts', import.meta.url))
const SECRET = 'secret-of-the-tests'

/** A server that can be killed and started again. */
interface Killable {
  /** Of the process that runs now. */
  readonly pid: () => number | undefined
  /** Kills it, and starts it again after `awayMs` at the earliest, when `meanwhile` has ended. */
  readonly outage: (awayMs: number, meanwhile?: () => Promise<void>) => Promise<void>
  readonly stop: () => Promise<void>
}

/** A line of the carrier's journal: the carrier's own record, whatever others report. */
export interface CarrierEntry {
  readonly at: string
  readonly outcome: 'done' | 'already' | 'duplicate' | 'refused' | 'failed'
  readonly ticketId: string
  readonly operation: string
  readonly iccid: string
}

export interface OwnServers extends Servers {
  readonly postgres: Killable
  readonly temporal: Killable
  readonly redis: Killable
  readonly carrier: {
    /** Sends SIGKILL; the supervisor starts it again, and it gets the same knobs. */
    readonly outage: () => Promise<void>
    readonly turn: (change: Partial<Knobs>) => Promise<void>
    readonly journal: () => Promise<CarrierEntry[]>
  }
}

/**
 * Starts the servers.
 *
 * @param withRedis queues in Redis, which must be installed; else in PostgreSQL
 */
export async function ownServers({ withRedis = false } = {}): Promise<OwnServers> {
  const folder = await mkdtemp(join(process.env.TEST_DATABASES ?? tmpdir(), 'simherd-own-'))
  // The database has a user of its own if root runs the tests.
  await chmod(folder, 0o755)
  const postgres = await ownPostgres(join(folder, 'postgres'))
  const temporal = await ownTemporal(join(folder, 'temporal'))
  const redis = withRedis ? await ownRedis() : undefined
  const carrier = await ownCarrier(join(folder, 'carrier.jsonl'))
  return {
    databaseUrl: postgres.url,
    temporalAddress: temporal.address,
    namespace: 'default',
    redisUrl: redis?.url ?? '',
    carrierUrl: carrier.url,
    carrierSecret: SECRET,
    postgres,
    temporal,
    redis: redis ?? {
      pid: () => undefined,
      outage: () => Promise.reject(new Error('there is no Redis')),
      stop: async () => undefined,
    },
    carrier,
    stop: async () => {
      await carrier.stop()
      await redis?.stop()
      await temporal.stop()
      await postgres.stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

interface Started {
  readonly pid: number
  readonly stop: () => Promise<void>
}

/** @param start starts it with the same data on the same port */
export async function killable<T extends Started>(start: () => Promise<T>): Promise<{ first: T } & Killable> {
  const noted = async () => {
    const server = await start()
    await noteServer(server.pid)
    return server
  }
  const first = await noted()
  let server = first
  const outage: Killable['outage'] = async (awayMs, meanwhile) => {
    process.kill(server.pid, 'SIGKILL')
    while ((await startedAt(server.pid)) !== undefined) await sleep(10)
    try {
      await Promise.all([sleep(awayMs), meanwhile?.()])
    } finally {
      server = await noted()
    }
  }
  return { first, pid: () => server.pid, outage, stop: () => server.stop() }
}

/** Durable, as in production: what it reported as committed survives. */
async function ownPostgres(dataDir: string) {
  await mkdir(dataDir)
  await chmod(dataDir, 0o755)
  const { first, ...server } = await killable(() => startPostgres({ dataDir }))
  await migrate(first.url)
  return { ...server, url: first.url }
}

/** Not durable: what it wrote is in the operating system's cache, which survives the kill. */
async function ownTemporal(dataDir: string) {
  const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress: console.log })
  const port = await freePort()
  const { first, ...server } = await killable(() => startTemporal({ program, dataDir, port, durable: false }))
  return { ...server, address: first.address }
}

async function ownRedis() {
  const port = await freePort()
  const start = async () => {
    const redis = await startRedis({ port })
    if (redis === undefined) throw new Error('redis-server is not on PATH: call requireRedis first')
    return redis
  }
  const { first, ...server } = await killable(start)
  return { ...server, url: first.url }
}

async function ownCarrier(file: string) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
  const isUp = async () => (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(30_000) })).ok
  let knobs: Partial<Knobs> = {}
  const supervised = await supervise({
    name: 'carrier',
    args: [CARRIER],
    env: { ...process.env, CARRIER_FILE: file, CARRIER_PORT: String(port), CARRIER_SECRET: SECRET },
    onLine: () => undefined,
    ready: isUp,
  })
  const put = async () => {
    const response = await fetch(`${url}/knobs`, { method: 'PUT', headers, body: JSON.stringify(knobs) })
    if (!response.ok) throw new Error(`the carrier's knobs: ${response.status} ${await response.text()}`)
  }
  return {
    url,
    outage: async () => {
      const pid = supervised.pid()
      if (pid === undefined) throw new Error('the carrier does not run')
      process.kill(pid, 'SIGKILL')
      while (supervised.pid() === pid || !(await isUp().catch(() => false))) await sleep(25)
      await put()
    },
    turn: async (change: Partial<Knobs>) => {
      knobs = { ...knobs, ...change }
      await put()
    },
    journal: async () =>
      (await readFile(file, 'utf8'))
        .split('\n')
        .filter(Boolean)
        .map((line): CarrierEntry => JSON.parse(line)),
    stop: supervised.stop,
  }
}
