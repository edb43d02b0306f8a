/**
 * `npm run test:again -- <files>`: runs test files three times, each time beside two loops that keep two cores busy. A
 * test that holds only on a quiet machine fails here before it lands.
 *
 * Without files: the test files that differ from `origin/main`, or where that is what is checked out, those changed in
 * the three hours before; never the long suites. `--seconds 60` takes as many of them as fit, the shortest first, and
 * names the others. A test that is flaky has failed here. The last line is `N passed, N failed`.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { LONG_FILES } from './long.ts'
import minutes from './minutes.json' with { type: 'json' }
import { closingOf } from './setup/closing.ts'

const ROOT = join(import.meta.dirname, '..')
const RUNS = 3
const BUSY_LOOPS = 2
/** It also ends when this process is gone. */
const BUSY = 'const parent = process.ppid; while (process.ppid === parent) for (let n = 0; n < 1e7; n++);'
/** So much longer a file takes beside the busy loops. */
const SLOWER = 2
/** A run's servers start first. */
const START_S = 8
/** Of a file that test/minutes.json does not name. */
const NEW_S = 3
const TOOK: Readonly<Record<string, number>> = minutes
const SESSION_S = 3 * 3600

const options = { seconds: { type: 'string', default: 'Infinity' } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true, strict: true })
process.exitCode = await main(positionals.length > 0 ? positionals : changedFiles(), Number(values.seconds))

async function main(given: readonly string[], seconds: number): Promise<number> {
  const { files, left } = fitting(given, seconds)
  if (left.length > 0) console.log(`do not fit into ${seconds} s: ${left.join(' ')}`)
  if (files.length === 0) {
    console.log('no test file to run again\n0 passed, 0 failed')
    return 0
  }
  const busy = Array.from({ length: BUSY_LOOPS }, () => spawn(process.execPath, ['-e', BUSY], { stdio: 'ignore' }))
  const begun = Date.now()
  let passed = 0
  const failed: string[] = []
  for (let run = 1; run <= RUNS; run += 1) {
    console.log(`\nrun ${run} of ${RUNS}, beside ${BUSY_LOOPS} busy loops: ${files.join(' ')}`)
    const closing = await runOnce(files)
    passed += closing.passed
    failed.push(...closing.failed, ...closing.flaky.map((line) => line.replace('flaky: ', 'failed: flaky: ')))
  }
  for (const loop of busy) loop.kill()
  console.log(`\n${RUNS} runs, ${Math.round((Date.now() - begun) / 1000)} s`)
  for (const line of failed) console.log(line)
  console.log(`${passed} passed, ${failed.length} failed`)
  return failed.length > 0 ? 1 : 0
}

async function runOnce(files: readonly string[]) {
  const child = spawn(process.execPath, ['test/run.ts', ...files], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text
    process.stdout.write(text)
  })
  const [code] = await once(child, 'close')
  return closingOf('test', said, Number(code))
}

/** The shortest files, as many as can be run three times in so many seconds. */
function fitting(given: readonly string[], seconds: number): { readonly files: string[]; readonly left: string[] } {
  const files: string[] = []
  const left: string[] = []
  let taken = RUNS * START_S
  const secondsOf = (file: string) => (file in TOOK ? (TOOK[file] ?? 0) * 60 : NEW_S)
  for (const file of given.toSorted((a, b) => secondsOf(a) - secondsOf(b))) {
    taken += RUNS * SLOWER * secondsOf(file)
    if (taken <= seconds) files.push(file)
    else left.push(file)
  }
  return { files, left }
}

function changedFiles(): string[] {
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const head = git('rev-parse', 'HEAD')
  const landed = git('for-each-ref', '--format=%(objectname)', 'refs/remotes/origin/main')
  const before = Number(git('log', '-1', '--format=%ct')) - SESSION_S
  const base = landed === '' || landed === head ? git('rev-list', '-1', `--before=${before}`, 'HEAD') : landed
  return git('diff', '--name-only', base, '--', 'test')
    .split('\n')
    .filter((file) => file.endsWith('.test.ts') && existsSync(join(ROOT, file)) && !LONG_FILES.includes(file))
}
