/**
 * `npm run test:long`: the long suites, three side by side.
 *
 *   npm run test:long                   all of them
 *   npm run test:long faults demo      those whose names begin so
 *   npm run test:long -- --share 2     a share of them, 0 to 22, and those that each landing runs
 *   npm run test:long -- --share commit   the share of the commit that is checked out
 *   npm run test:long -- --list        only names them
 *
 * Each suite prints what it says when it has ended. Ends with the minutes of each suite, failed and flaky tests, and
 * `N passed, N failed`. Exit code 1 if a test failed, 2 if the arguments are wrong.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { LONG, type LongSuite, SHARES, shareAt, sharesOf } from './long.ts'
import { closingOf } from './setup/closing.ts'

const ROOT = join(import.meta.dirname, '..')
/** Those of the first lanes take what mostly waits before what computes. */
const LANES = { waiting: 2, computing: 1 }

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error))
  return 2
})

async function main(): Promise<number> {
  const chosen = choose()
  if (typeof chosen === 'string') {
    console.error(chosen)
    return 2
  }
  const { list } = chosen
  if (list) {
    for (const one of chosen.suites) console.log(lineOf(one))
    return 0
  }
  const suites = chosen.suites.filter(({ postgres }) => postgres === undefined || existsSync(postgres))
  const ended = await runAll(suites)
  const minutes = ended.map(({ name, seconds }) => `${name}: ${Math.floor(seconds / 60)} min ${seconds % 60} s`)
  const failed = ended.flatMap((one) => one.failed)
  const flaky = ended.flatMap((one) => one.flaky)
  const passed = ended.reduce((sum, one) => sum + one.passed, 0)
  const left = LONG.filter((one) => !suites.includes(one)).map(({ name }) => name)
  console.log()
  for (const line of minutes) console.log(line)
  if (left.length > 0) console.log(`not run here: ${left.join(', ')}`)
  for (const line of [...failed, ...flaky]) console.log(line)
  if (flaky.length > 0) console.log(`${flaky.length} flaky`)
  console.log(`${passed} passed, ${failed.length} failed`)
  return failed.length > 0 || passed === 0 ? 1 : 0
}

/** The suites that the arguments ask for, or what is wrong with the arguments. */
function choose(): { readonly suites: readonly LongSuite[]; readonly list: boolean } | string {
  const options = { list: { type: 'boolean', default: false }, share: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true, strict: true })
  const named = LONG.filter(({ name }) => positionals.some((prefix) => name.startsWith(prefix)))
  const unknown = positionals.filter((prefix) => !LONG.some(({ name }) => name.startsWith(prefix)))
  if (unknown.length > 0) return `no long suite is called ${unknown.join(', ')}: npm run test:long -- --list names them`
  if (values.share === undefined) return { suites: positionals.length > 0 ? named : LONG, list: values.list }
  if (positionals.length > 0) return '--share and names of suites exclude each other'
  const share = values.share === 'commit' ? shareAt(committedAt()) : Number(values.share)
  const shared = sharesOf(LONG)[share]
  if (shared === undefined) return `--share is '${values.share}', expected 0 to ${SHARES - 1}, or 'commit'`
  return { suites: [...LONG.filter(({ isAlways }) => isAlways), ...shared], list: values.list }
}

/** When the commit that is checked out was made, in epoch seconds. */
function committedAt(): number {
  return Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }))
}

function lineOf({ name, minutes, proves }: LongSuite): string {
  return `${name.padEnd(26)} ${String(minutes).padStart(3)} min  ${proves}`
}

interface Ended {
  readonly name: string
  readonly seconds: number
  readonly passed: number
  readonly failed: readonly string[]
  readonly flaky: readonly string[]
}

/** Each lane takes the longest of its kind, and then what is left. */
async function runAll(suites: readonly LongSuite[]): Promise<Ended[]> {
  const left = suites.toSorted((a, b) => b.minutes - a.minutes)
  const ended: Ended[] = []
  const lane = async (prefersWaiting: boolean) => {
    for (;;) {
      const next = left.find(({ waits = false }) => waits === prefersWaiting) ?? left[0]
      if (next === undefined) return
      left.splice(left.indexOf(next), 1)
      ended.push(await runOne(next))
    }
  }
  const lanes = Array.from({ length: LANES.waiting + LANES.computing }, (_, n) => lane(n < LANES.waiting))
  await Promise.all(lanes)
  return ended
}

async function runOne(suite: LongSuite): Promise<Ended> {
  console.log(`▶ ${lineOf(suite)}`)
  const begun = Date.now()
  const child = spawn(process.execPath, commandOf(suite), {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CASES: '1', ...(suite.postgres !== undefined && { TEST_POSTGRES: suite.postgres }) },
  })
  const said: string[] = []
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', (text) => said.push(text))
  const [code] = await once(child, 'close')
  const text = said.join('')
  const seconds = Math.round((Date.now() - begun) / 1000)
  console.log(`\n■ ${suite.name}, ${seconds} s\n${text.trimEnd()}\n`)
  return { name: suite.name, seconds, ...closingOf(suite.name, text, Number(code)) }
}

function commandOf({ run }: LongSuite): string[] {
  if ('conformance' in run) return ['tools/conformance/conformance.ts', '--part', run.conformance]
  return ['test/run.ts', ...run.files, ...(run.title === undefined ? [] : ['-t', run.title])]
}
