/**
 * The embedded Temporal server: the development server of the Temporal command line tool, on loopback.
 *
 * It has its own session, so the terminal's Ctrl-C does not reach it before the processes that need it. A server
 * that outlived a killed parent is found by `temporal.pid` and replaced.
 */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import proto from '@temporalio/proto'
import { boundServerLog } from '../bound-server-log.ts'
import { freePort, LOOPBACK, requireFreePort } from '../free-port.ts'
import { endProcess, readPid, writePid } from '../pids.ts'

/** The server is up in a second. One minute is for a busy machine. */
const START_TIMEOUT_MS = 60_000
const PID_FILE = 'temporal.pid'
/** How often a server is started that ends at once. */
const ATTEMPTS = 3
const NAMESPACE = 'default'
/** How long ended workflows are kept: 35 days, for a month and some days to look back at it. */
const RETENTION_S = 35 * 86_400

export interface TemporalOptions {
  /** Path of the `temporal` program, see `findTemporalServer`. */
  readonly program: string
  /** Where the state (SQLite) and the log are kept. Without it the state is in memory. */
  readonly dataDir?: string
  /** Default: any free port; the same for `uiPort`. */
  readonly port?: number
  readonly uiPort?: number
  /**
   * Default true. False gives up safety against a crash of the machine, but not of the server, for speed: for tests.
   */
  readonly durable?: boolean
  /** Settings of the server by name, for tests of states that would otherwise take too long to reach. */
  readonly settings?: Readonly<Record<string, number>>
  readonly log?: (line: string) => void
}

export interface Temporal {
  readonly address: string
  readonly uiUrl: string
  readonly pid: number
  readonly stop: () => Promise<void>
}

/**
 * Starts a Temporal server, and waits until its `default` namespace responds. The namespace keeps ended workflows for
 * 35 days. With an existing folder it continues with the state there.
 *
 * @throws Error with the fix: port in use, disk full, or the end of the server's log
 */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const log = options.log ?? (() => undefined)
  if (options.dataDir !== undefined) await endLeftServer(options.dataDir, log)
  const port = await choosePort(options.port, 'the embedded Temporal server')
  const uiPort = await choosePort(options.uiPort, "Temporal's own page")
  const address = `${LOOPBACK}:${port}`
  const folder = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'simherd-temporal-')))
  await mkdir(folder, { recursive: true })
  const pidFile = join(folder, PID_FILE)
  const logFile = join(folder, 'temporal.log')
  const args = ['server', 'start-dev', '--ip', LOOPBACK, '--port', String(port), '--ui-port', String(uiPort)]
  args.push('--log-level', 'warn')
  const settings = Object.entries(options.settings ?? {})
  args.push(...settings.flatMap(([name, value]) => ['--dynamic-config-value', `${name}=${value}`]))
  if (options.dataDir !== undefined) args.push('--db-filename', join(folder, 'temporal.db'), ...pragmasOf(options))
  const forget = () =>
    options.dataDir === undefined ? rm(folder, { recursive: true, force: true }) : rm(pidFile, { force: true })
  const pid = await launchPatiently(() => launch(options.program, args, logFile), address, pidFile).catch(
    async (error: unknown) => {
      const told = await endOf(logFile)
      await forget()
      if (/no space left|disk I\/O error|database or disk is full/i.test(told)) {
        throw new Error(`no space left on the disk of ${folder}: free some, or choose another DATA_DIR`, {
          cause: error,
        })
      }
      throw new Error(`the Temporal server did not start; the end of its log:\n${told}`, { cause: error })
    },
  )
  const leaveLog = await boundServerLog(logFile)
  const stop = async () => {
    leaveLog()
    await endProcess(pid)
    await forget()
  }
  return { address, uiUrl: `http://${LOOPBACK}:${uiPort}`, pid, stop }
}

/**
 * Starts the server, and repeats that if it ends at once. It chooses ports of its own, and two servers that start
 * together may choose the same.
 *
 * @returns its process id, once it responds
 * @throws Error after three attempts, or if it does not respond in time
 */
async function launchPatiently(start: () => Promise<number>, address: string, pidFile: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const pid = await start()
    await writePid(pidFile, pid)
    try {
      await waitUntilHealthy(address, pidFile)
      await rememberEnded(address)
      return pid
    } catch (error) {
      const hasEnded = (await readPid(pidFile)) === undefined
      await endProcess(pid)
      if (!hasEnded || attempt === ATTEMPTS) throw error
    }
  }
}

/** A write-ahead log is as safe as a rollback journal, and halves the server's time for a workflow. */
function pragmasOf({ durable = true }: TemporalOptions): string[] {
  const pragmas = ['journal_mode=wal', `synchronous=${durable ? 'full' : 'off'}`]
  return pragmas.flatMap((pragma) => ['--sqlite-pragma', pragma])
}

async function endLeftServer(dataDir: string, log: (line: string) => void): Promise<void> {
  const left = await readPid(join(dataDir, PID_FILE))
  if (left === undefined) return
  log(`stopping a Temporal server that was left running (process ${left})`)
  await endProcess(left)
}

async function choosePort(port: number | undefined, what: string): Promise<number> {
  if (port === undefined || port === 0) return freePort()
  await requireFreePort(port, what)
  return port
}

/** Output goes to a file, from its beginning. A pipe would break with its reader, and end the server. */
async function launch(program: string, args: readonly string[], logFile: string): Promise<number> {
  await rm(logFile, { force: true })
  const output = await open(logFile, 'a')
  try {
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
      // Nothing leaves the machine: neither the server nor its page checks for newer versions.
      env: { ...process.env, TEMPORAL_VERSION_CHECK_DISABLED: '1', TEMPORAL_NOTIFY_ON_NEW_VERSION: 'false' },
    })
    await new Promise<void>((done, fail) => {
      child.once('spawn', done)
      child.once('error', fail)
    })
    child.unref()
    if (child.pid === undefined) throw new Error(`${program} did not start`)
    return child.pid
  } finally {
    await output.close()
  }
}

async function waitUntilHealthy(address: string, pidFile: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS
  for (;;) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 1_000 })
      try {
        await connection.workflowService.describeNamespace({ namespace: NAMESPACE })
        return
      } finally {
        await connection.close()
      }
    } catch (error) {
      if ((await readPid(pidFile)) === undefined) throw new Error('the Temporal server ended', { cause: error })
      if (Date.now() > deadline) throw error
      await sleep(100)
    }
  }
}

/**
 * Extends how long ended workflows are kept. The program makes its namespace with one day; a longer time is left as it
 * is.
 */
async function rememberEnded(address: string): Promise<void> {
  const connection = await Connection.connect({ address })
  try {
    const { config } = await connection.workflowService.describeNamespace({ namespace: NAMESPACE })
    if (Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) >= RETENTION_S) return
    const workflowExecutionRetentionTtl = proto.google.protobuf.Duration.fromObject({ seconds: RETENTION_S })
    await connection.workflowService.updateNamespace({
      namespace: NAMESPACE,
      config: { workflowExecutionRetentionTtl },
    })
  } finally {
    await connection.close()
  }
}

const endOf = async (file: string): Promise<string> =>
  (await readFile(file, 'utf8').catch(() => '')).trim().split('\n').slice(-8).join('\n')
