/**
 * Measures what the end of a billing cycle costs concurrent senders and readers: posts of usage, GETs and
 * the longest transaction before and after it, and how long it takes until all subjects have been looked at in the new
 * cycle and the old one is closed. API, worker, PostgreSQL and Temporal are real processes, and go by the real clock: the
 * tenants' cycle is some hours long, and ends at the next full minute after preparation. Such a cycle is closed as
 * soon as it has ended, and not six hours later.
 *
 * Usage: node tools/bench/boundary.ts [--sims 100000] [--before 20] [--after 30], in seconds. Exits with 1 if a transaction takes
 * longer than 500 ms, or if the p99 of the posts after the end is more than three times that before.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Cycle, cycleAt } from '../../domain/time/cycle.ts'
import { wrongSums } from '../../service/usage/rows/check-sums.ts'
import { userCacheDir } from '../../stack/downloads.ts'
import { findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { inTenant } from '../../store/tenancy.ts'
import { startApiAndWorker } from './api.ts'
import { anEstate } from './estate.ts'
import { makeQuiet, post } from './log-latency.ts'
import { machine, quantile, wholeNumbers } from './measure.ts'
import { type Transaction, watchTransactions } from './transactions.ts'

const MOST_MS = 500
const MOST_TIMES = 3
const RECORDS = 100
const POST_MS = 100
const GET_MS = 200
const BYTES = 1000
/** Until all is ready: some seconds, and so many milliseconds a SIM. */
const READY_MS = 30_000
const READY_MS_A_SIM = 0.4
/** A slow machine has less time before the end than was asked for, but at least this. */
const LEAST_BEFORE_MS = 4000
/** Longest wait for the month end after the measurement. */
const PATIENCE_MS = 180_000
const MINUTE_MS = 60_000

const { sims, before, after } = wholeNumbers({ sims: 100_000, before: 20, after: 30 })

const { billingCycle, cycle } = cycleThatEndsAfter(READY_MS + sims * READY_MS_A_SIM + before * 1000)
const estate = await anEstate(sims, billingCycle)
const owner = new pg.Client({ connectionString: estate.url, application_name: 'bench' })
await owner.connect()
try {
  await makeQuiet(estate.url)
  const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress: console.error })
  const temporal = await startTemporal({ program })
  try {
    const service = await startApiAndWorker(estate, { TEMPORAL_ADDRESS: temporal.address })
    try {
      await untilTrue('the next cycle is open', `select count(*) = 2 from cycles where tenant_id = $1`)
      await measure(service)
      console.log(`peak of memory: ${service.memory()}`)
    } finally {
      await service.stop()
    }
  } finally {
    await temporal.stop()
  }
} finally {
  await owner.end()
  await estate.close()
}

interface Seen {
  readonly failed: number
  readonly posts: readonly number[]
  readonly gets: Readonly<Record<string, readonly number[]>>
  readonly longest: Transaction
}

async function measure(service: { readonly apiUrl: string; readonly internalUrl: string }): Promise<void> {
  const left = cycle.endsAt - Date.now()
  if (left < LEAST_BEFORE_MS) throw new Error(`all was ready ${left} ms before the end of the cycle: raise READY_MS`)
  await sleep(Math.max(0, left - before * 1000))
  const transactions = await watchTransactions(estate.url)
  try {
    const traffic = startTraffic(service)
    const lookedAt = untilLookedAt()
    const closed = untilTrue(
      'the cycle is closed',
      `select exists (select from cycles where tenant_id = $1 and key = '${cycle.key}' and closed_at is not null)`,
    )
    await sleep(cycle.endsAt - Date.now())
    const seenBefore: Seen = { ...traffic.taken(), longest: transactions.longest() }
    const [lookedMs, closedMs] = await Promise.all([lookedAt, closed, sleep(after * 1000)])
    const seenAfter: Seen = { ...traffic.taken(), longest: transactions.longest() }
    await mustAddUp(await traffic.stop())
    print(seenBefore, seenAfter)
    console.log(
      `\nafter the end: all subjects looked at ${seconds(lookedMs)}, the cycle closed ${seconds(closedMs)} later`,
    )
  } finally {
    await transactions.stop()
  }
}

function seconds(at: number): string {
  return `${((at - cycle.endsAt) / 1000).toFixed(1)} s`
}

/**
 * A cycle of 1 to 24 hours that ends at a full minute, so long after now, and in whose last 48th we are: the next cycle is
 * opened at once.
 */
function cycleThatEndsAfter(ms: number): { readonly billingCycle: string; readonly cycle: Cycle } {
  for (let minute = Math.ceil((Date.now() + ms) / MINUTE_MS); ; minute++) {
    const least = Math.max(60, (48 * (minute * MINUTE_MS - Date.now())) / MINUTE_MS)
    for (let minutes = 24 * 60 - 1; minutes >= least; minutes--) {
      if (minute % minutes > 0) continue
      const billingCycle = `PT${minutes}M`
      return { billingCycle, cycle: cycleAt(billingCycle, minute * MINUTE_MS - 1) }
    }
  }
}

