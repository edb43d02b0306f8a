/**
 * Measures what attacks cost other tenants: the latency of another tenant's requests, at rest and under each attack of
 * attacker.ts. The service, the attacker and this process are separate processes on one machine.
 *
 * Usage: node tools/bench/attacks.ts [--seconds 20] [--attack 'changes of one SIM']
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startService } from '../conformance/service.ts'
import { ATTACKS, type Weapons } from './attacker.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, attack: { type: 'string', multiple: true } },
})
const seconds = Number(values.seconds)
if (!Number.isInteger(seconds)) throw new Error(`--seconds: got ${values.seconds}, expected a whole number`)
/** Time limit for one request, in milliseconds. Beyond it the other tenant has no response. */
const PATIENCE_MS = 120_000
const PAUSE_MS = 20
/** How long the other tenant is watched before an attack, and after it. */
const AROUND_S = 5
/** SIMs of the attacker, in one pool. */
const SIMS = 60_000
const FEES = { simMonthlyFee: 1.5, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 2.25 }

const service = await startService({ REFUSAL_LIMIT: 60, ANONYMOUS_LIMIT: 300 })
try {
  const attacker = await tenant('attacker')
  const other = await tenant('other')
  const { apiUrl, internalUrl, operatorKey } = service
  const estate = await largeEstate(attacker)
  const weapons: Weapons = { apiUrl, internalUrl, operatorKey, key: attacker.key, tenantId: attacker.id, ...estate }
  await watch(other.key, 2)

  console.log(`${seconds} s each, ${cpus().length} cores; milliseconds of another tenant's GET /api/tenant\n`)
  console.log('| | | requests | median | p99 | max | failed | responses to the attacker |')
  console.log('|---|---|---|---|---|---|---|---|')
  for (const name of values.attack ?? Object.keys(ATTACKS)) {
    print(name, 'before', await watch(other.key, AROUND_S), '')
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
    print('', 'during', seen, (await said).trim())
    print('', 'after', await watch(other.key, AROUND_S), '')
    await calm(other.key)
  }
} finally {
  await service.stop()
}

interface Seen {
  readonly tookMs: readonly number[]
  /** How often each failure was seen: a status, or that no response came. */
  readonly failed: ReadonlyMap<string, number>
}

function askAs(key: string): Promise<Response> {
  const headers = { authorization: `Bearer ${key}` }
  return fetch(`${service.apiUrl}/api/tenant`, { headers, signal: AbortSignal.timeout(PATIENCE_MS) })
}

/** Sends requests of a tenant for this time, one after the other. */
async function watch(key: string, forSeconds: number): Promise<Seen> {
  const tookMs: number[] = []
  const failed = new Map<string, number>()
  for (const until = performance.now() + forSeconds * 1000; performance.now() < until; await sleep(PAUSE_MS)) {
    const from = performance.now()
    const failure = await askAs(key).then(
      async (response) => (await response.arrayBuffer(), response.ok ? undefined : String(response.status)),
      () => 'no response',
    )
    if (failure === undefined) tookMs.push(performance.now() - from)
    else failed.set(failure, (failed.get(failure) ?? 0) + 1)
  }
  return { tookMs: tookMs.sort((a, b) => a - b), failed }
}

function print(what: string, when: string, { tookMs, failed }: Seen, responses: string): void {
  const at = (share: number) =>
    tookMs[Math.min(tookMs.length - 1, Math.floor(share * tookMs.length))]?.toFixed(1) ?? '–'
  const failures = [...failed].map(([failure, count]) => `${failure} ${count} times`).join(', ') || '0'
  console.log(
    `| ${what} | ${when} | ${tookMs.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} | ${failures} | ${responses} |`,
  )
}

/** Waits until the aftermath of an attack is over. */
async function calm(key: string): Promise<void> {
  for (let quick = 0; quick < 20; await sleep(100)) {
    const from = performance.now()
    const response = await askAs(key).catch(() => undefined)
    quick = response?.ok === true && performance.now() - from < 200 ? quick + 1 : 0
  }
}

/** Gives a tenant a pool with many Active SIMs. */
async function largeEstate({ id, key }: { readonly id: string; readonly key: string }) {
  const call = async (url: string, headers: Record<string, string>, body: string, type: string) => {
    const response = await fetch(url, { method: 'POST', headers: { ...headers, 'content-type': type }, body })
    const text = await response.text()
    if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${text.slice(0, 200)}`)
    return JSON.parse(text)
  }
  const operator = { authorization: `Bearer ${service.operatorKey}`, 'x-tenant-id': id }
  const json = 'application/json'
  const { id: tariffId } = await call(
    `${service.internalUrl}/internal/tariffs`,
    operator,
    JSON.stringify({ displayName: 'Meters', type: 0, standardTariff: { baseTariffGb: 1, ...FEES } }),
    json,
  )
  const pool = { name: 'Meters', type: 0, tariffId, watchdogMode: 1 }
  const { id: poolId } = await call(
    `${service.apiUrl}/api/pools`,
    { authorization: `Bearer ${key}` },
    JSON.stringify(pool),
    json,
  )
  const sims = Array.from({ length: SIMS }, (_, n) =>
    JSON.stringify({
      iccid: `894450100${String(n).padStart(10, '0')}`,
      poolId,
      status: 1,
      activatedAt: '2026-01-01T00:00:00Z',
      tag: `meter ${n}`,
    }),
  )
  const { created } = await call(
    `${service.internalUrl}/internal/sims`,
    operator,
    sims.join('\n'),
    'application/x-ndjson',
  )
  return { poolId: Number(poolId), simId: Number(created[0].id) }
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
