/**
 * Measures what attacks cost other tenants: the latency of another tenant's requests, at rest and under each attack of
 * attacker.ts. The service, the attacker and this process are separate processes on one machine.
 *
 * Usage: node bench/attacks.ts [--seconds 20]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startService } from '../tools/conformance/service.ts'
import { ATTACKS, type Weapons } from './attacker.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' } } })
const seconds = Number(values.seconds)
if (!Number.isInteger(seconds)) throw new Error(`--seconds: got ${values.seconds}, expected a whole number`)
/** Time limit for one request, in milliseconds. Beyond it the other tenant has no response. */
const PATIENCE_MS = 120_000
const PAUSE_MS = 20

const service = await startService({ REFUSAL_LIMIT: 60 })
try {
  const attacker = await tenant('attacker')
  const other = await tenant('other')
  const { apiUrl, internalUrl, operatorKey } = service
  const weapons: Weapons = { apiUrl, internalUrl, operatorKey, key: attacker.key, tenantId: attacker.id }
  await watch(other.key, 2)

  console.log(`${seconds} s each, ${cpus().length} cores; milliseconds of another tenant's GET /api/tenant\n`)
  console.log('| | requests | median | p99 | max | no response | responses to the attacker |')
  console.log('|---|---|---|---|---|---|---|')
  print('at rest', await watch(other.key, seconds), '')
  for (const name of Object.keys(ATTACKS)) {
    const attack = spawn(
      process.execPath,
      [fileURLToPath(new URL('attacker.ts', import.meta.url)), name, JSON.stringify(weapons)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const said = text(attack.stdout)
    await sleep(2000)
    const seen = await watch(other.key, seconds)
    attack.kill('SIGTERM')
    await once(attack, 'exit')
    print(name, seen, (await said).trim())
    await calm(other.key)
  }
} finally {
  await service.stop()
}

interface Seen {
  readonly tookMs: readonly number[]
  readonly failed: number
}

function askAs(key: string): Promise<Response> {
  const headers = { authorization: `Bearer ${key}` }
  return fetch(`${service.apiUrl}/api/tenant`, { headers, signal: AbortSignal.timeout(PATIENCE_MS) })
}

/** Sends requests of a tenant for this time, one after the other. */
async function watch(key: string, forSeconds: number): Promise<Seen> {
  const tookMs: number[] = []
  let failed = 0
  for (const until = performance.now() + forSeconds * 1000; performance.now() < until; await sleep(PAUSE_MS)) {
    const from = performance.now()
    const isAnswered = await askAs(key).then(
      async (response) => (await response.arrayBuffer(), response.ok),
      () => false,
    )
    if (isAnswered) tookMs.push(performance.now() - from)
    else failed += 1
  }
  return { tookMs: tookMs.sort((a, b) => a - b), failed }
}

function print(what: string, { tookMs, failed }: Seen, responses: string): void {
  const at = (share: number) =>
    tookMs[Math.min(tookMs.length - 1, Math.floor(share * tookMs.length))]?.toFixed(1) ?? '–'
  console.log(`| ${what} | ${tookMs.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} | ${failed} | ${responses} |`)
}

/** Waits until the aftermath of an attack is over. */
async function calm(key: string): Promise<void> {
  for (let quick = 0; quick < 20; await sleep(100)) {
    const from = performance.now()
    const response = await askAs(key).catch(() => undefined)
    quick = response?.ok === true && performance.now() - from < 200 ? quick + 1 : 0
  }
}

async function tenant(name: string): Promise<{ id: string; key: string }> {
  const response = await fetch(`${service.internalUrl}/internal/tenants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.operatorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, billingEmail: `${name}@simherd.example` }),
  })
  const body = await response.text()
  if (!response.ok) throw new Error(`POST /internal/tenants: ${response.status} ${body}`)
  const made: { id: string; key: string } = JSON.parse(body)
  return made
}
