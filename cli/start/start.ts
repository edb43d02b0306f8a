/**
 * `simherd start`: everything on one machine, in one command.
 *
 *   PostgreSQL · Temporal · carrier · inbox ──▶ migrations ──▶ API · worker ──▶ demonstration ──▶ stays up
 *
 * The servers are stopped in the opposite order. The data folder notes every process: the next start finds the leftovers
 * of a killed one.
 */

import { join, resolve } from 'node:path'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { Settings } from '../../process/settings.ts'
import { requireFreePorts } from '../../stack/free-port.ts'
import { makeOwnFolder, makeWayToDatabase } from '../../stack/make-own-folder.ts'
import { claimFolder } from '../../stack/pids.ts'
import { migrate } from '../../store/migrate/migrate.ts'
import { consoleUrlOf, makeConsoleLink } from '../commands/console.ts'
import { playDemo } from '../demo/play.ts'
import { prepareDemo, type WantedDemo } from '../demo/prepare.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { createReporter, type Reporter } from '../reporter.ts'
import { openInternalClient } from '../service.ts'
import { removeStack, type Stack, type StackFile, stackFile, typed } from '../stack-file.ts'
import { childLog } from './child-log.ts'
import { StartEnding } from './ending.ts'
import { bootstrap } from './keys.ts'
import { deleteData, endLeftovers } from './leftovers.ts'
import { choosePorts } from './ports.ts'
import { bringUp } from './processes.ts'
import { bringUpCarrier, bringUpInbox, bringUpPostgres, bringUpTemporal, type ServerContext } from './servers.ts'

export interface StartOptions {
  readonly fresh: boolean
  /** Operator keys may be made in a database of the operator's own. */
  readonly bootstrap: boolean
  readonly demo: WantedDemo
  readonly verbose: boolean
  readonly inboxPort?: number
  readonly temporalUiPort?: number
}

/**
 * Runs until a signal ends it.
 *
 * @throws CommandFailure with the fix
 */
export async function start(given: Settings, options: StartOptions): Promise<void> {
  // Files that this process and its children make are readable by their owner only: logs, journals, databases.
  process.umask(0o077)
  const settings = { ...given, DATA_DIR: resolve(given.DATA_DIR) }
  const reporter = createReporter()
  const ending = new StartEnding(reporter)
  ending.listen()
  try {
    await bringEverythingUp(settings, options, ending, reporter)
    await ending.told
  } catch (error) {
    if (!ending.signal.aborted) throw explain(error, settings)
  } finally {
    await ending.endAll()
  }
}

async function bringEverythingUp(
  settings: Settings,
  options: StartOptions,
  ending: StartEnding,
  reporter: Reporter,
): Promise<void> {
  const { DATA_DIR } = settings
  reporter.heading(`Simherd, data in ${DATA_DIR}`)
  const ports = await takePlace(settings, options, ending, reporter)
  let file: StackFile | undefined
  const pids: Partial<Stack['pids']>[] = []
  const context: ServerContext = {
    settings,
    ports,
    reporter,
    onChildLine: childLog(DATA_DIR, reporter, options.verbose),
    onPid: async (change) => {
      ending.note(change)
      pids.push(change)
      await file?.change({ pids: change })
    },
    onStop: ending.add,
  }
  const goOn = () => ending.signal.throwIfAborted()
  const servers = await bringUpServers(context, options, goOn)
  const stack = stackOf(settings, servers)
  file = stackFile(DATA_DIR, stack)
  for (const change of pids) await file.change({ pids: change })
  ending.add('', () => removeStack(DATA_DIR))

  const common = settingsOf(settings, servers, stack)
  await bringUp('api', common, `${stack.internalUrl}/readyz`, context)
  goOn()
  await bringUp('worker', common, `${stack.workerUrl}/readyz`, context)
  goOn()

  const { tenants } = servers.keys
  const demo = await prepareDemo({ stack, dataDir: DATA_DIR, tenants, wanted: options.demo })
  await file.change({ tenantId: demo.tenantId, tenantKey: demo.tenantKey, demo: demo.state })
  await file.open()
  await sayWhere(stack, settings, reporter)
  if (demo.play === undefined) {
    if (demo.why !== '') reporter.say(demo.why)
  } else {
    const state = await playDemo(demo.play, { reporter, signal: ending.signal })
    goOn()
    await file.change({ demo: state })
  }
  reporter.heading(`Everything is up. Ctrl-C ends it; "${typed(DATA_DIR, 'npm start')}" goes on with the same data.`)
}

/** Takes the data folder and the ports, after the processes of an earlier start have ended. */
async function takePlace(settings: Settings, options: StartOptions, ending: StartEnding, reporter: Reporter) {
  const { DATA_DIR } = settings
  await makeFolders(DATA_DIR).catch((error: unknown) => {
    throw new CommandFailure(`DATA_DIR ${DATA_DIR} cannot be made: ${wordsOf(error)}`, ExitCode.usage, { cause: error })
  })
  ending.add('', await claimFolder(DATA_DIR, 'the data'))
  await endLeftovers(DATA_DIR, reporter)
  if (options.fresh) await beginAnew(settings, reporter)
  await requireFreePorts([
    { port: settings.PORT, what: 'the public API', setting: 'PORT' },
    { port: settings.INTERNAL_PORT, what: 'the internal API', setting: 'INTERNAL_PORT' },
    { port: settings.WORKER_PORT, what: "the worker's health", setting: 'WORKER_PORT' },
    ...(settings.CONSOLE_PORT === 'off'
      ? []
      : [{ port: Number(settings.CONSOLE_PORT), what: 'the console', setting: 'CONSOLE_PORT' }]),
  ])
  const { ports, giveBack } = await choosePorts(
    DATA_DIR,
    dropUndefined({ inbox: options.inboxPort, temporalUi: options.temporalUiPort }),
  )
  ending.add('', giveBack)
  return ports
}

