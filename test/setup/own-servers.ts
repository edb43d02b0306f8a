/**
 * Servers of a test's own, each a process that can be killed and comes back where it was: PostgreSQL on its folder,
 * Temporal on its SQLite file, Redis on its port with nothing in it, the simulated carrier on its journal.
 */
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Knobs } from '../../stack/carrier/knobs.ts'
import { userCacheDir } from '../../stack/downloads.ts'
import { startedAt } from '../../stack/pids.ts'
import { freePort } from '../../stack/ports.ts'
import { startPostgres } from '../../stack/postgres/postgres.ts'
import { startRedis } from '../../stack/redis.ts'
import { supervise } from '../../stack/supervise.ts'
import { findTemporalServer } from '../../stack/temporal/binary.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { migrate } from '../../store/migrate.ts'
import { noteServer } from './notes.ts'
import type { Servers } from './service.ts'

const CARRIER = fileURLToPath(new URL('../../stack/carrier/main.ts', import.meta.url))
const SECRET = 'secret-of-the-tests'

/** A server that is killed, away for a while, and back. */
interface Killable {
  /** @returns when it is back */
  readonly outage: (awayMs: number) => Promise<void>
  readonly stop: () => Promise<void>
}

/** A line of the carrier's journal. Its own record, whoever says what. */
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
    /** SIGKILL; its supervisor starts it again, and the knobs are as they were. */
    readonly outage: () => Promise<void>
    readonly turn: (change: Partial<Knobs>) => Promise<void>
    readonly journal: () => Promise<CarrierEntry[]>
  }
}

/**
 * Starts them.
 *
 * @param withRedis queues in a Redis, which has to be installed; else in PostgreSQL
 */
export async function ownServers({ withRedis = false } = {}): Promise<OwnServers> {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-own-'))
  // For the database's own user, when root runs the tests.
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
    redis: redis ?? { outage: () => Promise.reject(new Error('there is no Redis')), stop: async () => undefined },
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

async function killable<T extends Started>(start: () => Promise<T>): Promise<{ first: T } & Killable> {
  const noted = async () => {
    const server = await start()
    await noteServer(server.pid)
    return server
  }
  const first = await noted()
  let server = first
  const outage = async (awayMs: number) => {
    process.kill(server.pid, 'SIGKILL')
    while ((await startedAt(server.pid)) !== undefined) await sleep(10)
    await sleep(awayMs)
    server = await noted()
  }
  return { first, outage, stop: () => server.stop() }
}

/** Durable, as in production: what it has said to have committed survives. */
async function ownPostgres(dataDir: string) {
  await mkdir(dataDir)
  await chmod(dataDir, 0o755)
  const { first, ...server } = await killable(() => startPostgres({ dataDir }))
  await migrate(first.url)
  return { ...server, url: first.url }
}

/** What it has written is with the operating system, which is not killed. */
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
    if (redis === undefined) throw new Error('redis-server is not on PATH: ask requireRedis first')
    return redis
  }
  const { first, ...server } = await killable(start)
  return { ...server, url: first.url }
}

async function ownCarrier(file: string) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
  const isUp = async () => (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(1000) })).ok
  let knobs: Partial<Knobs> = {}
  const supervised = await supervise({
    name: 'carrier',
    args: [CARRIER],
    env: { ...process.env, CARRIER_FILE: file, CARRIER_PORT: String(port), CARRIER_SECRET: SECRET },
    onLine: () => undefined,
    ready: isUp,
  })
  const put = async () => {
    const answer = await fetch(`${url}/knobs`, { method: 'PUT', headers, body: JSON.stringify(knobs) })
    if (!answer.ok) throw new Error(`the carrier's knobs: ${answer.status} ${await answer.text()}`)
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
