/**
 * Runs all benches, one after the other, at sizes that fit ten minutes together on two cores. Benches print the figures
 * measured, the comparison, and the targets. `docs/performance.md` has results, at larger sizes too.
 *
 * Usage: npm run bench [-- <name> …]. Exits with 1 if a bench has missed a target.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Options of each bench here. */
const BENCHES: Readonly<Record<string, readonly string[]>> = {
  rules: ['--sims', '500', '--rounds', '3'],
  ingest: ['--sims', '20000', '--records', '40000', '--rounds', '3'],
  sweep: ['--sims', '30000'],
  reads: ['--sims', '20000'],
  search: ['--sims', '20000'],
  pages: ['--sims', '20000', '--requests', '60'],
  tickets: ['--sims', '10000', '--tickets', '200'],
  cycle: ['--sims', '20000'],
  close: ['--sims', '20000', '--rounds', '1'],
  'take-over': ['--sims', '20000', '--rounds', '1'],
  workflows: ['--count', '50', '--rounds', '2'],
  attacks: ['--seconds', '5'],
  latency: ['--sims', '50000', '--seconds', '8'],
  tenants: ['--tenants', '100', '--sims', '200', '--seconds', '6'],
  backtest: ['--records', '50000'],
  boundary: ['--sims', '20000', '--before', '10', '--after', '20'],
  'alert-latency': ['--seconds', '30'],
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name))
if (unknown.length > 0)
  throw new Error(`got ${unknown.join(', ')}, expected some of ${Object.keys(BENCHES).join(', ')}`)

const ended: string[] = []
for (const [name, options] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue
  console.log(`\n## ${name} ${options.join(' ')}\n`)
  const from = performance.now()
  const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url))
  const bench = spawn(process.execPath, [file, ...options], { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(bench, 'exit')
  if (code !== 0) process.exitCode = 1
  ended.push(
    `| ${name} | ${((performance.now() - from) / 1000).toFixed(0)} s | ${code === 0 ? '' : 'missed, see above'} |`,
  )
}
console.log(`\n| bench | took | |\n|---|---|---|\n${ended.join('\n')}`)
