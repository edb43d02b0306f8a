/**
 * `npm run conformance`: runs Schemathesis on both documents, as the running service serves them. What it may expect,
 * and why, is in schemathesis.toml.
 *
 * `-- --part reads` runs one part (PARTS). Other arguments go to Schemathesis (`-- --include-operation-id createPool`).
 * The seed is that of all tests (test/setup/seed.ts). The last line is `N passed, N failed`, counted in operations. An
 * operation that never responded 2xx has failed. Without Python the run is skipped; in CI that is a failure.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { childEnv } from '../../process/child-env.ts'
import { SEED } from '../../test/setup/seed.ts'
import { type Estate, makeEstate } from './estate.ts'
import { schemathesisPython } from './python.ts'
import { type Service, startService } from './service.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The parts of Schemathesis's report that are read here. */
const Report = Type.Object({
  running_time: Type.Number({ description: 'Seconds' }),
  exit_code: Type.Integer(),
  operations: Type.Object({ tested: Type.Integer() }),
  test_cases: Type.Object({ generated: Type.Integer(), with_failures: Type.Integer() }),
  failures: Type.Array(Type.Object({ operations: Type.Array(Type.String()) })),
})

/** How often each operation responded with which status (tools/conformance/hooks.py). */
const Answers = Type.Record(Type.String(), Type.Record(Type.String(), Type.Integer()))
type Answers = Static<typeof Answers>

type Listener = 'public' | 'internal'
interface Run {
  readonly listener: Listener
  readonly args: readonly string[]
  /** Its cases are drawn, and may all be refused: other parts show that each of its operations succeeds. */
  readonly isDrawn?: true
}
interface Result {
  readonly listener: Listener
  readonly tested: number
  /** Operations with a failure. At least one entry if the run failed in another way. */
  readonly failing: readonly string[]
  readonly answers: Answers
}

/**
 * All parts at once, because a part mostly waits for responses. Those of the public interface share an estate: no part
 * deletes what another has made (schemathesis.toml says which ids are drawn).
 */
const PARTS: Readonly<Record<string, Run>> = {
  examples: { listener: 'public', args: ['--phases', 'examples,coverage,stateful', '--max-examples', '1000'] },
  reads: { listener: 'public', args: ['--phases', 'fuzzing', '--include-method', 'GET'], isDrawn: true },
  writes: { listener: 'public', args: ['--phases', 'fuzzing', '--exclude-method', 'GET'], isDrawn: true },
  'internal-examples': { listener: 'internal', args: ['--phases', 'examples,coverage,stateful'] },
  'internal-drawn': { listener: 'internal', args: ['--phases', 'fuzzing'], isDrawn: true },
}

/**
 * Operations whose 2xx is shown elsewhere: test/api/every-route sees them succeed, and checks their answers against the
 * document. A mail is given up only where its server refuses it for good, and the inbox of a run takes every mail. A
 * session begins at the console.
 */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['retryMail', 'endSession'])

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`failed: ${error instanceof Error ? error.message : String(error)}`)
  console.log('0 passed, 1 failed')
  return 1
})

async function main(args: readonly string[]): Promise<number> {
  const found = await schemathesisPython()
  if ('missing' in found) {
    const inCI = childEnv({}).CI === 'true'
    console.log(`${inCI ? 'failed: in CI nothing may be missing' : 'skipped'}: ${found.missing}`)
    console.log(`0 passed, ${inCI ? 1 : 0} failed`)
    return inCI ? 1 : 0
  }
  console.log(`Starting the service; the seed is ${SEED}: the same cases again by SEED=${SEED}`)
  const service = await startService()
  try {
    const estates = {
      public: await makeEstate(service, 'Meadow Metering'),
      internal: await makeEstate(service, 'Mill Lane'),
    }
    const runs = runsOf(args)
    const began = Date.now()
    const results = await Promise.all(runs.map((one) => run(found.python, service, estates[one.listener], one)))
    console.log(`all of it: ${Math.round((Date.now() - began) / 1000)} s`)
    return await finish(
      service,
      results,
      runs.every(({ isDrawn }) => isDrawn),
    )
  } finally {
    await service.stop()
  }
}

