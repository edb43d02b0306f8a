/**
 * Measures reads over HTTP with autocannon: one SIM and page 1 of the SIMs with 1, 8 and 64 connections, other pages and
 * lists with 8. The API is a process with keys, row-level security and a log line for each request; another tenant of
 * the same size is in the database. Also of a bare Fastify server with pg that gives the same rows by their ids.
 *
 * Usage: node tools/bench/reads.ts [--sims 1000000] [--seconds 1], of each round. Exits with 1 if a ratio is below its target.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import autocannon from 'autocannon'
import { sql } from 'kysely'
import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { inTenant, type TenantTx } from '../../store/tenancy.ts'
import { cpuSeconds, peakMiB, startApi } from './api.ts'
import type { SELECTS } from './bare-server.ts'
import { anEstate } from './estate.ts'
import { inTurn, machine, median, spread, wholeNumbers } from './measure.ts'

const { sims, seconds } = wholeNumbers({ sims: 1_000_000, seconds: 1 })
if (sims < 2000) throw new Error(`--sims: got ${sims}, expected 2,000 or more`)

/** Connections that a user's own server has; all are shown for two reads. */
const USUAL = 8
const CONNECTIONS = [1, USUAL, 64]
/** Rows of other lists. That of tickets has no pages. */
const LISTED = 100
const MEMORY_SECONDS = 60

interface Read {
  readonly name: string
  readonly path: string
  readonly bare: keyof typeof SELECTS
  readonly connections: readonly number[]
  /** Of the ratio with the usual connections. */
  readonly target: number
}

const estate = await anEstate(sims)
await estate.addTenants(1, sims)
const { id, pool } = await inTenant(estate.store, estate.tenantId, addRows)
const lastPage = (count: number) => Math.min(9000, Math.floor(count / 100))
const list = (name: string, path: string, target: number, bare: keyof typeof SELECTS = 'sims'): Read => {
  return { name, path, bare, connections: [USUAL], target }
}
const reads: readonly Read[] = [
  { name: 'one SIM', path: `/sims/${id}`, bare: 'sims', connections: CONNECTIONS, target: 0.3 },
  { name: 'page 1', path: '/sims', bare: 'sims', connections: CONNECTIONS, target: 0.6 },
  list(`page ${lastPage(sims)}`, `/sims?page=${lastPage(sims)}`, 0.6),
  list('Suspended, page 1', '/sims?status=2', 0.6),
  list(`Active, page ${lastPage(sims * 0.8)}`, `/sims?status=1&page=${lastPage(sims * 0.8)}`, 0.6),
  list('of a pool, page 2', `/sims?poolId=${pool}&page=2`, 0.6),
  list('of a pool, Suspended', `/sims?poolId=${pool}&status=2`, 0.6),
  list('pools', '/pools', 0.5, 'pools'),
  list('tickets', '/tickets', 0.5, 'tickets'),
  list('watchdog log', '/watchdog/logs', 0.5, 'log'),
]

const api = await startApi(estate.url, { LOG_LEVEL: 'info', RATE_LIMIT: 0 })
const bare = new Worker(new URL('bare-server.ts', import.meta.url), { workerData: estate.url })
const [bareUrl] = await once(bare, 'message')
const headers = { authorization: `Bearer ${estate.key}` }

try {
  console.log(machine())
  await send({ url: `${api.apiUrl}/api/sims/${id}`, headers, connections: 64, duration: MEMORY_SECONDS })
  console.log(`API after ${MEMORY_SECONDS} s of 64 connections: ${peakMiB(api.pid).toFixed(0)} MiB at its peak`)
  console.log(`2 tenants of ${sims} SIMs each; requests a second, median of 5 (least–most)\n`)
  console.log('| read | connections | simherd | bare Fastify and pg | ratio | target | CPU ms: API, PostgreSQL | |')
  console.log('|---|---|---|---|---|---|---|---|')
  for (const read of reads) {
    const bareOf = await sameRows(read)
    for (const connections of read.connections) await measure(read, bareOf, connections)
  }
} finally {
  await api.stop()
  await bare.terminate()
  await estate.close()
}

