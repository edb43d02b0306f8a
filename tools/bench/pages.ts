/**
 * Measures the console's pages over HTTP with four readers, on an estate with 5,000 firing alerts and a failed ticket of
 * every tenth SIM: p50 and p95 of each page, and usage records a second meanwhile, compared with those at rest.
 *
 * Usage: node tools/bench/pages.ts [--sims 1000000] [--requests 200]. Exits with 1 if a p95 misses its target.
 */
import { sql } from 'kysely'
import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import { isFiring, unseen } from '../../rules/alerts/alert-state.ts'
import { saveAlerts } from '../../service/alerts/rows/alerts.ts'
import { freePort } from '../../stack/free-port.ts'
import { inTenant, type TenantTx } from '../../store/tenancy.ts'
import { startApi } from './api.ts'
import { anEstate } from './estate.ts'
import { machine, quantile, wholeNumbers } from './measure.ts'

const READERS = 4
const ALERTS = 5000
const RECORDS = 1000
/** Milliseconds of the 95th of a hundred. */
const TARGET = { page: 500, find: 50, pulse: 5 }
const REST_MS = 5000

const { sims, requests } = wholeNumbers({ sims: 1_000_000, requests: 200 })
const estate = await anEstate(sims)
try {
  const port = await freePort()
  const api = await startApi(estate.url, { CONSOLE_PORT: String(port), RATE_LIMIT: 0 })
  try {
    const known = await inTenant(estate.store, estate.tenantId, addTrouble)
    await measure(`http://127.0.0.1:${port}`, api.internalUrl, known)
  } finally {
    await api.stop()
  }
} finally {
  await estate.close()
}

type Known = Awaited<ReturnType<typeof addTrouble>>

/** Alerts that fire, tickets that failed, a silence: objects that pages are about. */
async function addTrouble(tx: TenantTx) {
  const { rows: some } = await sql<{ id: number; iccid: string; tag: string; poolId: number }>`
    select id::integer, iccid, tag, pool_id as "poolId" from sims
     where tenant_id = ${tx.tenantId} and pool_id is not null order by id limit ${ALERTS}`.execute(tx.q)
  const now = tx.now.getTime()
  const rest = { ruleVersion: 1, explanation: [], lastSignal: null, lastSignalAt: null, evaluatedAt: tx.now }
  const state = { ...unseen(now), phase: 'firing' as const }
  const scope = cycleAt('P1M', now).key
  await saveAlerts(
    tx,
    some.map(({ id }) => ({ ...rest, rule: 'sim-overage', kind: 'sim', id, scope, state, firing: isFiring(state) })),
  )
  await sql`
    insert into tickets (id, sim_id, type, status, created_at, cause, next_attempt_at, finished_at)
    select gen_random_uuid(), id, ${TicketType.Refresh}, ${TicketStatus.Failed}, ${tx.now}, '{"by": "user"}', ${tx.now},
           ${tx.now}
      from sims where tenant_id = ${tx.tenantId} and id % 10 = 0`.execute(tx.q)
  const idOf = async (table: string) => {
    const { rows } = await sql<{ id: string }>`
      select id::text from ${sql.table(table)} where tenant_id = ${tx.tenantId} limit 1`.execute(tx.q)
    return rows[0]?.id ?? ''
  }
  const [sim] = some
  if (sim === undefined) throw new Error('the estate has no SIM in a pool')
  return { sim, alert: await idOf('alerts'), ticket: await idOf('tickets') }
}

function pathsOf({ sim, alert, ticket }: Known): readonly (readonly [string, string, number])[] {
  return [
    ['Overview', '', TARGET.page],
    ['SIMs', '/sims', TARGET.page],
    ['SIMs, by text', `/sims?search=${estate.iccid(sims - 7).slice(-9)}`, TARGET.page],
    ['SIM', `/sims/${sim.id}`, TARGET.page],
    ['History', `/sims/${sim.id}/history`, TARGET.page],
    ['Suspend', `/sims/${sim.id}/suspend`, TARGET.page],
    ['Pools', '/pools', TARGET.page],
    ['Pool', `/pools/${sim.poolId}`, TARGET.page],
    ['Alerts', '/alerts', TARGET.page],
    ['Alert', `/alerts/${alert}`, TARGET.page],
    ['Enforcement', '/enforcement', TARGET.page],
    ['Silences', '/silences', TARGET.page],
    ['Tickets, failed', '/tickets?status=3', TARGET.page],
    ['Ticket', `/tickets/${ticket}`, TARGET.page],
    ['Find, an ICCID', `/find?q=${sim.iccid}`, TARGET.find],
    ['Find, a beginning', '/find?q=meter-', TARGET.find],
    ['Pulse', '/pulse', TARGET.pulse],
  ]
}

