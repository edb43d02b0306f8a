/**
 * Usage records a second through `POST /internal/usage`, compared with the least work of PostgreSQL for them: COPY into
 * a staging table, one insert into usage_records, one upsert of the ledger, in chunks of the same size. In turns.
 *
 * Usage: node tools/bench/ingest.ts [--sims 100000] [--records 200000] [--rounds 5]
 */
import { finished } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { startApi } from './api.ts'
import { anEstate, type Estate } from './estate.ts'
import { machine, median, spread } from './measure.ts'

const TARGET = { fresh: 0.5, again: 0.8 }
const CHUNK = 20_000
/** An hour ago: the first instant of the records. */
const FROM = Date.now() - 3_600_000
const LIMIT_TABLES = `
  create temporary table limit_stage (record_id text, at timestamptz, iccid text, bytes_up bigint, bytes_down bigint);
  create table limit_records (record_id text, at timestamptz, sim_id bigint, bytes_up bigint, bytes_down bigint,
                              primary key (record_id, at));
  create index on limit_records (sim_id, at);
  create table limit_ledger (sim_id bigint primary key, bytes bigint not null)`

const options = { sims: 100_000, records: 200_000, rounds: 5 }
const { values } = parseArgs({
  options: { sims: { type: 'string' }, records: { type: 'string' }, rounds: { type: 'string' } },
})
for (const name of ['sims', 'records', 'rounds'] as const) {
  const value = Number(values[name] ?? options[name])
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: got ${values[name]}, expected a whole number`)
  options[name] = value
}

const estate = await anEstate(options.sims)
const client = new pg.Client({ connectionString: estate.url })
try {
  await client.connect()
  const api = await startApi(estate.url)
  try {
    await measure(api.internalUrl)
  } finally {
    await api.stop()
  }
} finally {
  await client.end()
  await estate.close()
}

async function measure(internalUrl: string): Promise<void> {
  console.log(`${machine()}; ${options.records} records of ${options.sims} SIMs, ${options.rounds} rounds in turns\n`)
  const rates: Record<'limit' | 'fresh' | 'again', number[]> = { limit: [], fresh: [], again: [] }
  await client.query(LIMIT_TABLES)
  await send(estate, internalUrl, 'warm-up')
  await atLeast(estate, 'warm-up')
  for (let round = 0; round < options.rounds; round++) {
    rates.limit.push(await atLeast(estate, `limit-${round}`))
    rates.fresh.push(await send(estate, internalUrl, `round-${round}`, { accepted: options.records }))
    rates.again.push(await send(estate, internalUrl, `round-${round}`, { duplicates: options.records }))
  }
  console.log('| | records a second | ratio | target |\n|---|---|---|---|')
  console.log(`| least that PostgreSQL does | ${spread(rates.limit, 0)} | | |`)
  for (const what of ['fresh', 'again'] as const) {
    const ratio = median(rates[what]) / median(rates.limit)
    console.log(`| ${what} | ${spread(rates[what], 0)} | ${ratio.toFixed(2)} | ${TARGET[what]} |`)
    if (ratio < TARGET[what]) process.exitCode = 1
  }
}

/** Records in the order of a feed: the SIMs in turn, a minute apart. */
function* recordsOf(estate: Estate, round: string) {
  for (let n = 0; n < options.records; n++) {
    const at = new Date(FROM + (n % 60) * 1000).toISOString()
    yield {
      recordId: `${round}-${n}`,
      at,
      iccid: estate.iccid((n * 7919) % estate.sims),
      bytesUp: 100 + (n % 50),
      bytesDown: 900,
    }
  }
}

/** Sends a delivery as NDJSON. @returns records a second */
async function send(
  estate: Estate,
  internalUrl: string,
  round: string,
  expected: Readonly<Record<string, number>> = {},
): Promise<number> {
  const body = [...recordsOf(estate, round)].map((record) => JSON.stringify(record)).join('\n')
  const from = performance.now()
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
  const seconds = (performance.now() - from) / 1000
  for (const [name, count] of Object.entries(expected)) {
    if (answer[name] !== count) throw new Error(`${round}: got ${JSON.stringify(answer)}, expected ${name} ${count}`)
  }
  return options.records / seconds
}

/** @returns records a second */
async function atLeast(estate: Estate, round: string): Promise<number> {
  const lines = [...recordsOf(estate, round)].map(
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
