/**
 * Measures a backtest of the shipped rules over a month's usage: its time, memory and disk space, compared with COPY
 * of the same records. Every Active SIM has a record each six hours, which are received together. One SIM in fifty uses
 * more than its allowance.
 *
 * Usage: node tools/bench/backtest.ts [--records 1000000]. Exits with 1 if it takes longer than half an hour, which is when a
 * backtest is ended, or if the process takes more memory than its target.
 */
import { sql } from 'kysely'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { NO_LINKS } from '../../adapters/channels/mail/links.ts'
import { renderMail } from '../../adapters/channels/mail/render-mail.ts'
import { progress } from '../../cli/rules/backtest.ts'
import { cycleAt, previousCycle } from '../../domain/time/cycle.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { backtest } from '../../service/backtests/backtest.ts'
import { activateRules } from '../../service/rules/rules-in-force.ts'
import { connect } from '../../store/connect.ts'
import { anEstate } from './estate.ts'
import { machine, wholeNumbers } from './measure.ts'

const { records } = wholeNumbers({ records: 1_000_000 })

const MOST_MINUTES = 30
const MOST_MIB = 1024
const DAY_MS = 86_400_000
/** Time between two deliveries. */
const DELIVERY_MS = DAY_MS / 4
const ACTIVE_SHARE = 0.8
const MB = 1_000_000

const month = previousCycle('P1M', cycleAt('P1M', Date.now()))
const deliveries = (month.endsAt - month.startsAt) / DELIVERY_MS
const estate = await anEstate(Math.ceil(records / deliveries / ACTIVE_SHARE), 'P1M', new Date(month.startsAt - DAY_MS))
const owner = new pg.Client({ connectionString: estate.url })
await owner.connect()
try {
  await activateRules(estate.store, await readRuleFiles(''), 'the bench')
  const received = await receive()
  const copyMs = await timed(copied)
  const { db, close } = connect(estate.url, { max: 1 })
  try {
    await db.connection().execute(async (one) => {
      const evaluation = { groupFirstMs: 60_000, groupNextMs: 3_600_000 }
      const report = await backtest(
        one,
        Date.now,
        { tenantId: estate.tenantId, cycles: 1, rules: null },
        {
          evaluation: {
            ...evaluation,
            onFailed: ({ error }) => {
              throw error
            },
          },
          render: (told, isCopy) => renderMail(told, NO_LINKS, isCopy),
          onProgress: progress(),
        },
      )
      const entries = report.rules.reduce((sum, rule) => sum + rule.entries, 0)
      const mails = report.mails.reduce((sum, one) => sum + one.mails, 0)
      const rssMiB = process.resourceUsage().maxRSS / 1024
      console.log(`${machine()}\n`)
      console.log('| | |\n|---|---|')
      console.log(`| records, SIMs, pools | ${received}, ${estate.sims}, ${await countOf('pools')} |`)
      console.log(`| COPY of the records | ${(copyMs / 1000).toFixed(1)} s |`)
      console.log(`| backtest | ${report.seconds} s, ${((report.seconds * 1000) / copyMs).toFixed(0)} times COPY |`)
      console.log(`| records a second | ${Math.round(received / report.seconds)} |`)
      console.log(`| entries, mails | ${entries}, ${mails} |`)
      console.log(`| peak of memory of the process | ${rssMiB.toFixed(0)} MiB, target < ${MOST_MIB} |`)
      console.log(`| temporary tables | ${await temporaryMiB(one)} MiB |`)
      if (report.seconds > MOST_MINUTES * 60 || rssMiB > MOST_MIB) process.exitCode = 1
    })
  } finally {
    await close()
  }
} finally {
  await owner.end()
  await estate.close()
}

/** Writes the month's usage in order of receipt. @returns how many records */
async function receive(): Promise<number> {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  await owner.query(`select make_usage_partition(date_trunc('month', $1::timestamptz)::date)`, [day(month.startsAt)])
  await owner.query(`update tariffs set allowance_bytes = case when type = 2 then $1::bigint else $2::bigint end`, [
    30_000 * MB,
    30 * MB,
  ])
  const { rowCount } = await owner.query(
    `insert into usage_records (tenant_id, record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down, voice_seconds,
                                sms_count, received_at)
     select s.tenant_id, s.id || '-' || n, $2::timestamptz + n * $3::interval + (s.id * 37 % 21600) * interval '1 s', s.id,
            s.pool_id, $4, 50000, case when s.id % 50 = 0 then 700000 else 100000 end, 0, 0,
            least($2::timestamptz + (n + 1) * $3::interval, $5::timestamptz)
       from sims s cross join generate_series(0, $6::integer - 1) as d(n)
      where s.tenant_id = $1 and s.status = 1`,
    [
      estate.tenantId,
      new Date(month.startsAt),
      `${DELIVERY_MS} ms`,
      month.key,
      new Date(month.endsAt - 1000),
      deliveries,
    ],
  )
  await owner.query('vacuum (analyze)')
  return rowCount ?? 0
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

/** Reads the records as COPY gives them, in order of receipt. */
async function copied(): Promise<void> {
  const stream = owner.query(
    copyTo(`copy (select * from usage_records where tenant_id = '${estate.tenantId}' order by received_at) to stdout`),
  )
  for await (const _ of stream);
}

async function countOf(table: string): Promise<number> {
  const { rows } = await owner.query(`select count(*)::integer as n from ${table} where tenant_id = $1`, [
    estate.tenantId,
  ])
  return rows[0].n
}

/** Size of all temporary tables of a connection with their indexes, in MiB. */
async function temporaryMiB(db: Parameters<typeof backtest>[0]): Promise<number> {
  const { rows } = await sql<{ mib: number }>`
    select round(sum(pg_total_relation_size(oid)) / 1048576)::integer as mib
      from pg_class where relnamespace = pg_my_temp_schema() and relkind = 'r'`.execute(db)
  return rows[0]?.mib ?? 0
}
