/**
 * `npm test`: all tests but the long suites (`npm run test:long`, test/long.ts).
 *
 * Arguments go to vitest: a file, `--project api`, `-t name`. A file that is named is run even if it is a long suite.
 * `--record` writes what each file took to test/minutes.json, which decides the order of files.
 *
 * Up to three failed files are run once more, each alone, with the same seed. What passes then has passed, and is named
 * as flaky. Prints failures and skips with their reasons, how often properties were tried, the dearest files, the seed,
 * and last `N passed, N failed`. Running no test is a failure. In CI, so is a test skipped because a program is missing,
 * or without a reason from test/setup/requirements.ts.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { userCacheDir } from '../stack/downloads.ts'
import { findTemporalServer } from '../stack/temporal/find-temporal-server.ts'
import { endLeftBehind, passOnEnd } from './setup/left-behind.ts'
import { memoryFolderOf } from './setup/memory-folder.ts'
import { type Notes, notesOf } from './setup/notes.ts'
import { filesToRunAgain, outcomeOf } from './setup/outcome.ts'
import { SEED } from './setup/seed.ts'
import { watchSlowness } from './setup/slowness.ts'
import type { FileTally, Tally } from './setup/tally.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** The output of flaky tests, until somebody deletes it. */
const KEPT = join(ROOT, '.data', 'tests')
const MINUTES = join(ROOT, 'test', 'minutes.json')
const PROJECTS_WITH_TEMPORAL: readonly string[] = ['stack', 'workflows', 'e2e', 'faults', 'demo']

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.log(`failed: ${error instanceof Error ? error.message : String(error)}`)
  console.log('0 passed, 1 failed')
  return 1
})

async function main(args: readonly string[]): Promise<number> {
  const isRecorded = args.includes('--record')
  const given = args.filter((arg) => arg !== '--record')
  const byProject = given.some((arg) => arg.startsWith('--project'))
  const paths = given.filter((arg) => arg.startsWith('test/'))
  const namesFile = paths.some((path) => path.endsWith('.test.ts'))
  const byName = given.some((arg) => /^(-t|--testNamePattern)\b/.test(arg))
  if (!byProject || namesTemporal(given)) {
    await findTemporalServer({ cacheDir: userCacheDir(), onProgress: (line) => console.log(line) })
  }
  const isHeld = paths.length === 0 && !byProject && !byName
  const slownessOf = isHeld ? watchSlowness() : () => null
  const first = await runVitest(given, namesFile)
  const again = new Map<string, Tally | undefined>()
  for (const { file } of filesToRunAgain(first.tally)) {
    console.log(`\nonce more, alone: ${file}`)
    // A file that is named takes the place of the files that were named before.
    const rest = given.filter((arg) => !arg.startsWith('test/'))
    again.set(file, (await runVitest([...rest, file], true)).tally)
  }
  const { failed, flaky, lines } = outcomeOf(first.tally, again, first.notes, {
    exitCode: first.exitCode,
    inCI: process.env.CI === 'true',
    byName,
    slowness: slownessOf(),
    seed: SEED,
  })
  for (const file of flaky) await keepOutput(file)
  if (isRecorded) await record(first.notes)
  console.log()
  for (const line of lines) console.log(line)
  return failed > 0 ? 1 : 0
}

function namesTemporal(args: readonly string[]): boolean {
  return args.some((arg) => PROJECTS_WITH_TEMPORAL.includes(arg.replace('--project=', '')))
}

interface VitestRun {
  readonly exitCode: number
  readonly tally: Tally | undefined
  readonly notes: Notes
}

/** @param namesFile also finds the files of long suites */
async function runVitest(args: readonly string[], namesFile: boolean): Promise<VitestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-test-run-'))
  await chmod(folder, 0o755)
  const databases = await memoryFolderOf(folder)
  try {
    const files = { notes: join(folder, 'notes'), tally: join(folder, 'tally') }
    const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
    const reporters = ['--reporter=default', `--reporter=${join(ROOT, 'test', 'setup', 'tally.ts')}`]
    const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], {
      cwd: ROOT,
      stdio: 'inherit',
      env: {
        ...process.env,
        // Deleting our folder also deletes what the tests leave in their temporary folder.
        TMPDIR: folder,
        TEST_DATABASES: databases,
        TEST_NOTES: files.notes,
        TEST_TALLY: files.tally,
        TEST_TIER: namesFile ? '' : '1',
        SEED: String(SEED),
        // Each started process would compile the same files again.
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
      },
    })
    const isAskedToEnd = passOnEnd(child)
    const [code] = await once(child, 'exit')
    const notes = notesOf(await readFile(files.notes, 'utf8').catch(() => ''))
    await endLeftBehind(folder, notes.servers)
    const tally = isAskedToEnd() ? undefined : await readTally(files.tally)
    return { exitCode: typeof code === 'number' ? code : 1, tally, notes }
  } finally {
    for (const made of [databases, folder]) await rm(made, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function readTally(file: string): Promise<Tally | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}

async function keepOutput({ file, failures, printed }: FileTally): Promise<void> {
  await mkdir(KEPT, { recursive: true })
  const name = `${file.replaceAll('/', '-').replace('.test.ts', '')}-${new Date().toISOString().replaceAll(':', '')}.log`
  const errors = failures.map(({ title, detail }) => `${file} > ${title ?? ''}\n${detail}`)
  await writeFile(join(KEPT, name), [`seed ${SEED}`, ...errors, 'it printed, at last:', ...printed, ''].join('\n'))
}

async function record({ costs }: Notes): Promise<void> {
  const minutes = costs
    .toSorted((a, b) => (a.file < b.file ? -1 : 1))
    .map(({ file, seconds }) => [file, Number((seconds / 60).toFixed(3))])
  await writeFile(MINUTES, `${JSON.stringify(Object.fromEntries(minutes), null, 2)}\n`)
}
