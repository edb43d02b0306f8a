/**
 * Measures the rate of provision-and-activate beside a bare Temporal workflow with as many activities that do nothing.
 * So it shows what Simherd adds to Temporal's own cost. Both use one service, one server and one machine, one after the
 * other.
 *
 * Usage: node bench/workflows.ts [--count 300] [--at-once 50]
 */
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { childEnv } from '../config/child-env.ts'
import { supervise } from '../stack/supervise.ts'
import { startService } from '../tools/conformance/service.ts'
import { BARE_QUEUE } from './bare-worker.ts'

const { values } = parseArgs({
  options: { count: { type: 'string', default: '300' }, 'at-once': { type: 'string', default: '50' } },
})
const [count, atOnce] = [values.count, values['at-once']].map(Number)
if (!Number.isInteger(count) || !Number.isInteger(atOnce) || count === undefined || atOnce === undefined) {
  throw new Error(`--count and --at-once: got ${values.count} and ${values['at-once']}, expected whole numbers`)
}
/** Runs before the measured ones, to warm up caches, connections and compiled code. */
const WARM = 20

const service = await startService()
const connection = await Connection.connect({ address: service.temporalAddress })
const client = new Client({ connection })
try {
  const iccids = Array.from({ length: count + WARM }, (_, n) => `8999990${String(n).padStart(12, '0')}`)
  const tenant = await operate<{ id: string }>('tenants', { name: 'bench', billingEmail: 'bench@simherd.example' })
  const simherd = async (iccid: string) => {
    const started = await operate<{ workflowId: string }>('workflows/provision-and-activate', { iccid }, tenant.id)
    const { outcome } = await client.workflow.getHandle(started.workflowId).result()
    if (outcome !== 'activated') throw new Error(`${started.workflowId} ended as ${outcome}`)
    return started.workflowId
  }
  for (let at = 0; at < iccids.length; at += 1000) {
    const sims = iccids.slice(at, at + 1000).map((iccid) => ({ iccid }))
    await operate('sims', { sims }, tenant.id)
  }
  const [first = ''] = await Promise.all(iccids.slice(0, WARM).map(simherd))
  const activities = await activitiesOf(first)
  const ours = await rate(iccids.slice(WARM), simherd)

  const worker = await supervise({
    name: 'bare',
    args: [fileURLToPath(new URL('bare-worker.ts', import.meta.url)), service.temporalAddress],
    env: childEnv({}),
    onLine: () => undefined,
    ready: async () => true,
  })
  const bare = (id: string) =>
    client.workflow.execute('bare', { workflowId: `bare:${id}`, taskQueue: BARE_QUEUE, args: [activities] })
  await Promise.all(iccids.slice(0, WARM).map(bare))
  const theirs = await rate(iccids.slice(WARM), bare)
  await worker.stop({ timeoutMs: 30_000 })

  console.log(`${count} runs, ${atOnce} at once, ${activities} activities each, ${cpus().length} cores`)
  console.log(`provision-and-activate  ${ours.toFixed(1)} a second`)
  console.log(`bare workflow           ${theirs.toFixed(1)} a second`)
  console.log(`ratio                   ${(ours / theirs).toFixed(2)}`)
} finally {
  await connection.close()
  await service.stop()
}

/**
 * Runs `atOnce` at a time.
 *
 * @returns how many ended in a second
 */
async function rate(ids: readonly string[], run: (id: string) => Promise<unknown>): Promise<number> {
  const rest = ids.values()
  const began = performance.now()
  const takeNext = async () => {
    for (const id of rest) await run(id)
  }
  await Promise.all(Array.from({ length: atOnce ?? 1 }, takeNext))
  return (1000 * ids.length) / (performance.now() - began)
}

async function activitiesOf(workflowId: string): Promise<number> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory()
  return (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes != null).length
}

async function operate<T>(path: string, body: object, tenantId?: string): Promise<T> {
  const response = await fetch(`${service.internalUrl}/internal/${path}`, {
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
