/** Every command with wrong input: a line that says what is wrong, and the exit code for it. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { program } from '../../../cli/program.ts'
import { run } from '../../../cli/run.ts'
import { administrate, emptyDatabase } from '../../setup/database.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const NONSENSE = 'nonsense'
/** Nothing listens there. */
const NOWHERE = 'postgres://simherd:secret-word@127.0.0.1:9/simherd'

interface Leaf {
  readonly name: string
  readonly path: readonly string[]
  readonly leaf: Command
}
const leaves = (parent: Command, above: readonly string[] = []): Leaf[] =>
  parent.commands.flatMap((child) => {
    const path = [...above, child.name()]
    return child.commands.length === 0 ? [{ name: path.join(' '), path, leaf: child }] : leaves(child, path)
  })
const ALL = leaves(program)

/** Its required arguments and options, each of them nonsense. */
const withNonsense = (leaf: Command): string[] => [
  ...leaf.registeredArguments.map(() => NONSENSE),
  ...leaf.options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => [long ?? '', NONSENSE]),
]

let said: string[] = []
let restore: () => void = () => undefined
beforeEach(() => {
  vi.stubEnv('SERVICE_INTERNAL_URL', command.settings.SERVICE_INTERNAL_URL)
  vi.stubEnv('SERVICE_KEY', command.settings.SERVICE_KEY)
  vi.stubEnv('DATA_DIR', join(command.folder, 'none'))
  said = []
  const spies = [
    vi.spyOn(console, 'error').mockImplementation((line: string) => said.push(line)),
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0),
  ]
  restore = () => spies.forEach((spy) => spy.mockRestore())
})
afterEach(() => {
  vi.unstubAllEnvs()
  restore()
})

/** Runs a command that fails. @returns its exit code and what it printed */
async function failing(...args: readonly string[]): Promise<{ exitCode: number; text: string }> {
  const exitCode = await run(args)
  const text = said.join('\n').trim()
  expect(text, 'a stack trace').not.toMatch(/^\s+at /m)
  expect(text).toMatch(/^(simherd|error): \S/)
  return { exitCode, text }
}

test.each(ALL)('$name refuses an unknown option', async ({ path }) => {
  const { exitCode, text } = await failing(...path, '--nonsense-option')

  expect(exitCode).toBe(2)
  expect(text).toMatch(/unknown option|required option|missing required argument/)
})

// The other commands have no required input; what else can be wrong is tested below.
test.each(ALL.filter(({ leaf }) => withNonsense(leaf).length > 0))(
  '$name names the nonsense it got',
  async ({ path, leaf }) => {
    const { exitCode, text } = await failing(...path, ...withNonsense(leaf))

    expect([2, 3]).toContain(exitCode)
    expect(text).toMatch(/nonsense|got (neither|no )/)
  },
)

