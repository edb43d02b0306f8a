/** The embedded servers. Each is started only if no setting names a real one. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { childEnv } from '../../process/child-env.ts'
import type { Settings } from '../../process/settings.ts'
import { userCacheDir } from '../../stack/downloads.ts'
import { requireFreePort } from '../../stack/free-port.ts'
import { startInbox } from '../../stack/inbox/inbox.ts'
import { waitForEnd } from '../../stack/pids.ts'
import { startPostgres } from '../../stack/postgres/postgres.ts'
import { keepRunning, type RunningProcess, type SupervisedProcess, supervise } from '../../stack/supervise.ts'
import { findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import type { Reporter } from '../reporter.ts'
import type { Pids } from '../stack-file.ts'
import { answers } from './answers.ts'
import type { Ports } from './ports.ts'

export interface ServerContext {
  readonly settings: Settings
  readonly ports: Ports
  readonly reporter: Reporter
  readonly onChildLine: (line: string) => void
  /** Called with the pids of every started process. */
  readonly onPid: (pids: Partial<Pids>) => Promise<void>
  /** Called with the function that stops a server, in the order of the starts. */
  readonly onStop: (name: string, stop: () => Promise<void>) => void
}

export async function bringUpPostgres(context: ServerContext): Promise<{ databaseUrl: string }> {
  const { settings, reporter, onPid, onStop } = context
  if (settings.DATABASE_URL !== '') return { databaseUrl: settings.DATABASE_URL }
  const dataDir = join(settings.DATA_DIR, 'postgres')
  const said: string[] = []
  const postgres = await reporter.step('PostgreSQL', (note) =>
    startPostgres({
      dataDir,
      log: (line) => {
        note(line)
        said.push(line)
      },
    }),
  )
  for (const line of said.filter((text) => !text.startsWith('making'))) reporter.say(`  ${line}`)
  const again = () => startPostgres({ dataDir, port: Number(new URL(postgres.url).port) })
  const kept = await keepServer('PostgreSQL', postgres, again, { reporter, onPid: (pid) => onPid({ postgres: pid }) })
  onStop('PostgreSQL', kept.stop)
  return { databaseUrl: postgres.url }
}

export async function bringUpTemporal(context: ServerContext): Promise<{ address: string; uiUrl: string | null }> {
  const { settings, ports, reporter, onPid, onStop } = context
  if (settings.TEMPORAL_ADDRESS !== '') return { address: settings.TEMPORAL_ADDRESS, uiUrl: null }
  const program = await reporter.step('Temporal server, the program', (note) =>
    findTemporalServer({ cacheDir: userCacheDir(), onProgress: note }),
  )
  const options = {
    program,
    dataDir: join(settings.DATA_DIR, 'temporal'),
    port: ports.temporal,
    uiPort: ports.temporalUi,
  }
  const temporal = await reporter.step('Temporal', (note) => startTemporal({ ...options, log: note }))
  const again = () => startTemporal(options)
  const kept = await keepServer('Temporal', temporal, again, { reporter, onPid: (pid) => onPid({ temporal: pid }) })
  onStop('Temporal', kept.stop)
  return { address: temporal.address, uiUrl: temporal.uiUrl }
}

interface Server {
  readonly pid: number
  readonly stop: () => Promise<void>
}

/**
 * Keeps a server running, though it is no child of this process.
 *
 * @param onPid called with the pid of each process, the first one's too
 */
async function keepServer(
  name: string,
  first: Server,
  again: () => Promise<Server>,
  { reporter, onPid }: { readonly reporter: Reporter; readonly onPid: (pid: number) => Promise<void> },
): Promise<SupervisedProcess> {
  const running = async (server: Server): Promise<RunningProcess> => {
    const { pid } = server
    await onPid(pid)
    const stopped = new AbortController()
    const stop = async () => {
      await server.stop()
      stopped.abort()
    }
    return { pid, ended: waitForEnd(pid, stopped.signal).then(() => `process ${pid} is gone`), stop }
  }
  const restart = async () => {
    const server = await again()
    reporter.say(`${name} runs again`)
    return running(server)
  }
  return keepRunning(await running(first), restart, (text) => reporter.warn(`${name} ${text}`))
}

export async function bringUpInbox(context: ServerContext): Promise<{ smtpUrl: string; inboxUrl: string | null }> {
  const { settings, ports, reporter, onStop } = context
  if (settings.SMTP_URL !== '') return { smtpUrl: settings.SMTP_URL, inboxUrl: null }
  const inbox = await reporter.step('SMTP inbox', () =>
    startInbox({ dir: join(settings.DATA_DIR, 'mails'), smtpPort: ports.smtp, httpPort: ports.inbox }),
  )
  onStop('the inbox', inbox.stop)
  return inbox
}

/**
 * How the simulated carrier behaves here. It takes some tenths of a second to respond. A fault now and then is overcome
 * by the ticket's next attempt.
 */
const KNOBS = { latencyMs: [20, 150], failureRate: 0.01, actsThenTimesOutRate: 0.005, lateMs: 8000, seed: 7 }

export async function bringUpCarrier(context: ServerContext): Promise<{ url: string; secret: string }> {
  const { settings, ports, reporter, onChildLine, onPid, onStop } = context
  if (settings.CARRIER_URL !== '') return { url: settings.CARRIER_URL, secret: settings.CARRIER_SECRET }
  const folder = join(settings.DATA_DIR, 'carrier')
  const secret = await keptSecret(folder)
  const url = `http://127.0.0.1:${ports.carrier}`
  await requireFreePort(ports.carrier, 'the simulated carrier')
  const carrier = await reporter.step('simulated carrier', () =>
    supervise({
      name: 'carrier',
      args: [fileURLToPath(new URL('../../stack/carrier/main.ts', import.meta.url))],
      env: {
        ...childEnv({}),
        CARRIER_FILE: join(folder, 'journal.jsonl'),
        CARRIER_PORT: String(ports.carrier),
        CARRIER_SECRET: secret,
        CARRIER_KNOBS: JSON.stringify(KNOBS),
      },
      onLine: onChildLine,
      onPid: (pid) => void onPid({ carrier: pid }),
      ready: () => answers(`${url}/healthz`),
    }),
  )
  onStop('the carrier', () => carrier.stop())
  return { url, secret }
}

/** The secret that the carrier and the workers share. Made at the first start. */
async function keptSecret(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'secret')
  const kept = await readFile(file, 'utf8').catch(() => '')
  if (kept.trim() !== '') return kept.trim()
  const secret = randomBytes(24).toString('hex')
  await writeFile(file, `${secret}\n`, { mode: 0o600 })
  return secret
}
