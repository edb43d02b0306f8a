/**
 * `npm test`: all tests but the kill tests (`npm run test:faults`) and the demonstration (`npm run test:demo`).
 *
 * Arguments after `faults` or `demo` go to vitest (a file, `--project api`, `-t name`). Prints failures and skips with
 * their reasons, how often properties were tried, and last `N passed, N failed`. Running no test is a failure. In CI,
 * so is a test skipped because a program is missing, or without a reason from test/setup/requirements.ts.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { userCacheDir } from '../stack/downloads.ts'
import { endProcess, startedAt } from '../stack/pids.ts'
import { findTemporalServer } from '../stack/temporal/binary.ts'
import { type Notes, notesOf } from './setup/notes.ts'
import { outcomeOf } from './setup/outcome.ts'
import type { Tally } from './setup/tally.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Projects that run only on request: `npm run test:faults`, `npm run test:demo`. */
const ALONE = ['faults', 'demo'] as const
const PROJECTS_WITH_TEMPORAL: readonly string[] = ['stack', 'workflows', 'e2e', ...ALONE]

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const alone = ALONE.find((project) => project === args[0])
  const rest = alone === undefined ? args : args.slice(1)
  const namesProject = rest.some((arg) => arg.startsWith('--project'))
  const projects =
    alone !== undefined
      ? ['--project', alone]
      : namesProject
        ? []
        : ALONE.flatMap((project) => ['--project', `!${project}`])
  try {
    if (alone !== undefined || !namesProject || namesTemporal(rest)) {
      await findTemporalServer({ cacheDir: userCacheDir(), onProgress: (line) => console.log(line) })
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return finish({ passed: 0, failures: [message], skipped: [] }, notesOf(''), 1)
  }
  const folder = await mkdtemp(join(tmpdir(), 'simherd-test-run-'))
  await chmod(folder, 0o755)
  try {
    const files = { notes: join(folder, 'notes'), tally: join(folder, 'tally') }
    const exitCode = await runVitest([...projects, ...rest], folder, files)
    const notes = notesOf(await readFile(files.notes, 'utf8').catch(() => ''))
    await endLeftServers(notes)
    return finish(await readTally(files.tally), notes, exitCode)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function namesTemporal(args: readonly string[]): boolean {
  return args.some((arg) => PROJECTS_WITH_TEMPORAL.includes(arg.replace('--project=', '')))
}

async function runVitest(
  args: readonly string[],
  folder: string,
  files: { readonly notes: string; readonly tally: string },
): Promise<number> {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', `--reporter=${join(ROOT, 'test', 'setup', 'tally.ts')}`]
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    // Deleting our folder also deletes what the tests leave in their temporary folder.
    env: { ...process.env, TMPDIR: folder, SIMHERD_TEST_NOTES: files.notes, SIMHERD_TEST_TALLY: files.tally },
  })
  // Ctrl-C reaches the child directly, and it stops its servers: we only wait for it.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill('SIGINT'))
  const [code] = await once(child, 'exit')
  return typeof code === 'number' ? code : 1
}

/** Ends servers that a killed test run could not stop. */
async function endLeftServers({ servers }: Notes): Promise<void> {
  for (const server of servers) {
    if (server.startedAt !== undefined && (await startedAt(server.pid)) === server.startedAt)
      await endProcess(server.pid)
  }
}

async function readTally(file: string): Promise<Tally | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}

/** @returns the exit code */
function finish(tally: Tally | undefined, notes: Notes, exitCode: number): number {
  const { failed, lines } = outcomeOf(tally, notes, { exitCode, inCI: process.env.CI === 'true' })
  console.log()
  for (const line of lines) console.log(line)
  return failed > 0 ? 1 : 0
}