describe('settings', () => {
  test.each([
    [
      'DATABASE_URL',
      'postgres//simherd:secret-word@db/simherd',
      'DATABASE_URL=postgres//simherd:***@db/simherd: must be a URL',
    ],
    ['SERVICE_INTERNAL_URL', 'nonsense', 'SERVICE_INTERNAL_URL=nonsense: must be URLs such as https://'],
    ['REDIS_URL', 'redis://:secret-word@redis:6379', 'REDIS_URL=redis://:***@redis:6379: must be rediss://, because'],
    ['CARRIER_URL', 'http://carrier:8443', 'CARRIER_URL=http://carrier:8443: must be https://, because'],
    ['SERVICE_KEY', 'secret-word\nand more', 'SERVICE_KEY (20 characters, not shown): must be printable'],
    ['TEMPORAL_ADDRESS', 'temporal', 'TEMPORAL_ADDRESS=temporal: must be host:port'],
    ['SWEEP_EVERY', '5', 'SWEEP_EVERY=5: must be an ISO 8601 duration'],
    ['STOP_DELAY', 'PT21S', 'STOP_DELAY=PT21S: must be seconds from PT0S to PT20S'],
    ['PORT', 'http', 'PORT=http: must be integer'],
  ])('name a wrong %s and show no secret', async (name, value, message) => {
    vi.stubEnv(name, value)
    const { exitCode, text } = await failing('schedule', 'pause', '--tenant', 't0123456789ab')

    expect(exitCode).toBe(2)
    expect(text).toContain(message)
    expect(text).not.toContain('secret-word')
  })

  test.each(['api', 'worker', 'migrate', 'keys create-operator'])(
    'are incomplete for %s without DATABASE_URL',
    async (name) => {
      vi.stubEnv('DATABASE_URL', '')
      const { exitCode, text } = await failing(...name.split(' '))

      expect(exitCode).toBe(2)
      expect(text).toContain('DATABASE_URL')
    },
  )

  test.each(['migrate', 'keys create-operator'])('make %s report an unreachable database', async (name) => {
    vi.stubEnv('DATABASE_URL', NOWHERE)
    const { exitCode, text } = await failing(...name.split(' '))

    expect(exitCode).toBe(5)
    expect(text).toMatch(/ECONNREFUSED 127\.0\.0\.1:9.*check the address/)
    expect(text).not.toContain('secret-word')
  })

  test('report a SERVICE_KEY that the service refuses', async () => {
    vi.stubEnv('SERVICE_KEY', 'nobodys')
    const { exitCode, text } = await failing('schedule', 'pause', '--tenant', 't0123456789ab')

    expect(exitCode).toBe(1)
    expect(text).toMatch(/401/)
  })
})

describe('a database', () => {
  /** A database that a new login owns. @returns the login's url */
  async function ownedBy(right: string, ownsSchema: boolean): Promise<string> {
    const name = `owner_${randomBytes(8).toString('hex')}`
    const { url, drop } = await emptyDatabase()
    const own = new URL(url)
    own.username = name
    own.password = name
    await administrate(`create role ${name} login noinherit ${right} password '${name}'`)
    await administrate(`alter database ${own.pathname.slice(1)} owner to ${name}`)
    await administrate(`alter schema public owner to ${ownsSchema ? name : 'current_user'}`, url)
    onTestFinished(async () => {
      await drop()
      await administrate(`drop role ${name}`)
    })
    return own.href
  }

  test.each([
    ['whose schema is another’s', 'createrole', false, 'migrate', /alter schema public owner to owner_/],
    [
      'whose owner makes no roles',
      'nocreaterole',
      true,
      'migrate',
      /as a superuser, run "create role simherd_tenant nologin"/,
    ],
    ['that is not migrated', 'createrole', true, 'keys create-operator', /run "npx simherd migrate" first/],
  ])('%s makes a command say what to do', async (_, right, ownsSchema, name, says) => {
    vi.stubEnv('DATABASE_URL', await ownedBy(right, ownsSchema))
    const { exitCode, text } = await failing(...name.split(' '))

    expect(text).toMatch(says)
    expect(exitCode).toBe(2)
  })
})

test('export names an output it cannot write', async () => {
  const tenant = ['--tenant', command.harness.tenant.id]
  const { exitCode, text } = await failing('export', 'sims', ...tenant, '--out', '/nowhere/sims.csv')

  expect(exitCode).toBe(2)
  expect(text).toMatch(/--out \/nowhere\/sims\.csv cannot be written: ENOENT/)
})

test.each([
  ['a folder that is not there', ['rules', 'load', '/nowhere'], 3, 'cannot read the rule files in /nowhere'],
  ['a file for a folder', ['rules', 'load', import.meta.filename], 3, 'ENOTDIR'],
  ['a folder for a file', ['sims', 'import', '/tmp.csv/', '--tenant', 't0123456789ab'], 3, 'cannot be read'],
  ['a folder that cannot be made', ['start', '--data-dir', `${import.meta.filename}/data`], 2, 'DATA_DIR'],
])('%s is named in the failure', async (_, args, exitCode, message) => {
  const failure = await failing(...args)

  expect(failure.text).toContain(message)
  expect(failure.exitCode).toBe(exitCode)
})
