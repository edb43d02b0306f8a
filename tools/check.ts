/**
 * `npm run check`: runs every static check, even after one has failed. Two run side by side.
 *
 * Each prints what it says when it has ended. A line for each comes at the end: whether it passed, and how long it took.
 * Exit code 1 if one failed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { withConcurrency } from '../domain/temporal/with-concurrency.ts'

/** Scripts of package.json, the longest first. */
const CHECKS = ['lint', 'types', 'generated', 'dead', 'documents', 'migrations', 'format', 'lock', 'flaky'] as const
const AT_ONCE = 2

const results: { readonly name: string; readonly ok: boolean; readonly seconds: string }[] = []
await withConcurrency(CHECKS, AT_ONCE, async (name) => {
  const begun = performance.now()
  const child = spawn('npm', ['run', '--silent', name], { cwd: join(import.meta.dirname, '..') })
  const said: string[] = []
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', (text) => said.push(text))
  const [code] = await once(child, 'close')
  process.stdout.write(said.join(''))
  results.push({ name, ok: code === 0, seconds: ((performance.now() - begun) / 1000).toFixed(1) })
})
console.log()
for (const { name, ok, seconds } of results)
  console.log(`${ok ? '✓' : '✗'} ${name.padEnd(10)} ${seconds.padStart(5)} s`)
for (const { name } of results.filter(({ ok }) => !ok)) console.log(`failed: npm run ${name}`)
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1
