/**
 * `npm run check`: runs every static check, even after one has failed.
 *
 * Prints a line for each at the end: whether it passed, and how long it took. Exit code 1 if one failed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Scripts of package.json. Those that fail fastest come first. */
const CHECKS = ['format', 'types', 'lint', 'dead', 'generated', 'documents', 'migrations', 'lock'] as const

const results = []
for (const name of CHECKS) {
  const begun = performance.now()
  const child = spawn('npm', ['run', '--silent', name], { cwd: join(import.meta.dirname, '..'), stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  results.push({ name, ok: code === 0, seconds: ((performance.now() - begun) / 1000).toFixed(1) })
}
console.log()
for (const { name, ok, seconds } of results)
  console.log(`${ok ? '✓' : '✗'} ${name.padEnd(10)} ${seconds.padStart(5)} s`)
for (const { name } of results.filter(({ ok }) => !ok)) console.log(`failed: npm run ${name}`)
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1
