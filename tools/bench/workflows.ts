/**
 * Measures the rate of provision-and-activate (B) against a bare Temporal workflow of four activities that do nothing
 * (A): what Simherd adds to Temporal's own cost. A has four since provision-and-activate had four, and keeps them.
 *
 * They share a service, a server and one machine, in turns: A, B, and B with all SIMs in one pool, five rounds after a
 * warm-up. Every run's result is checked.
 *
 * Usage: node tools/bench/workflows.ts [--count 100] [--rounds 5] [--at-once 50]. Exits with 1 below the target.
 */
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { childEnv } from '../../process/child-env.ts'
import { supervise } from '../../stack/supervise.ts'
import { startService } from '../conformance/service.ts'
import { BARE_QUEUE } from './bare-worker.ts'

/** Least rate of B, as a share of A's. */
const TARGET = 0.6
const BARE_ACTIVITIES = 4
/** Runs before the measured ones, to warm up caches, connections and compiled code. */
const WARM = 50

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '5' },
    'at-once': { type: 'string', default: '50' },
  },
})
const wholeNumber = (name: keyof typeof values): number => {
  const number = Number(values[name])
  if (!Number.isInteger(number) || number < 1) throw new Error(`--${name}: got ${values[name]}, expected 1 or more`)
  return number
}
const [count, rounds, atOnce] = [wholeNumber('count'), wholeNumber('rounds'), wholeNumber('at-once')]

const service = await startService()
const connection = await Connection.connect({ address: service.temporalAddress })
const client = new Client({ connection })
try {
  const tenant = await operate<{ id: string }>('/internal/tenants', {
    name: 'bench',
    billingEmail: 'bench@simherd.example',
  })
  const poolId = await aPool(tenant.id)
  let sims = 0
  const newSims = async (size: number): Promise<string[]> => {
    const iccids = Array.from({ length: size }, () => `8999990${String((sims += 1)).padStart(12, '0')}`)
    await operate('/internal/sims', { sims: iccids.map((iccid) => ({ iccid })) }, tenant.id)
    return iccids
  }
  const simherd = async (iccid: string, place: object): Promise<string> => {
    const body = { iccid, ...place }
    const { workflowId } = await operate<{ workflowId: string }>(
      '/internal/workflows/provision-and-activate',
      body,
      tenant.id,
    )
    const { outcome } = await client.workflow.getHandle(workflowId).result()
    if (outcome !== 'activated') throw new Error(`${workflowId} ended as ${outcome}`)
    return workflowId
  }
  let bareRuns = 0
  const bare = async (): Promise<void> => {
    const workflowId = `bare:${(bareRuns += 1)}`
    await client.workflow.execute('bare', { workflowId, taskQueue: BARE_QUEUE, args: [BARE_ACTIVITIES] })
  }
  const worker = await supervise({
    name: 'bare',
    args: [fileURLToPath(new URL('bare-worker.ts', import.meta.url)), service.temporalAddress],
    env: childEnv({}),
    onLine: () => undefined,
    ready: async () => true,
  })

  /** These functions measure a round, and return the rate. */
  const ways = {
    A: async (size: number) => rate(Array.from({ length: size }), bare),
    B: async (size: number) => rate(await newSims(size), (iccid) => simherd(iccid, {})),
    'B in a pool': async (size: number) => rate(await newSims(size), (iccid) => simherd(iccid, { poolId })),
  }
  const rates: Record<keyof typeof ways, number[]> = { A: [], B: [], 'B in a pool': [] }
  for (const way of Object.values(ways)) await way(WARM)
  for (let round = 1; round <= rounds; round += 1) {
    for (const name of ['A', 'B', 'B in a pool'] as const) rates[name].push(await ways[name](count))
  }
  const [iccid = ''] = await newSims(1)
  const tasks = await costOf(await simherd(iccid, { poolId }))
  await worker.stop({ timeoutMs: 30_000 })

  const model = cpus()[0]?.model.trim() ?? 'unknown'
  console.log(`${cpus().length} cores (${model}), everything on them; Node ${process.version}`)
  console.log(`${rounds} rounds of ${count} runs each, ${atOnce} at once`)
  console.log(`A: bare workflow, ${BARE_ACTIVITIES} activities; B: provision-and-activate, ${tasks}\n`)
  console.log('| | median, runs a second | least – most |')
  console.log('|---|---|---|')
  for (const [name, all] of Object.entries(rates)) {
    console.log(
      `| ${name} | ${median(all).toFixed(1)} | ${Math.min(...all).toFixed(1)} – ${Math.max(...all).toFixed(1)} |`,
    )
  }
  console.log()
  for (const name of ['B', 'B in a pool'] as const) {
    const ratio = median(rates[name]) / median(rates.A)
    const byRound = rates[name].map((each, n) => (each / (rates.A[n] ?? Number.NaN)).toFixed(2))
    console.log(`${name} : A = ${ratio.toFixed(2)} (by round ${byRound.join(', ')}); target ${TARGET}`)
    if (!(ratio >= TARGET)) process.exitCode = 1
  }
} finally {
  await connection.close()
  await service.stop()
}

/**
 * Runs `atOnce` at a time.
 *
 * @returns how many ended in a second
 */
async function rate<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<number> {
  const rest = items.values()
  const began = performance.now()
  const takeNext = async () => {
    for (const item of rest) await run(item)
  }
  await Promise.all(Array.from({ length: atOnce }, takeNext))
  return (1000 * items.length) / (performance.now() - began)
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = Number.NaN, high = Number.NaN] =
    sorted.length % 2 === 1 ? [sorted[middle], sorted[middle]] : [sorted[middle - 1], sorted[middle]]
  return (low + high) / 2
}

/** A run's activities and workflow tasks, in words. */
async function costOf(workflowId: string): Promise<string> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory()
  const count = (is: (event: NonNullable<typeof events>[number]) => unknown) =>
    (events ?? []).filter((event) => is(event) != null).length
  const activities = count((event) => event.activityTaskScheduledEventAttributes)
  return `${activities} activities in ${count((event) => event.workflowTaskCompletedEventAttributes)} workflow tasks`
}

async function aPool(tenantId: string): Promise<number> {
  const fees = { simMonthlyFee: 1.5, smsFee: 0.04, voiceFee: 0.1, overageFeePerGb: 5 }
  const tariff = { displayName: 'bench', type: 0, standardTariff: { baseTariffGb: 1, ...fees } }
  const { id: tariffId } = await operate<{ id: number }>('/internal/tariffs', tariff, tenantId)
  const pool = { name: 'bench', type: 0, tariffId, watchdogMode: 1 }
  return (await operate<{ id: number }>('/api/pools', pool, tenantId)).id
}

async function operate<T>(path: string, body: object, tenantId?: string): Promise<T> {
  const response = await fetch(`${path.startsWith('/api') ? service.apiUrl : service.internalUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.operatorKey}`,
      'content-type': 'application/json',
      ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }),
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`)
  const read: T = JSON.parse(text)
  return read
}
