/**
 * Measures the console's pages over HTTP with four readers, on an estate with 5,000 firing alerts, a failed ticket of
 * every tenth SIM, a closed billing cycle, and the mails, orders and audit trail of a year: p50 and p95 of each page, and
 * usage records a second meanwhile, compared with those at rest.
 *
 * Usage: node tools/bench/pages.ts [--sims 1000000] [--requests 200]. Exits with 1 if a p95 misses its target.
 */
import { sql } from 'kysely'
import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { isFiring, unseen } from '../../rules/alerts/alert-state.ts'
import { saveAlerts } from '../../service/alerts/rows/alerts.ts'
import { closeCycle, prepareClose } from '../../service/month-end/close-cycle.ts'
import { activateRules } from '../../service/rules/rules-in-force.ts'
import { currentCycle, openRunningCycle } from '../../service/usage/rows/cycles.ts'
import { userCacheDir } from '../../stack/downloads.ts'
import { freePort } from '../../stack/free-port.ts'
import { findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { inTenant, type TenantTx, withLongTimeout } from '../../store/tenancy.ts'
import { startApi } from './api.ts'
import { anEstate } from './estate.ts'
import { machine, quantile, wholeNumbers } from './measure.ts'

const READERS = 4
const ALERTS = 5000
const RECORDS = 1000
/** Mails, entries of the audit trail and of the shadow log. */
const KEPT = 100_000
const ORDERS = 10_000
const BULK_RUNS = 20
const BULK_ITEMS = 10_000
const mailId = sql`'<bench-' || n || '@simherd.example>'`
/** Milliseconds of the 95th of a hundred. */
const TARGET = { page: 500, find: 50, pulse: 5 }
const REST_MS = 5000

const { sims, requests } = wholeNumbers({ sims: 1_000_000, requests: 200 })
const estate = await anEstate(sims)
try {
  const cycles = await closeCycleBefore()
  const { version } = await activateRules(estate.store, await readRuleFiles(''), 'bench', { isTested: true })
  const port = await freePort()
  const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress: console.error })
  const temporal = await startTemporal({ program })
  try {
    const settings = { CONSOLE_PORT: String(port), RATE_LIMIT: 0, TEMPORAL_ADDRESS: temporal.address }
    const api = await startApi(estate.url, settings)
    try {
      const trouble = await inTenant(estate.store, estate.tenantId, addTrouble)
      const kept = await inTenant(estate.store, estate.tenantId, addYear)
      await measure(`http://127.0.0.1:${port}`, api.internalUrl, { ...trouble, ...kept, ...cycles, version })
    } finally {
      await api.stop()
    }
  } finally {
    await temporal.stop()
  }
} finally {
  await estate.close()
}

interface Known extends Awaited<ReturnType<typeof addTrouble>>, Awaited<ReturnType<typeof addYear>> {
  /** Keys of the running and of the closed cycle. */
  readonly running: string
  readonly before: string
  /** Of the rules in force. */
  readonly version: number
}

/** Opens and closes the billing cycle before the running one. @returns the keys of both */
async function closeCycleBefore(): Promise<Pick<Known, 'running' | 'before'>> {
  const { store, tenantId } = estate
  const running = await inTenant(store, tenantId, currentCycle)
  const long = withLongTimeout(store)
  const { key } = await openRunningCycle({ ...long, clock: () => running.startsAt - 1 }, tenantId)
  await prepareClose(long, tenantId, key)
  await inTenant(long, tenantId, (tx) => closeCycle(tx, key))
  return { running: running.key, before: key }
}

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
  const [sim] = some
  if (sim === undefined) throw new Error('the estate has no SIM in a pool')
  return { sim, alert: await idOf(tx, 'alerts'), ticket: await idOf(tx, 'tickets') }
}

