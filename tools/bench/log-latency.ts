/**
 * How long a usage record takes to become a log entry, for latency.ts and tenants.ts: from the moment before its post is
 * sent to the moment at which a reader sees the committed entry.
 *
 *   posts at fixed instants ──▶ API ──▶ PostgreSQL ──▶ worker ──▶ watchdog_log ──▶ a reader that looks every 3 ms
 *
 * Some of the records take a SIM of a Standard pool past its warning threshold. Then one log entry is due for it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { ALLOWANCE } from './estate-rows.ts'
import { everyMs, quantile } from './measure.ts'

const RULE = 'sim-usage-warning'
const WARNING_PCT = 80
/** Bytes that take a SIM past its threshold, but not past its limit. */
const MUCH = ALLOWANCE * 0.9
const LITTLE = 1000
const LOOK_MS = 3
/** Entries may commit in another order than that of their ids. */
const OUT_OF_ORDER = 5000
/** Patience for missing entries. */
const PATIENCE_MS = 60_000

/** A SIM that will pass its threshold, once. */
interface Quiet {
  readonly id: string
  readonly iccid: string
}

/** The owner of the usage. */
export interface Source {
  readonly tenantId: string
  /** ICCIDs of the records that change nothing, in turn. */
  readonly iccid: (n: number) => string
  /** Takes SIMs for records that pass a threshold. */
  readonly quiet: Quiet[]
}

export interface Post {
  /** When it is sent, in milliseconds from the first. */
  readonly at: number
  readonly from: Source
  readonly records: number
  /** How many of them pass a threshold. */
  readonly passing: number
}

export interface Target {
  readonly internalUrl: string
  readonly operatorKey: string
}

export interface Latencies {
  /** Milliseconds, one for each record past a threshold. */
  readonly logged: readonly number[]
  /** Milliseconds that each post took. */
  readonly posts: readonly number[]
}

/**
 * Gives all SIMs a sighting and all tenants usage that has just come in, so that none counts as silent or never seen, and the SIMs
 * of Standard pools a warning threshold.
 */
export async function makeQuiet(url: string): Promise<void> {
  await withOwner(url, async (owner) => {
    await owner.query(`
      insert into sim_sightings (tenant_id, sim_id, last_seen_at, imei, previous_imei)
      select tenant_id, id, now(), '', '' from sims where status <> 0 order by tenant_id, id`)
    await owner.query(`
      insert into usage_feeds (tenant_id, received_at, newest_at) select id, now(), now() from tenants
      on conflict (tenant_id) do update set received_at = now(), newest_at = now()`)
    await owner.query(`
      update pools p set warning_threshold_pct = ${WARNING_PCT} from tariffs t where t.id = p.tariff_id and t.type = 0`)
    await owner.query('vacuum (analyze) sim_sightings, pools')
  })
}

/** Active SIMs of a tenant's Standard pools, over the pools in turn. */
export const quietSims = (url: string, tenantId: string, most: number): Promise<Quiet[]> =>
  withOwner(url, async (owner) => {
    const { rows } = await owner.query<Quiet>(
      `select id, iccid
         from (select s.id, s.iccid, row_number() over (partition by s.pool_id order by s.id) as place
                 from sims s join pools p on p.id = s.pool_id join tariffs t on t.id = p.tariff_id
                where s.tenant_id = $1 and s.status = 1 and t.type = 0) s
        order by place, id limit $2`,
      [tenantId, most],
    )
    return rows
  })

/** Waits until rules are in force and every shard has been looked at. */
export async function untilSwept(url: string): Promise<void> {
  await withOwner(url, async (owner) => {
    for (;;) {
      const { rows } = await owner.query<{ isDone: boolean }>(`
        select exists (select from rule_activations)
               and not exists (select from tenants t where not exists (select from watch_shards w where w.tenant_id = t.id))
               and not exists (select from watch_shards
                                where next_at <= now() + interval '2 minutes')
               and not exists (select from tenants where rules_heard < (select max(id) from rule_spreads)) as "isDone"`)
      if (rows[0]?.isDone === true) return
      await sleep(50)
    }
  })
}

/**
 * Sends posts, each at its instant even if earlier ones are slow, and waits for the log entries.
 *
 * @throws Error unless exactly the due entries have come, once each
 */