type Servers = Awaited<ReturnType<typeof bringUpServers>>

/** Brings up the servers and the schema, and makes the keys. @param goOn throws after a signal */
async function bringUpServers(context: ServerContext, options: StartOptions, goOn: () => void) {
  const { settings, reporter } = context
  const { databaseUrl } = await bringUpPostgres(context)
  goOn()
  await reporter.step('database schema', (note) => migrate(databaseUrl, { log: note }))
  const keys = await bootstrap(databaseUrl, settings.DATA_DIR, {
    mayMake: settings.DATABASE_URL === '' || options.bootstrap,
  })
  goOn()
  const temporal = await bringUpTemporal(context)
  goOn()
  const inbox = await bringUpInbox(context)
  const carrier = await bringUpCarrier(context)
  goOn()
  return { databaseUrl, keys, temporal, inbox, carrier }
}

function stackOf(settings: Settings, { databaseUrl, keys, temporal, inbox }: Servers): Stack {
  const apiUrl = `http://127.0.0.1:${settings.PORT}`
  return {
    apiUrl,
    internalUrl: `http://127.0.0.1:${settings.INTERNAL_PORT}`,
    workerUrl: `http://127.0.0.1:${settings.WORKER_PORT}`,
    docsUrl: `${apiUrl}/docs`,
    consoleUrl: consoleUrlOf(settings),
    tenantId: null,
    tenantKey: null,
    operatorKey: keys.operatorKey,
    databaseUrl,
    redisUrl: settings.REDIS_URL || null,
    temporalAddress: temporal.address,
    temporalUiUrl: temporal.uiUrl,
    smtpUrl: inbox.smtpUrl,
    inboxUrl: inbox.inboxUrl,
    pids: { api: null, worker: null, postgres: null, temporal: null, carrier: null },
    demo: null,
  }
}

/** A webhook's receiver under development runs on this machine. */
const THIS_MACHINE = '127.0.0.0/8,::1/128'

/** The settings of API and worker. */
const settingsOf = (
  settings: Settings,
  { databaseUrl, keys, temporal, inbox, carrier }: Servers,
  { apiUrl, consoleUrl }: Stack,
): Partial<Settings> => ({
  SERVICE_URL: settings.SERVICE_URL || apiUrl,
  CONSOLE_URL: consoleUrl ?? '',
  WEBHOOK_ALLOW: settings.WEBHOOK_ALLOW || THIS_MACHINE,
  DATA_DIR: settings.DATA_DIR,
  DATABASE_URL: databaseUrl,
  TEMPORAL_ADDRESS: temporal.address,
  ...(temporal.uiUrl === null ? {} : { TEMPORAL_UI_URL: temporal.uiUrl }),
  PORT: settings.PORT,
  INTERNAL_PORT: settings.INTERNAL_PORT,
  WORKER_PORT: settings.WORKER_PORT,
  CONSOLE_PORT: settings.CONSOLE_PORT,
  SMTP_URL: inbox.smtpUrl,
  CARRIER_URL: carrier.url,
  CARRIER_SECRET: carrier.secret,
  SERVICE_KEY: settings.SERVICE_KEY || keys.serviceKey,
})

/** Makes the data folder and those in it, and closes existing ones to other users. */
async function makeFolders(dataDir: string): Promise<void> {
  await makeWayToDatabase(dataDir)
  for (const name of ['temporal', 'mails', 'carrier', 'logs']) await makeOwnFolder(join(dataDir, name))
}

async function beginAnew(settings: Settings, reporter: Reporter): Promise<void> {
  if (settings.DATABASE_URL !== '') {
    throw new CommandFailure(
      '--fresh does not empty a database of yours: empty the one at DATABASE_URL yourself, or start without --fresh',
      ExitCode.usage,
    )
  }
  await reporter.step({ doing: 'deleting old data', done: 'old data deleted' }, () => deleteData(settings.DATA_DIR))
}

async function sayWhere(stack: Stack, settings: Settings, reporter: Reporter): Promise<void> {
  reporter.heading('Where to look')
  if (stack.consoleUrl !== null) {
    const service = openInternalClient({ url: stack.internalUrl, key: stack.operatorKey })
    const { url } = await makeConsoleLink(service, stack.consoleUrl)
    reporter.say(`console          ${url}`)
    reporter.say(
      `                 signs in once, within 15 minutes; "${typed(settings.DATA_DIR, 'npx simherd console')}"`,
    )
    reporter.say('                 makes another link')
  }
  reporter.say(`public API       ${stack.docsUrl}`)
  reporter.say(`internal API     ${stack.internalUrl}/docs (readiness: ${stack.internalUrl}/readyz)`)
  if (stack.temporalUiUrl !== null) reporter.say(`workflows        ${stack.temporalUiUrl}`)
  if (stack.inboxUrl !== null) reporter.say(`e-mails          ${stack.inboxUrl}`)
  reporter.say(`keys and pids    ${settings.DATA_DIR}/stack.json`)
  reporter.say(`logs             ${settings.DATA_DIR}/logs`)
}

function explain(error: unknown, settings: Settings): unknown {
  if (error instanceof CommandFailure) return error
  if (/ENOSPC|No space left/i.test(wordsOf(error))) {
    return new CommandFailure(
      `no space left on the disk of ${settings.DATA_DIR}: free some, or choose another DATA_DIR`,
      ExitCode.failure,
      { cause: error },
    )
  }
  // A server's message about its failed start is meant to be read. A stack would bury it.
  return error instanceof TypeError ? error : new CommandFailure(wordsOf(error), ExitCode.failure, { cause: error })
}
