/**
 * Measures the closing of a billing cycle: total time and longest transaction, in slices and also in one transaction,
 * and the slowest concurrent post of late usage.
 *
 * A third of the SIMs is outside pools, the others are in shared pools of 1,000, every second of which is over. A
 * twentieth of the SIMs has an alert that fires. A late record for one SIM after the other is sent during the close.
 *
 * Usage: node tools/bench/close.ts [--sims 100000] [--rounds 3]. Exits with 1 if a transaction takes longer than 500 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { readRecord } from '../../domain/usage/usage-record.ts'
import { closeCycle, prepareClose } from '../../service/month-end/close-cycle.ts'
import { statementTotals } from '../../service/month-end/rows/statements.ts'
import { countUsage } from '../../service/usage/count-usage.ts'
import { currentCycle } from '../../service/usage/rows/cycles.ts'
import { inTenant, type Store, withLongTimeout } from '../../store/tenancy.ts'
import { anEstate } from './estate.ts'
import { ALLOWANCE } from './estate-rows.ts'
import { machine, median, spread, wholeNumbers } from './measure.ts'
import { watchTransactions } from './transactions.ts'

const MOST_MS = 500

const { sims, rounds } = wholeNumbers({ sims: 100_000, rounds: 3 })
const estate = await anEstate(sims)
const { tenantId } = estate
const cycle = await inTenant(estate.store, tenantId, currentCycle)
/** By its clock the cycle has just ended. */
const store: Store = withLongTimeout({ ...estate.store, clock: () => cycle.endsAt })
const owner = new pg.Client({ connectionString: estate.url, application_name: 'bench' })
await owner.connect()

interface Seen {
  readonly took: number[]
  readonly longest: number[]
  readonly late: number[]
}
const nothing = (): Seen => ({ took: [], longest: [], late: [] })

/** Gives the ledger something to state. */
async function use(): Promise<void> {
  await owner.query(`select set_config('app.tenant', $1, false)`, [tenantId])
  await owner.query('set session_replication_role = replica')
  const mine = `l.tenant_id = app_tenant() and l.cycle_key = '${cycle.key}'`
  await owner.query(`
    update usage_ledger l set pool_id = 0, tariff_id = p.tariff_id
      from pools p where p.id = l.pool_id and p.tariff_id = (select min(id) from tariffs where type = 0 and tenant_id = app_tenant())
       and ${mine}`)
  await owner.query(`
    update usage_ledger l
       set bytes = (l.sim_id * 7919 % 1000 + case when l.pool_id / 3 % 2 = 0 then 800 else 0 end) * ${ALLOWANCE / 1000},
           voice_seconds = l.sim_id % 1000, sms_count = l.sim_id % 10
     where ${mine}`)
  await owner.query(`
    update pool_cycles l set contributing = s.contributing, usage_version = usage_version + 1
      from (select pool_id, count(*) filter (where contributing)::integer as contributing from usage_ledger l where ${mine} group by 1) s
     where s.pool_id = l.pool_id and ${mine}`)
  await owner.query(`
    insert into pool_cycles (cycle_key, pool_id) values ('${cycle.key}', 0) on conflict do nothing`)
  await owner.query(`
    insert into alerts (rule, subject_kind, subject_id, scope, state, firing, rule_version, evaluated_at, explanation)
    select 'bench', 1, id, '${cycle.key}', '{"phase": "firing", "told": []}', true, 1, now(), '[]'
      from sims where tenant_id = app_tenant() and id % 20 = 0`)
}

/** Deletes the rows written by a close. */
async function reopen(): Promise<void> {
  for (const table of ['statements', 'statement_totals', 'statement_parts', 'restatements', 'notifications', 'events'])
    await owner.query(`delete from ${table} where tenant_id = $1`, [tenantId])
  await owner.query(`update cycles set closed_at = null, stated_at = null where tenant_id = $1`, [tenantId])
  await owner.query(`update alerts set firing = true, state = '{"phase": "firing", "told": []}' where tenant_id = $1`, [
    tenantId,
  ])
  await owner.query('vacuum (analyze) statements, alerts, usage_ledger, pool_cycles')
}

let records = 0
/** Sends one late record after another. @returns the longest that one took, in milliseconds */
async function lateUsage(until: { readonly closed: boolean }): Promise<number> {
  let slowest = 0
  while (!until.closed) {
    records += 1
    const sent = performance.now()
    const record = { recordId: `late-${records}`, iccid: estate.activeIccid(records * 7919), bytesDown: 1 }
    const at = new Date(cycle.startsAt + 1).toISOString()
    // A post that waits for a lock for more than 5 s fails, and its sender repeats it.
    const read = readRecord({ ...record, at }, store.clock())
    await countUsage({ store, tenantId }, [read]).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === '55P03')) throw error
    })
    slowest = Math.max(slowest, performance.now() - sent)
    await sleep(20)
  }
  return slowest
}

async function measure(into: Seen, close: () => Promise<unknown>): Promise<void> {
  const transactions = await watchTransactions(estate.url)
  const until = { closed: false }
  const late = lateUsage(until)
  const from = performance.now()
  await close()
  into.took.push(performance.now() - from)
  until.closed = true
  into.late.push(await late)
  const longest = transactions.longest()
  into.longest.push(longest.ms)
  if (longest.ms > MOST_MS) console.error(`${longest.ms.toFixed(0)} ms, mostly in: ${longest.statement.slice(0, 400)}`)
  await transactions.stop()
  const totals = await inTenant(store, tenantId, (tx) => statementTotals(tx, cycle.key))
  const { rows } = await owner.query<{ lines: number }>(
    `select count(*)::integer as lines from statements where tenant_id = $1`,
    [tenantId],
  )
  if (totals === undefined || totals.lines !== rows[0]?.lines || totals.lines < sims * 0.8)
    throw new Error(`got ${JSON.stringify({ totals, rows })}, expected a line for each Active SIM`)
  await reopen()
}

const whole = () => inTenant(store, tenantId, (tx) => closeCycle(tx, cycle.key))
const inSlices = async () => {
  await prepareClose(store, tenantId, cycle.key)
  await whole()
}

try {
  await use()
  await reopen()
  console.log(`${machine()}\n${sims} SIMs; milliseconds, median of ${rounds} (least–most)\n`)
  const seen = { slices: nothing(), whole: nothing() }
  for (let round = 0; round <= rounds; round++) {
    const warm = round === 0 ? { slices: nothing(), whole: nothing() } : seen
    await measure(warm.slices, inSlices)
    await measure(warm.whole, whole)
  }
  console.log('| | total | longest transaction | slowest late record |\n|---|---|---|---|')
  const row = (name: string, { took, longest, late }: Seen) =>
    console.log(`| ${name} | ${spread(took, 0)} | ${spread(longest, 0)} | ${spread(late, 0)} |`)
  row('in slices', seen.slices)
  row('in one transaction', seen.whole)
  const longest = median(seen.slices.longest)
  console.log(`\nlongest transaction in slices ${longest.toFixed(0)} ms, target ≤ ${MOST_MS}`)
  if (longest > MOST_MS) process.exitCode = 1
} finally {
  await owner.end()
  await estate.close()
}
