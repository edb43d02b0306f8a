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

interface Result {
  readonly passed: number
  readonly failed: number
}

process.exitCode = await main(process.argv.slice(2))

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
    // An estate each, and side by side: what one run changes is not the other's.
    const [ours, theirs] = [await makeEstate(service, 'Meadow Metering'), await makeEstate(service, 'Mill Lane')]
    const runs = [
      run(found.python, service.apiUrl, ours, { key: ours.key }, args),
      run(found.python, service.internalUrl, theirs, { key: service.operatorKey }, args),
    ]
    const results = await Promise.all(runs)
    return await finish(service, results)
  } finally {
    await service.stop()
  }
}

async function finish(service: Service, results: readonly Result[]): Promise<number> {
  const complaints = await service.complaints()
  for (const line of complaints.slice(0, 20)) console.log(`the service logged: ${line}`)
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  const failed = results.reduce((sum, result) => sum + result.failed, 0) + (complaints.length > 0 ? 1 : 0)
  console.log(`${passed} passed, ${failed} failed`)
  return failed > 0 || passed === 0 ? 1 : 0
}

/** Runs Schemathesis over one document, and prints what it said once it has ended. */
async function run(
  python: string,
  url: string,
  { tenantId }: Estate,
  { key }: { readonly key: string },
  args: readonly string[],
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-schemathesis-'))
  const report = join(folder, 'report.json')
  const reporting = ['--report', 'json', '--report-json-path', report]
  const child = spawn(
    python,
    [
      '-m',
      'schemathesis.cli',
      '--config-file',
      join(ROOT, 'schemathesis.toml'),
      'run',
      `${url}/openapi.json`,
      ...reporting,
      ...args,
    ],
    {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...childEnv({}), SCHEMATHESIS_KEY: key, SCHEMATHESIS_TENANT: tenantId },
    },
  )
  const said: string[] = []
  for (const output of [child.stdout, child.stderr]) output.on('data', (text) => said.push(String(text)))
  await once(child, 'close')
  const read: unknown = JSON.parse(await readFile(report, 'utf8').catch(() => 'null'))
  await rm(folder, { recursive: true, force: true })
  console.log(`\n${said.join('').trimEnd()}\n`)
  if (!Value.Check(Report, read)) return { passed: 0, failed: 1 }
  const failing = new Set(read.failures.flatMap(({ operations }) => operations))
  const failed = Math.max(failing.size, read.exit_code === 0 ? 0 : 1)
  const { generated, with_failures } = read.test_cases
  const seconds = Math.round(read.running_time)
  console.log(`${url}: ${generated} cases run, ${with_failures} failed, ${seconds} s`)
  return { passed: Math.max(0, read.operations.tested - failed), failed }
}
