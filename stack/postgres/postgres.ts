/**
 * The embedded PostgreSQL: a real server on loopback, with its data in a folder.
 *
 *   <folder>/cluster       the database cluster, and server.log
 *   <folder>/password      of the only user, mode 0600
 *   <folder>/port          the port of the last run, reused if it is free
 *   <folder>/owner.pid     the process that runs the server
 *
 * The server has its own session. It survives the death of its parent (SIGKILL), and the terminal's Ctrl-C does not
 * reach it. The next start finds it by the cluster's postmaster.pid and adopts it.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, chmod, chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { boundServerLog } from '../bound-server-log.ts'
import { freePort, isPortFree, LOOPBACK, requireFreePort } from '../free-port.ts'
import { makeWayToDatabase } from '../make-own-folder.ts'
import { claimFolder, commandOf } from '../pids.ts'
import { canEnter, type PostgresUser, postgresPrograms, postgresUser, standInFor } from './postgres-programs.ts'

const USER = 'simherd'
const START_TIMEOUT_SECONDS = 60
/** Settings for temporary databases. */
const TEMPORARY = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
}

export interface PostgresOptions {
  readonly dataDir: string
  /** Default: the port of the last run if it is free, else any free one. */
  readonly port?: number
  /** Called once per step that takes a moment, and once for anything that the caller should know. */
  readonly log?: (line: string) => void
  /** Default true. False gives up crash safety and autovacuum for speed: for temporary databases. */
  readonly durable?: boolean
  /** Folder with `initdb`, `pg_ctl` and `postgres`. Default: the embedded ones. */
  readonly programs?: string
}

export interface Postgres {
  /** Of the database `simherd`, with user and password. */
  readonly url: string
  readonly pid: number
  readonly stop: () => Promise<void>
}

interface Cluster {
  readonly dir: string
  readonly folder: string
  readonly programs: string
  readonly user: PostgresUser | undefined
}

const logFileOf = ({ dir }: Cluster): string => join(dir, 'server.log')

/**
 * Starts PostgreSQL with a folder, or adopts the server that a killed process left running there. Safe with an existing
 * folder: its data stays.
 *
 * @throws Error with the fix: port in use, disk full, folder in use by another living process
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const log = options.log ?? (() => undefined)
  const user = await postgresUser()
  const folder = await chooseFolder(options.dataDir, user, log)
  await makeWayToDatabase(folder)
  const giveBack = await claimFolder(folder, 'the database')
  try {
    const cluster: Cluster = {
      folder,
      dir: join(folder, 'cluster'),
      programs: options.programs ?? (await postgresPrograms(user)),
      user,
    }
    if (!(await exists(join(cluster.dir, 'PG_VERSION')))) {
      log('making a database cluster')
      await initialise(cluster)
    }
    const { pid, port } = (await adopt(cluster, options.port, log)) ?? (await start(cluster, options))
    await ensureDatabase(cluster, port)
    const url = await urlOf(cluster, port, 'simherd')
    const leaveLog = await boundServerLog(logFileOf(cluster))
    const stop = async () => {
      leaveLog()
      await stopServer(cluster)
      await giveBack()
    }
    return { url, pid, stop }
  } catch (error) {
    await giveBack()
    throw explain(error, folder)
  }
}

async function chooseFolder(
  dataDir: string,
  user: PostgresUser | undefined,
  log: (line: string) => void,
): Promise<string> {
  const wanted = resolve(dataDir)
  if (user === undefined || (await canEnter(wanted, user))) return wanted
  const folder = standInFor(wanted)
  log(`the user 'postgres' cannot enter ${wanted}; the database is in ${folder}`)
  return folder
}

/**
 * Makes the cluster under a temporary name, and moves it to its place when it is complete. So a crash never leaves an
 * incomplete one.
 */
