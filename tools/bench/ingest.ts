/**
 * Usage records a second through `POST /internal/usage`, compared with the least work of PostgreSQL for them: COPY into
 * a staging table, one insert into usage_records, one upsert of the ledger, in chunks of the same size. In turns, with
 * another tenant of the same size in the database. First watched: of Active SIMs, with a worker and the shipped rules,
 * until the last evaluation has ended. Then alone: of all SIMs, new and sent again, until the response.
 *
 * Usage: node tools/bench/ingest.ts [--sims 100000] [--records 300000] [--rounds 5]
 */
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { cpuSeconds, startApi, startApiAndWorker } from './api.ts'
import { anEstate } from './estate.ts'
import { makeQuiet, untilSwept } from './log-latency.ts'
import { machine, median, spread, wholeNumbers } from './measure.ts'

const TARGET = { watched: 0.3, alone: 0.65, again: 0.8 }
const CHUNK = 20_000
/** An hour ago: the first instant of the records. */
const FROM = Date.now() - 3_600_000
const LIMIT_TABLES = `
  create temporary table limit_stage (record_id text, at timestamptz, iccid text, bytes_up bigint, bytes_down bigint);
  create table limit_records (record_id text, at timestamptz, sim_id bigint, bytes_up bigint, bytes_down bigint,
                              primary key (record_id, at));
  create index on limit_records (sim_id, at);
  create table limit_ledger (sim_id bigint primary key, bytes bigint not null)`

const options = wholeNumbers({ sims: 100_000, records: 300_000, rounds: 5 })
const estate = await anEstate(options.sims)
await estate.addTenants(1, options.sims)
const client = new pg.Client({ connectionString: estate.url })
/** Records a second. */
const rates: Record<'limit' | keyof typeof TARGET, number[]> = { limit: [], watched: [], alone: [], again: [] }
const allSims = (n: number) => estate.iccid(n % estate.sims)
try {
  await client.connect()
  await client.query(LIMIT_TABLES)
  await atLeast('warm-up')
  console.log(`${machine()}; ${options.records} records, 2 tenants of ${options.sims} SIMs, ${options.rounds} rounds\n`)
  await measureWatched()
  await measureAlone()
  print()
} finally {
  await client.end()
  await estate.close()
}

async function measureWatched(): Promise<void> {
  await makeQuiet(estate.url)
  const service = await startApiAndWorker(estate)
  const cpu = () => ({ postgres: cpuSeconds(estate.postgresPid, 'and its children'), ...service.cpuSeconds() })
  try {
    await untilSwept(estate.url)
    const watch = async (round: string) => {
      const body = bodyOf(round, estate.activeIccid)
      return rateOf(async () => {
        await send(service.internalUrl, body, { accepted: options.records })
        await untilEvaluated()
      })
    }
    await watch('watched warm-up')
    const used = { postgres: 0, worker: 0, api: 0 }
    for (let round = 0; round < options.rounds; round++) {
      rates.limit.push(await atLeast(`limit ${round}`))
      const before = cpu()
      rates.watched.push(await watch(`watched ${round}`))
      const after = cpu()
      for (const name of ['postgres', 'worker', 'api'] as const) used[name] += after[name] - before[name]
    }
    const each = (seconds: number) => ((seconds / (options.records * options.rounds)) * 100_000).toFixed(1)
    console.log(
      `CPU seconds for 100,000 watched records: PostgreSQL ${each(used.postgres)}, worker ${each(used.worker)}, API ${each(used.api)}; peak of memory: ${service.memory()}\n`,
    )
  } finally {
    await service.stop()
  }
}

async function untilEvaluated(): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isDone: boolean }>(
      `select not exists (select from changed_subjects) as "isDone"`,
    )
    if (rows[0]?.isDone === true) return
    await sleep(20)
  }
}

