/** A process that cannot start ends by itself, says why without a stack, and has its exit code. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { childEnv } from '../../process/child-env.ts'
import { freePort } from '../../stack/free-port.ts'
import { emptyDatabase, freshDatabase } from '../setup/database.ts'
import { listenAnywhere } from '../setup/listen.ts'

const COMMAND = fileURLToPath(new URL('../../cli/simherd.js', import.meta.url))
const closing: (() => Promise<unknown>)[] = []
let settings: Record<string, string> = {}
let taken = 0
let empty = ''

beforeAll(async () => {
  const [database, bare] = [await freshDatabase(), await emptyDatabase()]
  closing.push(database.drop, bare.drop)
  const listener = createServer()
  taken = await listenAnywhere(listener)
  closing.push(async () => listener.close())
  empty = bare.url
  settings = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    WORKFLOW_BUNDLE: inject('workflowBundle'),
    CARRIER_URL: 'http://127.0.0.1:1',
    CARRIER_SECRET: 'secret',
    SMTP_URL: 'smtp://127.0.0.1:1',
    SERVICE_KEY: 'key.of.nobody',
    PORT: String(await freePort()),
    INTERNAL_PORT: String(await freePort()),
    CONSOLE_PORT: 'off',
    WORKER_PORT: String(await freePort()),
  }
})
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

const run = (command: string, over: Record<string, string>) =>
  new Promise<{ code: unknown; signal: unknown; said: string }>((resolve) => {
    const env = childEnv({ ...settings, ...over })
    // A process that does not end is killed, and then has no exit code.
    execFile(process.execPath, [COMMAND, command], { env, timeout: 400_000, killSignal: 'SIGKILL' }, (error, _, said) =>
      resolve({ code: error?.code ?? 0, signal: error?.signal ?? null, said }),
    )
  })

/** The database's url with another part. */
const databaseWith = (part: 'password' | 'pathname' | 'port', value: string) => () => ({
  DATABASE_URL: Object.assign(new URL(empty), { [part]: value }).href,
})
type Case = readonly [what: string, command: string, over: () => Record<string, string>, code: number, says: RegExp]

describe('a start', () => {
  test.each<Case>([
    ['on a port that is taken', 'api', () => ({ PORT: `${taken}` }), 4, /EADDRINUSE.*: stop the program that listens/],
    ['on a health port that is taken', 'worker', () => ({ WORKER_PORT: `${taken}` }), 4, /EADDRINUSE/],
    ['without the service key', 'worker', () => ({ SERVICE_KEY: '' }), 2, /SERVICE_KEY is not set/],
    ['with rules that are not there', 'worker', () => ({ RULES_DIR: '/no/rules' }), 3, /no\/rules/],
    ['with no key file', 'worker', () => ({ SERVICE_KEY: '', SERVICE_KEY_FILE: '/no/key' }), 3, /no\/key/],
    [
      'with a wrong password',
      'api',
      databaseWith('password', 'wrong'),
      2,
      /password authentication failed.*: check user, password and database in DATABASE_URL/,
    ],
    ['with another database', 'worker', databaseWith('pathname', '/nobodys'), 2, /database "nobodys" does not exist/],
    ['where no database listens', 'migrate', databaseWith('port', '1'), 5, /ECONNREFUSED.*: check the address/],
  ])('%s ends', async (_, command, over, code, says) => {
    const ended = await run(command, over())

    expect(ended).toEqual({ code, signal: null, said: expect.stringMatching(says) })
    expect(ended.said, 'no stack').not.toMatch(/\n\s+at /)
  })
})