/** Sends usage and GETs at fixed instants, even if earlier ones are slow. */
function startTraffic({ apiUrl, internalUrl }: { readonly apiUrl: string; readonly internalUrl: string }) {
  let posts: number[] = []
  let gets: Record<string, number[]> = {}
  let records = 0
  let failed = 0
  /** Whether none has failed: then all records are counted. */
  let isWhole = true
  const under = new Set<Promise<void>>()
  const stopping = new AbortController()
  const every = async (ms: number, work: (n: number) => Promise<void>) => {
    const began = performance.now()
    for (let n = 0; !stopping.signal.aborted; n++) {
      const one = work(n).finally(() => under.delete(one))
      under.add(one)
      one.catch((error: unknown) => {
        if (failed === 0) console.error(error instanceof Error ? error.message : error)
        failed += 1
        isWhole = false
      })
      await sleep(Math.max(0, began + (n + 1) * ms - performance.now()))
    }
  }
  const send = async (n: number) => {
    const lines = Array.from({ length: RECORDS }, (_, place) => {
      const iccid = estate.activeIccid((n * RECORDS + place) * 7919)
      const at = new Date().toISOString()
      return JSON.stringify({ recordId: `${n}-${place}`, iccid, at, bytesDown: BYTES })
    })
    const sent = performance.now()
    await post(internalUrl, estate.operatorKey, estate.tenantId, lines)
    posts.push(performance.now() - sent)
    records += RECORDS
  }
  const paths: Readonly<Record<string, (n: number) => string>> = {
    'one SIM': (n) => `/api/sims/${estate.activeIccid(n * 7919)}`,
    'list of SIMs': () => '/api/sims',
    'a pool': (n) => `/api/pools/${1 + (n % Math.ceil(sims / 1000))}`,
  }
  const get = async (n: number) => {
    for (const [name, path] of Object.entries(paths)) {
      const asked = performance.now()
      const response = await fetch(apiUrl + path(n), { headers: { authorization: `Bearer ${estate.key}` } })
      const text = await response.text()
      if (!response.ok) throw new Error(`GET ${path(n)}: got ${response.status} ${text}`)
      gets[name] = [...(gets[name] ?? []), performance.now() - asked]
    }
  }
  const running = Promise.all([every(POST_MS, send), every(GET_MS, get)])
  return {
    /** The posts and GETs ended since the last call. */
    taken: () => {
      const taken = { posts, gets, failed }
      posts = []
      gets = {}
      failed = 0
      return taken
    },
    /** @returns how many records were accepted; undefined after a failure, when the number is unknown */
    stop: async () => {
      stopping.abort()
      await running
      await Promise.allSettled(under)
      return isWhole ? records : undefined
    },
  }
}

/** @returns when it was true, epoch milliseconds */
async function untilTrue(what: string, query: string): Promise<number> {
  const until = Date.now() + PATIENCE_MS + before * 1000
  while (Date.now() < until) {
    const { rows } = await owner.query<[boolean]>({ text: query, values: [estate.tenantId], rowMode: 'array' })
    if (rows[0]?.[0] === true) return Date.now()
    await sleep(50)
  }
  throw new Error(`waited in vain until ${what}`)
}

/** Until every shard was taken up in the new cycle: before, each is due when the old one ends, or earlier. */
async function untilLookedAt(): Promise<number> {
  await sleep(Math.max(0, cycle.endsAt + 1 - Date.now()))
  const end = new Date(cycle.endsAt).toISOString()
  return untilTrue(
    'all shards are looked at',
    `select not exists (select from watch_shards where tenant_id = $1 and next_at <= '${end}')`,
  )
}

/** @throws Error unless both cycles have all the usage between them, and pools what their SIMs have */
async function mustAddUp(records: number | undefined): Promise<void> {
  const { rows } = await owner.query('select sum(bytes)::bigint as bytes from cycles where tenant_id = $1', [
    estate.tenantId,
  ])
  const wrong = await inTenant({ ...estate.store, slow: true }, estate.tenantId, (tx) => wrongSums(tx))
  const bytes = Number(rows[0]?.bytes)
  const expected = records === undefined ? bytes : records * BYTES
  if (bytes !== expected || wrong.length > 0)
    throw new Error(`got ${bytes} bytes and ${JSON.stringify(wrong)}, expected ${expected}`)
}

function print(was: Seen, is: Seen): void {
  console.log(`${machine()}\n${sims} SIMs, a cycle of ${billingCycle}, ${(1000 / POST_MS) * RECORDS} records a second;`)
  console.log(`milliseconds, p99 and most, in up to ${before} s before and at least ${after} s after its end\n`)
  console.log('| | before | after |\n|---|---|---|')
  const row = (name: string, of: (seen: Seen) => readonly number[]) =>
    console.log(
      `| ${[name, of(was), of(is)].map((one) => (typeof one === 'string' ? one : spread(one))).join(' | ')} |`,
    )
  const spread = (ms: readonly number[]) => `${quantile(ms, 0.99).toFixed(0)}, ${quantile(ms, 1).toFixed(0)}`
  row('posts of usage', ({ posts }) => posts)
  for (const name of Object.keys(was.gets)) row(`GET ${name}`, ({ gets }) => gets[name] ?? [])
  console.log(`| longest transaction | ${was.longest.ms.toFixed(0)} | ${is.longest.ms.toFixed(0)} |`)
  console.log(`| requests that failed | ${was.failed} | ${is.failed} |`)
  const times = quantile(is.posts, 0.99) / quantile(was.posts, 0.99)
  const longest = was.longest.ms > is.longest.ms ? was.longest : is.longest
  console.log(`\nlongest transaction ${longest.ms.toFixed(0)} ms, target ≤ ${MOST_MS}`)
  console.log(`p99 of the posts after ${times.toFixed(1)} times that before, target ≤ ${MOST_TIMES}`)
  if (longest.ms > MOST_MS) console.log(`mostly in: ${longest.statement.slice(0, 600)}`)
  if (longest.ms > MOST_MS || !(times <= MOST_TIMES) || was.failed + is.failed > 0) process.exitCode = 1
}