async function measure({ name, path, target }: Read, bareOf: string, connections: number): Promise<void> {
  const rates: Record<'ours' | 'theirs', number[]> = { ours: [], theirs: [] }
  const cpu = { api: 0, postgres: 0, requests: 0 }
  await inTurn(
    async () => {
      const before = cpuOfBoth()
      const sent = await send({ url: `${api.apiUrl}/api${path}`, headers, connections, duration: seconds })
      const after = cpuOfBoth()
      rates.ours.push(sent.rate)
      cpu.requests += sent.requests
      for (const one of ['api', 'postgres'] as const) cpu[one] += after[one] - before[one]
    },
    async () => {
      const { rate } = await send({ url: bareOf, connections, duration: seconds })
      rates.theirs.push(rate)
    },
  )
  // The first round warms up.
  const [ours, theirs] = [rates.ours.slice(1), rates.theirs.slice(1)]
  const ratio = median(ours) / median(theirs)
  const isMissed = connections === USUAL && ratio < target
  if (isMissed) process.exitCode = 1
  const perRequest = (all: number) => ((all * 1000) / cpu.requests).toFixed(2)
  console.log(
    `| ${name} | ${connections} | ${spread(ours, 0)} | ${spread(theirs, 0)} | ${ratio.toFixed(2)} | ${connections === USUAL ? `≥ ${target}` : ''} | ${perRequest(cpu.api)}, ${perRequest(cpu.postgres)} | ${isMissed ? 'missed' : ''} |`,
  )
}

function cpuOfBoth() {
  return { api: cpuSeconds(api.pid), postgres: cpuSeconds(estate.postgresPid, 'and its children') }
}

/** Sends GET requests for some time. @throws Error if one fails */
async function send(options: autocannon.Options): Promise<{ readonly requests: number; readonly rate: number }> {
  const { non2xx, errors, timeouts, start, finish, '2xx': requests } = await autocannon(options)
  if (non2xx + errors + timeouts > 0)
    throw new Error(`${options.url}: ${non2xx} refused, ${errors} failed, ${timeouts} late`)
  return { requests, rate: (requests / (finish.getTime() - start.getTime())) * 1000 }
}

/** @returns the address of the bare server with the same rows @throws Error if it gives others */
async function sameRows({ name, path, bare: of }: Read): Promise<string> {
  const ids = await idsOf(`${api.apiUrl}/api${path}`, headers)
  const url = `${bareUrl}/${of}?ids=${ids.join(',')}`
  if (ids.length === 0 || ids.join() !== (await idsOf(url, {})).join()) throw new Error(`${name}: not the same rows`)
  return url
}

type Row = { readonly id: number | string }

async function idsOf(url: string, of: Readonly<Record<string, string>>): Promise<string[]> {
  const response = await fetch(url, { headers: of })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url.slice(0, 100)}: ${response.status} ${text}`)
  const body: Row | Row[] | { readonly data: Row[] } = JSON.parse(text)
  return ['data' in body ? body.data : body].flat().map(({ id }) => String(id))
}

/** Adds tickets and log entries. @returns a SIM in the middle of the estate, and a pool */
async function addRows(tx: TenantTx): Promise<{ readonly id: number; readonly pool: number }> {
  const some = sql`(select id from sims where tenant_id = ${tx.tenantId} order by id limit ${LISTED})`
  await sql`
    insert into tickets (id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at)
    select gen_random_uuid(), id, ${TicketType.Refresh}, ${TicketStatus.Complete}, ${tx.now}::timestamptz - interval '1 second' * id,
           '{"by": "user"}', ${tx.now}, ${tx.now}
      from ${some} s`.execute(tx.q)
  await sql`
    insert into watchdog_log (dedupe_key, rule, rule_version, sim_id, level, message, at, cycle_key)
    select 'bench ' || id, 'sim-silent', 1, id, 1, 'It sends nothing.', ${tx.now}::timestamptz - interval '1 second' * id, ''
      from ${some} s`.execute(tx.q)
  const { rows: found } = await sql<{ id: number; pool: number }>`
    select s.id, (select min(id) + 1 from pools where tenant_id = ${tx.tenantId})::integer as pool from sims s
     where s.tenant_id = ${tx.tenantId} order by s.id offset ${Math.floor(sims / 2)} limit 1`.execute(tx.q)
  return found[0] ?? { id: 0, pool: 0 }
}
