/**
 * `npm run conformance`: Schemathesis over both documents as the running service serves them. What it may expect
 * and why is in schemathesis.toml.
 *
 * Arguments go to Schemathesis (`-- --seed 1 --include-operation-id createPool`). Ends with `N passed, N failed`,
 * in operations. Without Python it is skipped; in CI that is a failure.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { childEnv } from '../config/child-env.ts'
import { type Estate, makeEstate } from './conformance/estate.ts'
import { schemathesisPython } from './conformance/python.ts'
import { type Service, startService } from './conformance/service.ts'

const ROOT = join(import.meta.dirname, '..')

/** What we read of Schemathesis's report. */
const Report = Type.Object({
  running_time: Type.Number({ description: 'Seconds' }),
  exit_code: Type.Integer(),
  operations: Type.Object({ tested: Type.Integer() }),
  test_cases: Type.Object({ generated: Type.Integer(), with_failures: Type.Integer() }),
  failures: Type.Array(Type.Object({ operations: Type.Array(Type.String()) })),
})

type Listener = 'public' | 'internal'
interface Run {
  readonly listener: Listener
  readonly args: readonly string[]
}
interface Result {
  readonly listener: Listener
  readonly tested: number
  /** Operations with a failure; at least one where the run failed otherwise. */
  readonly failing: readonly string[]
}

/**
 * All at once: a run waits for its answers most of the time. Those of the public interface share an estate: none
 * deletes what another has made (schemathesis.toml says which ids are drawn).
 */
const RUNS: readonly Run[] = [
  { listener: 'public', args: ['--phases', 'examples,coverage,stateful', '--max-examples', '1000'] },
  { listener: 'public', args: ['--phases', 'fuzzing', '--include-method', 'GET'] },
  { listener: 'public', args: ['--phases', 'fuzzing', '--exclude-method', 'GET'] },
  { listener: 'internal', args: [] },
]

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
  console.log('Starting the service')
  const service = await startService()
  try {
    const estates = {
      public: await makeEstate(service, 'Meadow Metering'),
      internal: await makeEstate(service, 'Mill Lane'),
    }
    const asked: readonly Run[] = [
      { listener: 'public', args },
      { listener: 'internal', args },
    ]
    const runs = args.length === 0 ? RUNS : asked
    const began = Date.now()
    const results = await Promise.all(runs.map((one) => run(found.python, service, estates[one.listener], one)))
    console.log(`all of it: ${Math.round((Date.now() - began) / 1000)} s`)
    return await finish(service, results)
  } finally {
    await service.stop()
  }
}

async function finish(service: Service, results: readonly Result[]): Promise<number> {
  const complaints = await service.complaints()
  for (const line of complaints.slice(0, 20)) console.log(`the service logged: ${line}`)
  let passed = 0
  const failed = complaints.slice(0, 1).map((line) => `the service logged ${line}`)
  for (const listener of ['public', 'internal'] as const) {
    const ours = results.filter((result) => result.listener === listener)
    const failing = new Set(ours.flatMap((result) => result.failing))
    passed += Math.max(0, ...ours.map(({ tested }) => tested - failing.size))
    failed.push(...[...failing].map((operation) => `the ${listener} interface: ${operation}`))
  }
  for (const failure of failed) console.log(`failed: ${failure}`)
  console.log(`${passed} passed, ${failed.length} failed`)
  return failed.length > 0 || passed === 0 ? 1 : 0
}

/** Runs Schemathesis over a document, and prints what it said once it has ended. */
async function run(python: string, service: Service, estate: Estate, { listener, args }: Run): Promise<Result> {
  const url = listener === 'public' ? service.apiUrl : service.internalUrl
  const key = listener === 'public' ? estate.key : service.operatorKey
  const folder = await mkdtemp(join(tmpdir(), 'simherd-schemathesis-'))
  const report = join(folder, 'report.json')
  const reporting = ['--report', 'json', '--report-json-path', report]
  const child = spawn(python, ['-m', 'schemathesis.cli', 'run', `${url}/openapi.json`, ...reporting, ...args], {
    // Where schemathesis.toml is.
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...childEnv({}), SCHEMATHESIS_KEY: key, SCHEMATHESIS_TENANT: estate.tenantId },
  })
  const said: string[] = []
  for (const output of [child.stdout, child.stderr]) output.on('data', (text) => said.push(String(text)))
  await once(child, 'close')
  const read: unknown = JSON.parse(await readFile(report, 'utf8').catch(() => 'null'))
  await rm(folder, { recursive: true, force: true })
  console.log(`\n${said.join('').trimEnd()}\n`)
  const what = ['the', listener, 'interface', ...args].join(' ')
  if (!Value.Check(Report, read)) {
    console.log(`${what}: Schemathesis broke off`)
    return { listener, tested: 0, failing: [what] }
  }
  const failing = read.failures.flatMap(({ operations }) => operations)
  const { generated, with_failures } = read.test_cases
  console.log(`${what}: ${generated} cases run, ${with_failures} failed, ${Math.round(read.running_time)} s`)
  const isFailed = read.exit_code !== 0 && failing.length === 0
  return { listener, tested: read.operations.tested, failing: isFailed ? [what] : failing }
}