/** @throws Error if it names a part that does not exist */
function runsOf(args: readonly string[]): readonly Run[] {
  if (args.length === 0) return Object.values(PARTS)
  const [flag, name = ''] = args
  if (flag !== '--part') return (['public', 'internal'] as const).map((listener) => ({ listener, args }))
  const part = PARTS[name]
  if (part === undefined) throw new Error(`--part is '${name}', expected one of ${Object.keys(PARTS).join(', ')}`)
  return [part]
}

/** @param isDrawn operations may have been refused each time */
async function finish(service: Service, results: readonly Result[], isDrawn: boolean): Promise<number> {
  const complaints = await service.complaints()
  for (const line of complaints.slice(0, 20)) console.log(`the service logged: ${line}`)
  let passed = 0
  const failed = complaints.slice(0, 1).map((line) => `the service logged ${line}`)
  for (const listener of ['public', 'internal'] as const) {
    const ours = results.filter((result) => result.listener === listener)
    const failing = new Set([...ours.flatMap((result) => result.failing), ...(isDrawn ? [] : neverDone(ours))])
    passed += Math.max(0, ...ours.map(({ tested }) => tested - failing.size))
    failed.push(...[...failing].map((operation) => `the ${listener} interface: ${operation}`))
  }
  for (const failure of failed) console.log(`failed: ${failure}`)
  console.log(`${passed} passed, ${failed.length} failed`)
  return failed.length > 0 || passed === 0 ? 1 : 0
}

/** Operations that were requested but never responded 2xx: nothing that they do was checked. */
function neverDone(results: readonly Result[]): string[] {
  const done = new Map<string, boolean>()
  for (const { answers } of results) {
    for (const [operation, counts] of Object.entries(answers)) {
      const isDone = Object.keys(counts).some((status) => status.startsWith('2'))
      done.set(operation, isDone || done.get(operation) === true)
    }
  }
  const missing = [...done].filter(([operation, isDone]) => !isDone && !SHOWN_ELSEWHERE.has(operation))
  return missing.map(([operation]) => `${operation} was never answered 2xx`)
}

/** Runs Schemathesis on a document, and prints its output when it has ended. */
async function run(python: string, service: Service, estate: Estate, { listener, args }: Run): Promise<Result> {
  const url = listener === 'public' ? service.apiUrl : service.internalUrl
  const key = listener === 'public' ? estate.key : service.operatorKey
  const folder = await mkdtemp(join(tmpdir(), 'simherd-schemathesis-'))
  const [report, answersFile] = [join(folder, 'report.json'), join(folder, 'answers.json')]
  const reporting = ['--report', 'json', '--report-json-path', report]
  const all = ['-m', 'schemathesis.cli', 'run', `${url}/openapi.json`, ...reporting, '--seed', String(SEED), ...args]
  const child = spawn(python, all, {
    // The folder of schemathesis.toml.
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...childEnv({}),
      // It would keep the compiled hooks beside their source.
      PYTHONDONTWRITEBYTECODE: '1',
      SCHEMATHESIS_KEY: key,
      SCHEMATHESIS_TENANT: estate.tenantId,
      SCHEMATHESIS_ANSWERS: answersFile,
      SCHEMATHESIS_API_URL: service.apiUrl,
      SCHEMATHESIS_INTERNAL_URL: service.internalUrl,
      SCHEMATHESIS_OPERATOR_KEY: service.operatorKey,
    },
  })
  const said: string[] = []
  for (const output of [child.stdout, child.stderr]) output.on('data', (text) => said.push(String(text)))
  await once(child, 'close')
  const read: unknown = JSON.parse(await readFile(report, 'utf8').catch(() => 'null'))
  const answers: unknown = JSON.parse(await readFile(answersFile, 'utf8').catch(() => '{}'))
  await rm(folder, { recursive: true, force: true })
  console.log(`\n${said.join('').trimEnd()}\n`)
  const what = ['the', listener, 'interface', ...args].join(' ')
  if (!Value.Check(Report, read) || !Value.Check(Answers, answers)) {
    console.log(`${what}: Schemathesis broke off`)
    return { listener, tested: 0, failing: [what], answers: {} }
  }
  const failing = read.failures.flatMap(({ operations }) => operations)
  const { generated, with_failures } = read.test_cases
  console.log(`${what}: ${generated} cases run, ${with_failures} failed, ${Math.round(read.running_time)} s`)
  const isFailed = read.exit_code !== 0 && failing.length === 0
  return { listener, tested: read.operations.tested, failing: isFailed ? [what] : failing, answers }
}
