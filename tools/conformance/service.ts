/** The service as `simherd start` runs it, with data, ports and servers of its own, for the time of a run. */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readStack } from '../../cli/stack-file.ts'
import { childEnv } from '../../process/child-env.ts'
import type { Settings } from '../../process/settings.ts'
import { freePort } from '../../stack/free-port.ts'
import { supervise } from '../../stack/supervise.ts'
import type { Addresses } from './estate.ts'

const COMMAND = fileURLToPath(new URL('../../cli/simherd.js', import.meta.url))

export interface Service extends Addresses {
  readonly temporalAddress: string
  /** Its data folder. */
  readonly folder: string
  /** The errors in the API's log. */
  readonly complaints: () => Promise<string[]>
  readonly stop: () => Promise<void>
}

/**
 * @param settings override the settings of the run
 * @throws Error with its last lines, if it does not come up
 */
export async function startService(settings: Partial<Settings> = {}): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-conformance-'))
  // The database's own user needs to enter it, if root runs this.
  await chmod(folder, 0o755)
  const [port, internalPort, workerPort] = [await freePort(), await freePort(), await freePort()]
  // Servers of its own, whatever the environment names. No rate limits: they would refuse most requests. A log that has only
  // errors: a longer one would be renamed during the run.
  const unlimited = { RATE_LIMIT: 0, REFUSAL_LIMIT: 0, ANONYMOUS_LIMIT: 0, TICKETS_PER_SIM: 1000, SMS_PER_SIM: 1000 }
  const ours = {
    DATABASE_URL: '',
    REDIS_URL: '',
    TEMPORAL_ADDRESS: '',
    SMTP_URL: '',
    CARRIER_URL: '',
    LOG_LEVEL: 'error' as const,
    CONSOLE_PORT: 'off',
    ...unlimited,
    ...settings,
  }
  const removed = () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
  const service = await supervise({
    name: 'simherd',
    args: [COMMAND, 'start', '--no-demo'],
    env: childEnv({ ...ours, DATA_DIR: folder, PORT: port, INTERNAL_PORT: internalPort, WORKER_PORT: workerPort }),
    onLine: () => undefined,
    ready: async () => (await readStack(folder)) !== undefined,
    readyTimeoutMs: 300_000,
  }).catch(async (error: unknown) => {
    await removed()
    throw error
  })
  const stop = async () => {
    await service.stop({ timeoutMs: 60_000 })
    await removed()
  }
  const stack = await readStack(folder)
  if (stack === undefined) throw new Error(`the service wrote no stack.json into ${folder}`)
  return { ...stack, folder, complaints: () => complaintsOf(folder), stop }
}

/** The API's log entries of level error. Every response with status 500 or higher makes one. */
async function complaintsOf(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'logs', 'api.log'), 'utf8').catch(() => '')
  return text.split('\n').filter((line) => /"level":(50|60)/.test(line))
}
