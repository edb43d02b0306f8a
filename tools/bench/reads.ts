/**
 * Measures reads of SIMs over HTTP: one SIM, and pages of lists. Also of a bare Fastify server with pg, without keys,
 * figures and row-level security, that gives the same SIMs by their ids.
 *
 * Usage: node tools/bench/reads.ts [--sims 1000000] [--requests 400]. Exits with 1 if a ratio is below its target.
 */
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import fastify from 'fastify'
import { sql } from 'kysely'
import pg from 'pg'
import { inTenant } from '../../store/tenancy.ts'
import { apiOf } from './api.ts'
import { anEstate } from './estate.ts'
import { inTurn, machine, median, spread } from './measure.ts'
import type { Reading } from './reader.ts'

const { values } = parseArgs({
  options: { sims: { type: 'string', default: '1000000' }, requests: { type: 'string', default: '400' } },
})
const sims = Number(values.sims)
const requests = Number(values.requests)
if (!Number.isInteger(sims) || sims < 2000) throw new Error(`--sims: got ${values.sims}, expected 2,000 or more`)
if (!Number.isInteger(requests) || requests < 1)
  throw new Error(`--requests: got ${values.requests}, expected 1 or more`)

const COLUMNS = `id, tag, iccid, pool_id, tariff_id, imsi, msisdn, imei, status, updated_at, provisioned_at, status_since,
  type, pending_pool_id, pending_tariff_id, pending_unassign, watchdog_mode, is_watchdog_exempt, warning_threshold_pct,
  enable_burn_rate_alerts`
/** In a list of this many SIMs. */
const lastPage = (count: number) => Math.min(9000, Math.floor(count / 100))

const estate = await anEstate(sims)
const { rows: one } = await inTenant(estate.store, estate.tenantId, (tx) =>
  sql<{ id: number; pool: number }>`
    select s.id, (select min(id) + 1 from pools where tenant_id = ${tx.tenantId})::integer as pool from sims s
     where s.tenant_id = ${tx.tenantId} order by s.id offset ${Math.floor(sims / 2)} limit 1`.execute(tx.q),
)
const { id, pool } = one[0] ?? { id: 0, pool: 0 }
const reads: readonly { readonly name: string; readonly path: string; readonly target: number }[] = [
  { name: 'one SIM', path: `/sims/${id}`, target: 0.33 },
  { name: 'page 1', path: '/sims', target: 0.33 },
  { name: `page ${lastPage(sims)}`, path: `/sims?page=${lastPage(sims)}`, target: 0.25 },
  { name: 'Suspended, page 1', path: '/sims?status=2', target: 0.25 },
  {
    name: `Active, page ${lastPage(sims * 0.8)}`,
    path: `/sims?status=1&page=${lastPage(sims * 0.8)}`,
    target: 0.25,
  },
  { name: 'of a pool, page 2', path: `/sims?poolId=${pool}&page=2`, target: 0.25 },
  { name: 'of a pool, Suspended', path: `/sims?poolId=${pool}&status=2`, target: 0.25 },
]

const api = await apiOf(estate)
const bare = fastify()
const rows = new pg.Pool({ connectionString: estate.url, max: 8 })
bare.get<{ Querystring: { ids: string } }>('/', async ({ query }) => {
  const found = await rows.query(`select ${COLUMNS} from sims where id = any($1::bigint[]) order by id`, [
    query.ids.split(','),
  ])
  return { data: found.rows }
})
const bareUrl = await bare.listen({ host: '127.0.0.1', port: 0 })
const reader = new Worker(new URL('reader.ts', import.meta.url))
const headers = { authorization: `Bearer ${estate.key}` }

async function time(reading: Reading): Promise<void> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  reader.postMessage(reading)
  const [ms] = await once(reader, 'message')
  if (ms === -1) throw new Error(`${reading.url} failed`)
}
async function get(url: string, of: Readonly<Record<string, string>>) {
  const response = await fetch(url, { headers: of })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  const body: unknown = await response.json()
  const list = typeof body === 'object' && body !== null && 'data' in body ? body.data : [body]
  return Array.isArray(list) ? list.map((sim: { id: number | string }) => Number(sim.id)) : []
}

try {
  console.log(`${machine()}\n${sims} SIMs; requests a second, 8 at once, median of 5 (least–most)\n`)
  console.log('| read | simherd | bare Fastify and pg | ratio | target | |')
  console.log('|---|---|---|---|---|---|')
  for (const { name, path, target } of reads) {
    const url = `${api.apiUrl}/api${path}`
    const ids = await get(url, headers)
    const bareOne = `${bareUrl}/?ids=${ids.join(',')}`
    if (ids.length === 0 || ids.join() !== (await get(bareOne, {})).join())
      throw new Error(`${name}: not the same SIMs`)
    const took = await inTurn(
      () => time({ url, headers, requests }),
      () => time({ url: bareOne, headers: {}, requests }),
    )
    const rate = (ms: readonly number[]) => ms.map((each) => (requests / each) * 1000)
    const [ours, theirs] = [rate(took.ours), rate(took.theirs)]
    const ratio = median(ours) / median(theirs)
    if (ratio < target) process.exitCode = 1
    console.log(
      `| ${name} | ${spread(ours, 0)} | ${spread(theirs, 0)} | ${ratio.toFixed(2)} | ≥ ${target} | ${ratio < target ? 'missed' : ''} |`,
    )
  }
} finally {
  await reader.terminate()
  await api.close()
  await bare.close()
  await rows.end()
  await estate.close()
}