export async function measureLatency(url: string, to: Target, posts: readonly Post[]): Promise<Latencies> {
  const log = await watchLog(url)
  try {
    const { sentAt, tookMs } = await send(to, posts)
    const until = performance.now() + PATIENCE_MS
    while (log.seenAt.size < sentAt.size && performance.now() < until) await sleep(LOOK_MS)
    // One more look, for entries that should not be there.
    await sleep(1000)
    if (log.others.length > 0) throw new Error(`got other entries: ${log.others.slice(0, 5).join(', ')}`)
    const logged = [...sentAt].map(([sim, at]) => {
      const [seen, again] = log.seenAt.get(sim) ?? []
      if (seen === undefined || again !== undefined)
        throw new Error(`SIM ${sim}: got ${seen === undefined ? 'no entry' : 'several entries'}, expected one`)
      return seen - at
    })
    if (log.seenAt.size > sentAt.size) throw new Error(`got ${log.seenAt.size} entries, expected ${sentAt.size}`)
    return { logged, posts: tookMs }
  } finally {
    await log.stop()
  }
}

async function send({ internalUrl, operatorKey }: Target, posts: readonly Post[]) {
  const run = crypto.randomUUID()
  const sentAt = new Map<string, number>()
  const tookMs: number[] = []
  const under: Promise<void>[] = []
  const began = performance.now()
  let n = 0
  for (const { at, from, records, passing } of posts) {
    const sims = from.quiet.splice(0, passing)
    if (sims.length < passing) throw new Error('the estate has too few SIMs in Standard pools for so many entries')
    const lines = Array.from({ length: records }, (_, place) => {
      const sim = sims[place]
      n += 1
      return JSON.stringify({
        recordId: `${run}-${n}`,
        iccid: sim?.iccid ?? from.iccid(n),
        at: new Date().toISOString(),
        bytesDown: sim === undefined ? LITTLE : MUCH,
      })
    })
    const wait = began + at - performance.now()
    if (wait > 0) await sleep(wait)
    const sent = performance.now()
    for (const { id } of sims) sentAt.set(id, sent)
    const posting = post(internalUrl, operatorKey, from.tenantId, lines).then(() => {
      tookMs.push(performance.now() - sent)
    })
    // Its failure is thrown below; until then it must not count as unhandled.
    posting.catch(() => undefined)
    under.push(posting)
  }
  await Promise.all(under)
  return { sentAt, tookMs }
}

/** @throws Error unless all records are accepted */
export async function post(
  internalUrl: string,
  operatorKey: string,
  tenantId: string,
  lines: readonly string[],
): Promise<void> {
  const response = await fetch(`${internalUrl}/internal/usage`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${operatorKey}`,
      'x-tenant-id': tenantId,
      'content-type': 'application/x-ndjson',
    },
    body: lines.join('\n'),
  })
  const text = await response.text()
  if (!response.ok || JSON.parse(text).accepted !== lines.length)
    throw new Error(`POST /internal/usage: got ${response.status} ${text}, expected accepted ${lines.length}`)
}

/** Reads new entries of the log, again and again. */
async function watchLog(url: string) {
  const reader = new pg.Client({ connectionString: url })
  await reader.connect()
  const newest = await reader.query<{ id: string }>('select coalesce(max(id), 0) as id from watchdog_log')
  const first = Number(newest.rows[0]?.id)
  const known = new Set<string>()
  const seenAt = new Map<string, number[]>()
  const others: string[] = []
  let newestId = first
  const look = async () => {
    const { rows } = await reader.query<{ id: string; simId: string | null; rule: string }>({
      name: 'look',
      text: 'select id, sim_id as "simId", rule from watchdog_log where id > $1 order by id',
      values: [Math.max(first, newestId - OUT_OF_ORDER)],
    })
    const now = performance.now()
    for (const { id, simId, rule } of rows) {
      if (known.has(id)) continue
      known.add(id)
      newestId = Math.max(newestId, Number(id))
      if (rule === RULE && simId !== null) seenAt.set(simId, [...(seenAt.get(simId) ?? []), now])
      else others.push(`${rule} of SIM ${simId}`)
    }
  }
  const stopLooking = everyMs(LOOK_MS, look)
  return {
    /** When each SIM's entries were first seen, by `performance.now()`. */
    seenAt,
    /** Entries of other rules. */
    others,
    stop: async () => {
      await stopLooking()
      await reader.end()
    },
  }
}

/** A row of a table: entries, p50, p99, most. */
export const latencyRow = (name: string, { logged, posts }: Latencies): string =>
  `| ${name} | ${logged.length} | ${[0.5, 0.99, 1].map((share) => quantile(logged, share).toFixed(0)).join(' | ')} | ${quantile(posts, 0.99).toFixed(0)} |`
export const LATENCY_HEAD = '| | log entries | p50 | p99 | most | p99 of the posts |\n|---|---|---|---|---|---|'

async function withOwner<T>(url: string, work: (owner: pg.Client) => Promise<T>): Promise<T> {
  const owner = new pg.Client({ connectionString: url })
  await owner.connect()
  try {
    return await work(owner)
  } finally {
    await owner.end()
  }
}
