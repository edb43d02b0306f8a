/**
 * `npm test`: all tests but the kill tests; `npm run test:faults`: those.
 *
 * Arguments after `faults` go to vitest (a file, `--project api`, `-t name`). Ends with `N passed, N failed`,
 * after what failed and why, and what was skipped and why. Nothing run is a failure; in CI, what is skipped for want of
 * a program is one.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { userCacheDir } from '../stack/downloads.ts'
import { endProcess, startedAt } from '../stack/pids.ts'
import { findTemporalServer } from '../stack/temporal-binary.ts'
import type { Tally } from './setup/tally.ts'

interface Notes {
  readonly servers: readonly { readonly pid: number; readonly startedAt: string | undefined }[]
  readonly skips: readonly { readonly skipped: string; readonly why: string }[]
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PROJECTS_WITH_TEMPORAL = ['stack', 'workflows', 'e2e', 'faults']

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const faults = args[0] === 'faults'
  const rest = faults ? args.slice(1) : args
  const namesProject = rest.some((arg) => arg.startsWith('--project'))
  const projects = faults ? ['--project', 'faults'] : namesProject ? [] : ['--project', '!faults']
  try {
    if (needsTemporal(faults, namesProject, rest)) {
      await findTemporalServer({ cacheDir: userCacheDir(), onProgress: (line) => console.log(line) })
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return finish({ passed: 0, failures: [message], skipped: [] }, [], 1)
  }
  const folder = await mkdtemp(join(tmpdir(), 'simherd-test-run-'))
  await chmod(folder, 0o755)
  try {
    const files = { notes: join(folder, 'notes'), tally: join(folder, 'tally') }
    const exitCode = await runVitest([...projects, ...rest], folder, files)
    const notes = await readNotes(files.notes)
    await endLeftServers(notes)
    return finish(await readTally(files.tally), notes.skips, exitCode)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function needsTemporal(faults: boolean, namesProject: boolean, args: readonly string[]): boolean {
  return faults || !namesProject || args.some((arg) => PROJECTS_WITH_TEMPORAL.includes(arg.replace('--project=', '')))
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
    // What the tests leave in their temporary folder goes with ours.
    env: { ...process.env, TMPDIR: folder, SIMHERD_TEST_NOTES: files.notes, SIMHERD_TEST_TALLY: files.tally },
  })
  // Ctrl-C reaches the child by itself, and it stops its servers: we wait for it to be done.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill('SIGINT'))
  const [code] = await once(child, 'exit')
  return typeof code === 'number' ? code : 1
}

async function readNotes(file: string): Promise<Notes> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = [...new Set(text.split('\n').filter(Boolean))].map((line) => JSON.parse(line))
  return { servers: lines.filter((line) => 'pid' in line), skips: lines.filter((line) => 'skipped' in line) }
}

/** A test run that was killed could not stop its servers. */
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
function finish(tally: Tally | undefined, skips: Notes['skips'], exitCode: number): number {
  const { passed, failures, skipped } = tally ?? { passed: 0, failures: ['the test run broke off'], skipped: [] }
  const failed = [...failures]
  if (process.env.CI === 'true') failed.push(...skips.map((skip) => `in CI nothing may be missing: ${skip.skipped}`))
  if (passed + failed.length === 0) failed.push('no test was run')
  if (exitCode !== 0 && failed.length === 0) failed.push(`vitest ended with exit code ${exitCode}`)
  console.log()
  for (const failure of failed) console.log(`failed: ${failure}`)
  const reasons = skips.map((skip) => `${skip.skipped} (${skip.why})`)
  if (skipped.length > 0) console.log(`skipped: ${(reasons.length > 0 ? reasons : skipped).join('; ')}`)
  const tail = skipped.length > 0 ? `, ${skipped.length} skipped` : ''
  console.log(`${passed} passed, ${failed.length} failed${tail}`)
  return failed.length > 0 ? 1 : 0
}