/** Adds the audit trail, the mails, the orders, the bulk runs and the shadow log of a year. */
async function addYear(tx: TenantTx) {
  const numbers = (count: number) => sql`generate_series(1, ${count}::integer) as s(n)`
  const ago = (count: number) => sql`${tx.now}::timestamptz - interval '365 days' * (1 - n / ${count}::float8)`
  await sql`
    insert into audit_log (tenant_id, at, request_id, action, subject, subject_id, actor, after)
    select ${tx.tenantId}, ${ago(KEPT)}, 'request ' || n, 'updateSim', 'sim', n::text, 'operator', '{"tag": "meter"}'
      from ${numbers(KEPT)}`.execute(tx.q)
  await sql`
    insert into notifications (dedupe_key, level, body, due_at, mail_id, created_at)
    select 'bench ' || n, 1, '{"subject": {"kind": "sim", "id": 1, "label": "meter"}}', ${ago(KEPT)}, ${mailId},
           ${ago(KEPT)}
      from ${numbers(KEPT)}`.execute(tx.q)
  await sql`
    insert into deliveries (status, attempts, next_attempt_at, created_at, ended_at, mail_id, recipient, subject, kind)
    select case n % 100 when 0 then 'failed' else 'sent' end, 1, ${ago(KEPT)}, ${ago(KEPT)}, ${ago(KEPT)}, ${mailId},
           'billing@meadow.example', 'Over its limit', 'cause'
      from ${numbers(KEPT)}`.execute(tx.q)
  await sql`
    insert into mail_bodies (mail_id, subject, text, html, headers, attachments, created_at)
    select ${mailId}, 'Over its limit', repeat('A line of it. ', 50), repeat('<p>A line of it.</p>', 50), '{}', '[]',
           ${ago(KEPT)}
      from ${numbers(KEPT)}`.execute(tx.q)
  await sql`
    insert into shadow_log (dedupe_key, does, rule, rule_version, sim_id, level, message, at, cycle_key)
    select 'bench ' || n, 'mail', 'sim-silent', 1, n, 1, 'It sends nothing.', ${ago(KEPT)}, ''
      from ${numbers(KEPT)}`.execute(tx.q)
  await sql`
    insert into orders (type, quantity, unit_price, total, created_at, updated_at)
    select 1, 10, 3, 30, ${ago(ORDERS)}, ${ago(ORDERS)} from ${numbers(ORDERS)}`.execute(tx.q)
  await sql`
    insert into bulk_runs (id, type, created_at, done_at, total)
    select gen_random_uuid(), 'refresh', ${ago(BULK_RUNS)}, ${ago(BULK_RUNS)}, ${BULK_ITEMS}
      from ${numbers(BULK_RUNS)}`.execute(tx.q)
  await sql`
    insert into bulk_items (bulk_id, index, sim_id, outcome)
    select r.id, n, n, 'opened' from bulk_runs r cross join ${numbers(BULK_ITEMS)}
     where r.tenant_id = ${tx.tenantId}`.execute(tx.q)
  return { mail: '<bench-1@simherd.example>', order: await idOf(tx, 'orders'), bulk: await idOf(tx, 'bulk_runs') }
}

async function idOf(tx: TenantTx, table: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    select id::text from ${sql.table(table)} where tenant_id = ${tx.tenantId} limit 1`.execute(tx.q)
  return rows[0]?.id ?? ''
}

function pathsOf({
  sim,
  alert,
  ticket,
  running,
  before,
  version,
  mail,
  order,
  bulk,
}: Known): readonly (readonly [string, string, number])[] {
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
    ['Bulk runs', '/bulk', TARGET.page],
    ['Bulk run', `/bulk/${bulk}`, TARGET.page],
    ['Bulk run, new, of a pool', `/bulk/new?type=refresh&all=true&poolId=${sim.poolId}`, TARGET.page],
    ['Workflows', '/workflows', TARGET.page],
    ['Workflows, retrying', '/workflows?trouble=true', TARGET.page],
    ['Rules', '/rules', TARGET.page],
    ['Rule', '/rules/sim-overage', TARGET.page],
    ['Version of rules', `/rules/versions/${version}`, TARGET.page],
    ['Backtests', '/backtests', TARGET.page],
    ['Shadow log', '/shadow-log', TARGET.page],
    ['Month ends', '/month', TARGET.page],
    ['Running cycle, its plan', `/month/${running}`, TARGET.page],
    ['Closed cycle, its statement', `/month/${before}`, TARGET.page],
    ['My month', '/my', TARGET.page],
    ['My month, a closed cycle', `/my?cycle=${before}`, TARGET.page],
    ['My alerts', '/my/alerts', TARGET.page],
    ['My statements', '/my/statements', TARGET.page],
    ['My settings', '/my/settings', TARGET.page],
    ['Mails', '/mails', TARGET.page],
    ['Mails, failed', '/mails?status=failed', TARGET.page],
    ['Mail', `/mails/${encodeURIComponent(mail)}`, TARGET.page],
    ['Addresses', '/addresses', TARGET.page],
    ['Webhooks', '/webhooks', TARGET.page],
    ['Orders', '/orders', TARGET.page],
    ['Order', `/orders/${order}`, TARGET.page],
    ['Tariffs', '/tariffs', TARGET.page],
    ['Keys', '/keys', TARGET.page],
    ['People', '/people', TARGET.page],
    ['Audit trail', '/audit', TARGET.page],
    ['Audit trail, of a SIM', `/audit?subject=sim&subjectId=${sim.id}`, TARGET.page],
    ['Settings', '/settings', TARGET.page],
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
      const sending = async () => {
        while (!ended.signal.aborted) await deliver()
      }
      await Promise.all([work().finally(() => ended.abort()), sending()])
      return ((sent - before) / (performance.now() - from)) * 1000
    },
  }
}