async function measure(consoleUrl: string, internalUrl: string, known: Known): Promise<void> {
  const cookie = await signIn(consoleUrl)
  const feed = feedTo(internalUrl)
  await feed.warmUp()
  const atRest = await feed.during(() => new Promise((resolve) => setTimeout(resolve, REST_MS)))
  console.log(
    `${machine()}\n${sims} SIMs, ${READERS} readers, ${requests} requests a page; records/s at rest: ${atRest.toFixed(0)}\n`,
  )
  console.log('| page | kB | p50 ms | p95 ms | target | p95 beside records | records/s, of those at rest | |')
  console.log('|---|---|---|---|---|---|---|---|')
  for (const [name, path, target] of pathsOf(known)) {
    const url = `${consoleUrl}/t/${estate.tenantId}${path}`
    await read(url, cookie, READERS)
    const alone = await read(url, cookie, requests)
    let beside = alone
    const records = await feed.during(async () => {
      beside = await read(url, cookie, requests)
    })
    const p95 = quantile(alone.ms, 0.95)
    if (p95 > target) process.exitCode = 1
    console.log(
      `| ${name} | ${(alone.bytes / 1000).toFixed(0)} | ${quantile(alone.ms, 0.5).toFixed(1)} | ${p95.toFixed(1)} | ${target} | ${quantile(beside.ms, 0.95).toFixed(1)} | ${(records / atRest).toFixed(2)} | ${p95 > target ? 'missed' : ''} |`,
    )
  }
}

async function signIn(consoleUrl: string): Promise<string> {
  const response = await fetch(`${consoleUrl}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ key: estate.operatorKey }).toString(),
  })
  const cookie = response.headers.get('set-cookie')?.split(';')[0]
  if (cookie === undefined) throw new Error(`the sign in answered ${response.status}`)
  return cookie
}

/** So many requests for a page, by all readers together. */
async function read(url: string, cookie: string, count: number) {
  const ms: number[] = []
  let [left, bytes] = [count, 0]
  const reader = async () => {
    while (left-- > 0) {
      const from = performance.now()
      const response = await fetch(url, { headers: { cookie }, redirect: 'manual' })
      bytes = (await response.arrayBuffer()).byteLength
      if (response.status >= 400) throw new Error(`${url}: ${response.status}`)
      ms.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: READERS }, reader))
  return { ms, bytes }
}

/** A feed that sends as many records as are taken, in deliveries of 1,000. */
function feedTo(internalUrl: string) {
  const headers = {
    authorization: `Bearer ${estate.operatorKey}`,
    'x-tenant-id': estate.tenantId,
    'content-type': 'application/json',
  }
  let sent = 0
  const deliver = async () => {
    const at = new Date().toISOString()
    const records = Array.from({ length: RECORDS }, () => {
      sent += 1
      return { recordId: `pages-${sent}`, at, iccid: estate.activeIccid(sent * 7919), bytesUp: 100, bytesDown: 900 }
    })
    const response = await fetch(`${internalUrl}/internal/usage`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ records }),
    })
    if (!response.ok) throw new Error(`usage: ${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }
  return {
    warmUp: async () => {
      for (let n = 0; n < 5; n++) await deliver()
    },
    /** @returns records a second while the work goes on */
    during: async (work: () => Promise<void>): Promise<number> => {
      const [from, before] = [performance.now(), sent]
      const ended = new AbortController()
      const sending = (async () => {
        while (!ended.signal.aborted) await deliver()
      })()
      await work().finally(() => ended.abort())
      await sending
      return ((sent - before) / (performance.now() - from)) * 1000
    },
  }
}
