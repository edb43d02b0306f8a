/**
 * The quick start of docs/runbook.md, as an operator follows it on new servers. A shell runs its blocks in order: a `sh`
 * block has to end with 0, a `console` block to print the text it shows (test/setup/console.ts). Only values that the first
 * block exports are replaced.
 */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { findOnPath } from '../../stack/downloads.ts'
import { freePort } from '../../stack/free-port.ts'
import { startInbox } from '../../stack/inbox/inbox.ts'
import type { InboxMail } from '../../stack/inbox/mails.ts'
import { startPostgres } from '../../stack/postgres/postgres.ts'
import { type Block, blocksOf, isAsShown, typedIn } from '../setup/console.ts'
import { administrate } from '../setup/database.ts'
import { noteServer } from '../setup/notes.ts'
import { requireOldestPostgres, requireProgram } from '../setup/requirements.ts'
import { freshNamespace } from '../setup/service.ts'
import { openShell, type Shell } from '../setup/shell.ts'
import { until } from '../setup/soon.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RUNBOOK = 'docs/runbook.md'
/** The runbook promises the mail within two minutes, and the machine may be busy. */
const PATIENCE_S = 240

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function quickStart(): Promise<readonly Block[]> {
  const text = await readFile(join(ROOT, RUNBOOK), 'utf8')
  return blocksOf(/^## Quick start\n(.*?)^## /ms.exec(text)?.[1] ?? '')
}

/** A block with other values of variables that it exports. @throws Error if it does not export one of them */
function withValues(block: Block, values: Readonly<Record<string, string>>): Block {
  let { text } = block
  for (const [name, value] of Object.entries(values)) {
    const exported = new RegExp(`(?<=^export .*\\b${name}=)\\S+`, 'm')
    if (!exported.test(text)) throw new Error(`${RUNBOOK}: the first block of the quick start does not export ${name}`)
    text = text.replace(exported, () => `'${value}'`)
  }
  return { ...block, text }
}

/** @throws Error with the block and its output, if the output differs from the runbook's */
async function follow(block: Block, shell: Shell): Promise<void> {
  if (block.info === 'sh') {
    const { code, printed } = await shell.run(block.text)
    const last = printed.trimEnd().split('\n').at(-1)
    const asWritten = `${block.text}\nprinted\n${printed}`
    if (code !== 0) throw new Error(`${RUNBOOK}: a block ended with ${code}: ${last}\n${asWritten}`)
    return
  }
  for (const { command, printed } of typedIn(block)) {
    let last = ''
    const isShown = async () => {
      last = (await shell.ask(command)).printed
      return isAsShown(printed, last)
    }
    await until(command, isShown, PATIENCE_S).catch(() => {
      throw new Error(`${RUNBOOK}: ${command}\nprinted\n${last}\nand not, as shown,\n${printed}`)
    })
  }
}

/** A server as its administrator hands it over: a superuser `postgres`, and no other database. @returns its address */
async function emptyServer(dataDir: string, programs?: string): Promise<URL> {
  const server = await startPostgres({ dataDir, durable: false, ...(programs !== undefined && { programs }) })
  closing.push(server.stop)
  await noteServer(server.pid)
  const url = new URL(server.url)
  url.pathname = '/postgres'
  await administrate(`create role postgres superuser login password 'secret-0'`, url.href)
  url.username = 'postgres'
  url.password = 'secret-0'
  await administrate('drop database simherd', url.href)
  await administrate('alter role simherd rename to administrator', url.href)
  return url
}

/** As a terminal has it: npm adds the programs of the packages. */
const pathOfTerminal = () =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.endsWith(join('node_modules', '.bin')))
    .join(delimiter)

/** @param programs of PostgreSQL. Default: the embedded ones */
async function play(programs?: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-quick-start-'))
  closing.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  // If root runs the tests, the database runs as another user.
  await chmod(folder, 0o755)
  const server = await emptyServer(join(folder, 'postgres'), programs)
  const inbox = await startInbox({ dir: join(folder, 'mails') })
  closing.push(inbox.stop)
  const shell = await openShell({ folder, cwd: ROOT, env: { ...process.env, PATH: pathOfTerminal() } })
  closing.push(shell.end)
  const values = {
    SUPERUSER_URL: server.href,
    OWNER_URL: `postgres://simherd:secret-1@${server.host}/simherd`,
    DATABASE_URL: `postgres://simherd_app:secret-2@${server.host}/simherd`,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: await freshNamespace(),
    SMTP_URL: inbox.smtpUrl,
    PORT: String(await freePort()),
    INTERNAL_PORT: String(await freePort()),
    CONSOLE_PORT: String(await freePort()),
    WORKER_PORT: String(await freePort()),
    CARRIER_PORT: String(await freePort()),
    KEPT: join(folder, 'kept'),
  }

  for (const [n, block] of (await quickStart()).entries()) {
    await follow(n === 0 ? withValues(block, values) : block, shell)
  }
  const response = await fetch(inbox.inboxUrl, { headers: { accept: 'application/json' } })
  const mails = (await response.json()) as readonly InboxMail[]

  expect(mails.map(({ to, subject }) => `${to}: ${subject}`)).toContainEqual(
    expect.stringMatching(/^billing@meadow\.example: meter-1 over its limit/),
  )
}

const SUITE = 'the quick start of the runbook'
const isThere = async (program: string, ofPackage: string) =>
  requireProgram((await findOnPath(program)) !== undefined, ofPackage, SUITE)
const canRun = (await Promise.all([isThere('psql', 'postgresql-client'), isThere('curl', 'curl')])).every(Boolean)

describe.runIf(canRun)(SUITE, async () => {
  const onOldest = 'leads to a first mail on the oldest PostgreSQL'
  const oldest = await requireOldestPostgres(onOldest)

  test('leads to a first mail', () => play())
  test.runIf(oldest !== undefined)(onOldest, () => play(oldest))
})
