/**
 * `npm run test:again -- <files>`: runs test files three times, each time beside two loops that keep two cores busy. A
 * test that holds only on a quiet machine fails here before it lands.
 *
 * Without files: the test files changed since `origin/main`, without the long suites. `--seconds 60` begins no further
 * run after that time. A test that is flaky has failed here. The last line is `N passed, N failed`.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { LONG_FILES } from './long.ts'
import { closingOf } from './setup/closing.ts'

const ROOT = join(import.meta.dirname, '..')
const RUNS = 3
const BUSY_LOOPS = 2

const options = { seconds: { type: 'string', default: 'Infinity' } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true, strict: true })
process.exitCode = await main(positionals.length > 0 ? positionals : changedFiles(), Number(values.seconds))

async function main(files: readonly string[], seconds: number): Promise<number> {
  if (files.length === 0) {
    console.log('no test file has changed since origin/main\n0 passed, 0 failed')
    return 0
  }
  const busy = Array.from({ length: BUSY_LOOPS }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  process.on('exit', () => {
    for (const loop of busy) loop.kill('SIGKILL')
  })
  const begun = Date.now()
  let passed = 0
  const failed: string[] = []
  let runs = 0
  while (runs < RUNS && Date.now() - begun < seconds * 1000) {
    runs += 1
    console.log(`\nrun ${runs} of ${RUNS}, beside ${BUSY_LOOPS} busy loops: ${files.join(' ')}`)
    const closing = await runOnce(files)
    passed += closing.passed
    failed.push(...closing.failed, ...closing.flaky.map((line) => line.replace('flaky: ', 'failed: flaky: ')))
  }
  console.log(`\n${runs} of ${RUNS} runs, ${Math.round((Date.now() - begun) / 1000)} s`)
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

/** Test files that differ from `origin/main`, or from the commit before where there is no such branch. */
function changedFiles(): string[] {
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  const base = git('rev-parse', '--verify', '--quiet', 'origin/main').trim()
  return git('diff', '--name-only', base, '--', 'test')
    .split('\n')
    .filter((file) => file.endsWith('.test.ts') && existsSync(join(ROOT, file)) && !LONG_FILES.includes(file))
}