async function measureAlone(): Promise<void> {
  const api = await startApi(estate.url)
  try {
    for (let round = 0; round < options.rounds; round++) {
      rates.limit.push(await atLeast(`limit alone ${round}`))
      const body = bodyOf(`alone ${round}`, allSims)
      const sent = (expected: Readonly<Record<string, number>>) => rateOf(() => send(api.internalUrl, body, expected))
      rates.alone.push(await sent({ accepted: options.records }))
      rates.again.push(await sent({ duplicates: options.records }))
    }
  } finally {
    await api.stop()
  }
}

function print(): void {
  console.log('| | records a second | ratio | target |\n|---|---|---|---|')
  console.log(`| least that PostgreSQL does | ${spread(rates.limit, 0)} | | |`)
  for (const what of ['watched', 'alone', 'again'] as const) {
    const ratio = median(rates[what]) / median(rates.limit)
    console.log(`| ${what} | ${spread(rates[what], 0)} | ${ratio.toFixed(2)} | ${TARGET[what]} |`)
    if (ratio < TARGET[what]) process.exitCode = 1
  }
}

/** Records in the order of a feed: the SIMs in turn, over a minute. */
function* recordsOf(round: string, iccidOf: (n: number) => string) {
  for (let n = 0; n < options.records; n++) {
    const at = new Date(FROM + (n % 60) * 1000).toISOString()
    yield { recordId: `${round}-${n}`, at, iccid: iccidOf(n * 7919), bytesUp: 100 + (n % 50), bytesDown: 900 }
  }
}

/** The records as NDJSON. */
function bodyOf(round: string, iccidOf: (n: number) => string): string {
  return [...recordsOf(round, iccidOf)].map((record) => JSON.stringify(record)).join('\n')
}

/** @returns records a second of a delivery */
async function rateOf(deliver: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await deliver()
  return (options.records / (performance.now() - from)) * 1000
}

/** Sends a delivery. @throws Error unless the response has these fields */
async function send(internalUrl: string, body: string, expected: Readonly<Record<string, number>>): Promise<void> {
  const response = await fetch(`${internalUrl}/internal/usage`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${estate.operatorKey}`,
      'x-tenant-id': estate.tenantId,
      'content-type': 'application/x-ndjson',
    },
    body,
  })
  const answer: Record<string, unknown> = JSON.parse(await response.text())
  for (const [name, count] of Object.entries(expected)) {
    if (answer[name] !== count)
      throw new Error(`got ${JSON.stringify(answer).slice(0, 300)}, expected ${name} ${count}`)
  }
}

/** @returns records a second */
async function atLeast(round: string): Promise<number> {
  const lines = [...recordsOf(round, allSims)].map(
    ({ recordId, at, iccid, bytesUp, bytesDown }) => `${recordId}\t${at}\t${iccid}\t${bytesUp}\t${bytesDown}\n`,
  )
  const from = performance.now()
  for (let first = 0; first < lines.length; first += CHUNK) {
    await client.query('begin')
    await client.query('truncate limit_stage')
    const copy = client.query(copyFrom('copy limit_stage from stdin'))
    copy.end(lines.slice(first, first + CHUNK).join(''))
    await finished(copy)
    await client.query(`
      with fresh as (
        insert into limit_records
        select s.record_id, s.at, m.id, s.bytes_up, s.bytes_down
          from limit_stage s join sims m on m.iccid = s.iccid
        on conflict do nothing
        returning sim_id, bytes_up + bytes_down as bytes
      )
      insert into limit_ledger as l select sim_id, sum(bytes) from fresh group by sim_id
      on conflict (sim_id) do update set bytes = l.bytes + excluded.bytes`)
    await client.query('commit')
  }
  const took = performance.now() - from
  const { rows } = await client.query('select count(*)::integer as stored from limit_records where record_id like $1', [
    `${round}-%`,
  ])
  if (rows[0]?.stored !== options.records) throw new Error(`${round}: ${rows[0]?.stored} records were stored`)
  return options.records / (took / 1000)
}
