/**
 * Measures the opening of a billing cycle ahead, in slices: total time, longest transaction, slowest GET beside it. Beside
 * it one insert…select of the same ledger rows in one transaction, which is how a cycle was opened before at the least.
 *
 * Usage: node tools/bench/cycle.ts [--sims 100000]. Exits with 1 if a transaction takes longer than 500 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import pg from 'pg'
import { type Cycle, cycleAt, nextCycle } from '../../domain/time/cycle.ts'
import { wrongSums } from '../../service/usage/rows/check-sums.ts'
import { contributors } from '../../service/usage/rows/contributors.ts'
import { openSlice } from '../../service/usage/rows/open-cycle.ts'
import { inTenant, OPENING, type TenantTx, withLongTimeout } from '../../store/tenancy.ts'
import { apiOf } from './api.ts'
import { anEstate } from './estate.ts'
import { machine, median, spread } from './measure.ts'

const MOST_MS = 500
const ROUNDS = 5

const { values } = parseArgs({ options: { sims: { type: 'string', default: '100000' } } })
const sims = Number(values.sims)
if (!Number.isInteger(sims) || sims < 1000 || sims % 10 > 0)
  throw new Error(`--sims: got ${values.sims}, expected a multiple of 10 from 1,000 on`)

const estate = await anEstate(sims)
const { tenantId } = estate
/** Of ten SIMs eight are Active. */
const active = sims * 0.8
const store = withLongTimeout(estate.store)
const api = await apiOf(estate)
const owner = new pg.Client({ connectionString: estate.url })
await owner.connect()

interface Seen {
  readonly took: number[]
  readonly longest: number[]
  readonly get: number[]
}
const nothing = (): Seen => ({ took: [], longest: [], get: [] })
const seen = { slices: nothing(), whole: nothing() }

/** Runs transactions until no work is left, and reads SIMs one after the other at the same time. */
async function measure(into: Seen | undefined, work: (tx: TenantTx) => Promise<boolean>): Promise<void> {
  const readers = { goOn: true }
  let longest = 0
  const from = performance.now()
  const working = (async () => {
    for (let done = false; !done; ) {
      const began = performance.now()
      done = await inTenant(store, tenantId, work)
      longest = Math.max(longest, performance.now() - began)
    }
    into?.took.push(performance.now() - from)
    readers.goOn = false
  })()
  let slowest = 0
  while (readers.goOn) {
    const asked = performance.now()
    const response = await fetch(`${api.apiUrl}/api/sims`, { headers: { authorization: `Bearer ${estate.key}` } })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`GET /api/sims: got ${response.status}, expected 200`)
    slowest = Math.max(slowest, performance.now() - asked)
    await sleep(5)
  }
  await working
  into?.longest.push(longest)
  into?.get.push(slowest)
}

/** Checks the opened rows, and deletes them. @param isSummed whether the sums of pools are kept too */
async function takeBack(opened: Cycle, isSummed: boolean): Promise<void> {
  const { rows, wrong } = await inTenant(store, tenantId, async (tx) => ({
    rows: (
      await sql<{ sims: number }>`
      select count(distinct sim_id)::integer as sims from usage_ledger
       where tenant_id = ${tenantId} and cycle_key = ${opened.key} and contributing`.execute(tx.q)
    ).rows,
    wrong: isSummed ? await wrongSums(tx, opened.key) : [],
  }))
  if (rows[0]?.sims !== active || wrong.length > 0) {
    throw new Error(`cycle ${opened.key}: got ${JSON.stringify({ rows, wrong })}, expected ${active} SIMs`)
  }
  for (const table of ['usage_ledger', 'pool_cycles', 'cycle_openings']) {
    await owner.query(`delete from ${table} where tenant_id = $1 and cycle_key = $2`, [tenantId, opened.key])
  }
  await owner.query('vacuum usage_ledger, pool_cycles, due_subjects')
}

try {
  console.log(`${machine()}\n${sims} SIMs, slices of ${OPENING.sims}; milliseconds, median of ${ROUNDS} (least–most)\n`)
  // Every call opens a cycle later than the last: none has begun.
  let cycle: Cycle = cycleAt('P1M', Date.now())
  for (let round = 0; round <= ROUNDS; round++) {
    const into = round === 0 ? undefined : seen
    cycle = nextCycle('P1M', cycle)
    const ahead = cycle
    await measure(into?.slices, (tx) => openSlice(tx, ahead, OPENING.sims))
    await takeBack(ahead, true)
    cycle = nextCycle('P1M', cycle)
    const whole = cycle
    await measure(into?.whole, async (tx) => {
      await sql`
        insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing)
        select ${whole.key}, sim_id, pool_id, tariff_id, true from (${contributors(whole)}) c
         order by sim_id, pool_id`.execute(tx.q)
      return true
    })
    await takeBack(whole, false)
  }
  console.log('| | total | longest transaction | slowest GET |\n|---|---|---|---|')
  const row = (name: string, { took, longest, get }: Seen) =>
    console.log(`| ${name} | ${spread(took, 0)} | ${spread(longest, 0)} | ${spread(get, 0)} |`)
  row('opened in slices', seen.slices)
  row('one insert…select of the same ledger rows', seen.whole)
  const longest = median(seen.slices.longest)
  console.log(
    `\nopened: ${(median(seen.slices.took) / median(seen.whole.took)).toFixed(1)} × the insert…select; ` +
      `longest transaction ${longest.toFixed(0)} ms, target ≤ ${MOST_MS}`,
  )
  if (longest > MOST_MS) process.exitCode = 1
} finally {
  await api.close()
  await owner.end()
  await estate.close()
}