async function initialise({ dir, folder, programs, user }: Cluster): Promise<void> {
  const unfinished = `${dir}.new`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { mode: 0o700 })
  const password = randomBytes(18).toString('hex')
  const secrets = await mkdtemp(join(tmpdir(), 'simherd-'))
  const passwordFile = join(secrets, 'password')
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    if (user !== undefined) {
      for (const path of [unfinished, secrets, passwordFile]) await chown(path, user.uid, user.gid)
    }
    // The built-in locale sorts the same on every machine.
    await runProgram({ programs, user }, 'initdb', [
      `--pgdata=${unfinished}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...((await majorVersion(programs)) < 17
        ? ['--locale=C.UTF-8']
        : ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
    ])
  } finally {
    await rm(secrets, { recursive: true, force: true })
  }
  await writeFile(join(folder, 'password'), `${password}\n`, { mode: 0o600 })
  await chmod(join(folder, 'password'), 0o600)
  await rename(unfinished, dir)
}

/** The major version of the programs in a folder. */
async function majorVersion(programs: string): Promise<number> {
  const { stdout } = await promisify(execFile)(join(programs, 'postgres'), ['--version'])
  return Number(/ (\d+)/.exec(stdout)?.[1])
}

interface Running {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

/** The server that runs on a cluster, by its postmaster.pid. Removes that file if its process is no such server. */
async function running({ dir }: Cluster): Promise<Running | undefined> {
  const file = join(dir, 'postmaster.pid')
  const note = await readFile(file, 'utf8').catch(() => undefined)
  if (note === undefined) return undefined
  const [pid = '', , , port = '', , , , status = ''] = note.split('\n').map((line) => line.trim())
  if ((await commandOf(Number(pid))).includes(dir)) {
    return { pid: Number(pid), port: Number(port), ready: status === 'ready' }
  }
  // PostgreSQL would refuse to start if the pid now belongs to another program.
  await rm(file, { force: true })
  return undefined
}

async function adopt(
  cluster: Cluster,
  port: number | undefined,
  log: (line: string) => void,
): Promise<Running | undefined> {
  const found = await running(cluster)
  if (found === undefined) return undefined
  const wanted = found.ready && (port === undefined || port === found.port)
  // A server that was just killed may still be in the list of processes.
  if (wanted && (await answers(await urlOf(cluster, found.port, 'postgres')))) {
    log(`taking over the database server that is still running (process ${found.pid})`)
    return found
  }
  log(`stopping a database server that was left running (process ${found.pid})`)
  await stopServer(cluster)
  return undefined
}

async function start(cluster: Cluster, options: PostgresOptions): Promise<Running> {
  const port = options.port ?? (await usualPort(cluster.folder))
  await requireFreePort(port, 'the embedded PostgreSQL')
  const logFile = logFileOf(cluster)
  const settings = {
    listen_addresses: LOOPBACK,
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '128MB',
    max_wal_size: '1GB',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(options.durable === false && TEMPORARY),
  }
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`)
  const args = ['start', '-D', cluster.dir, '-l', logFile, '-w', '-t', String(START_TIMEOUT_SECONDS)]
  try {
    await retryOnSharedMemory(logFile, () =>
      runProgram(cluster, 'pg_ctl', [...args, '-o', `-p ${port} ${flags.join(' ')}`]),
    )
  } catch (error) {
    throw new Error(`PostgreSQL did not start; the end of its log:\n${await endOf(logFile)}`, { cause: error })
  }
  const found = await running(cluster)
  if (found === undefined) throw new Error(`PostgreSQL ended at once; the end of its log:\n${await endOf(logFile)}`)
  await writeFile(join(cluster.folder, 'port'), `${port}\n`)
  return found
}

/**
 * After a SIGKILL of the server, its last sessions take a moment to notice. Until then, a new server refuses to start.
 */
async function retryOnSharedMemory(logFile: string, run: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (attempt === 20 || !(await endOf(logFile)).includes('pre-existing shared memory block')) throw error
      await sleep(500)
    }
  }
}

async function usualPort(folder: string): Promise<number> {
  const last = Number(await readFile(join(folder, 'port'), 'utf8').catch(() => '0'))
  return last > 0 && (await isPortFree(last)) ? last : await freePort()
}

async function stopServer(cluster: Cluster): Promise<void> {
  if ((await running(cluster)) === undefined) return
  const stop = (mode: string) =>
    runProgram(cluster, 'pg_ctl', ['stop', '-D', cluster.dir, '-w', '-t', '30', '-m', mode])
  try {
    await stop('fast')
  } catch (error) {
    if ((await running(cluster)) === undefined) return
    await stop('immediate').catch(() => {
      throw error
    })
  }
}

async function urlOf({ folder }: Cluster, port: number, database: string): Promise<string> {
  const password = (await readFile(join(folder, 'password'), 'utf8')).trim()
  return `postgres://${USER}:${password}@${LOOPBACK}:${port}/${database}`
}

/** Whether a server is there, even if it refuses connections at the moment. */
async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  // A connection may be lost at any time after it is made.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch (error) {
    return error instanceof pg.DatabaseError
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function ensureDatabase(cluster: Cluster, port: number): Promise<void> {
  const client = new pg.Client({ connectionString: await urlOf(cluster, port, 'postgres') })
  await client.connect()
  try {
    const { rowCount } = await client.query(`select from pg_database where datname = 'simherd'`)
    if (rowCount === 0) await client.query('create database simherd')
  } finally {
    await client.end()
  }
}

function runProgram(
  { programs, user }: Pick<Cluster, 'programs' | 'user'>,
  name: 'initdb' | 'pg_ctl',
  args: readonly string[],
): Promise<void> {
  return new Promise((done, fail) => {
    const ids = user === undefined ? {} : { uid: user.uid, gid: user.gid }
    // Not the caller's environment: PGPORT and similar variables would change the server. Not the caller's folder: the
    // user may not be able to enter it.
    const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
    execFile(join(programs, name), args, { ...ids, cwd: tmpdir(), env }, (error, stdout, stderr) => {
      if (error === null) done()
      else fail(new Error(`${name} failed: ${stderr.trim() || stdout.trim() || error.message}`, { cause: error }))
    })
  })
}

const endOf = async (file: string): Promise<string> =>
  (await readFile(file, 'utf8').catch(() => '')).trim().split('\n').slice(-8).join('\n')

function explain(error: unknown, folder: string): unknown {
  const text = error instanceof Error ? `${error.message} ${String(error.cause)}` : String(error)
  if (!/No space left on device|Check free disk space|ENOSPC/.test(text)) return error
  return new Error(`no space left on the disk of ${folder}: free some, or choose another DATA_DIR`, { cause: error })
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
