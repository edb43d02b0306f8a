/**
 * Measures a sweep of all SIMs of a tenant by the shipped rules, when nothing has changed, and COPY of the columns that
 * the facts come from.
 *
 * Usage: node tools/bench/sweep.ts [--sims 100000] [--rounds 5]. Exits with 1 if a sweep takes more than three times as long, or
 * the process more memory than its target.
 */
import { parseArgs } from 'node:util'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { readRuleFiles } from '../../process/rule-files.ts'
import { activateRules, rulesInForce } from '../../service/rules/rules-in-force.ts'
import type { EvaluationOptions } from '../../service/watchdog/evaluation-options.ts'
import { sweepSubjects } from '../../service/watchdog/sweep-subjects.ts'
import { lookAtAll } from '../../store/shards.ts'
import { inTenant } from '../../store/tenancy.ts'
import { anEstate } from './estate.ts'
import { inTurn, machine, median, spread } from './measure.ts'

const { values } = parseArgs({ options: { sims: { type: 'string', default: '100000' } } })
const sims = Number(values.sims)
if (!Number.isInteger(sims) || sims < 1000) throw new Error(`--sims: got ${values.sims}, expected 1,000 or more`)

const MOST_TIMES = 3
const MOST_MIB = 300

const estate = await anEstate(sims)
const { store, tenantId } = estate
const reader = new pg.Client({ connectionString: estate.url })
await reader.connect()
try {
  await activateRules(store, await readRuleFiles(''), 'the bench')
  let evaluated = 0
  const options: EvaluationOptions = {
    rules: rulesInForce(),
    groupFirstMs: 60_000,
    groupNextMs: 3_600_000,
    onFailed: ({ error }) => {
      throw error
    },
    onDecided: ({ subjects }) => {
      evaluated += subjects
    },
  }
  const sweep = async () => {
    await inTenant(store, tenantId, lookAtAll)
    while (await sweepSubjects(store, options, tenantId));
  }
  const baseMiB = peakMiB()
  // The first splits the shards, and finds SIMs that were never seen.
  await sweep()
  const first = evaluated
  // The memory of as many as are timed, before the COPYs beside them take theirs.
  for (let n = 0; n < 6; n++) await sweep()
  const rssMiB = peakMiB()
  evaluated = 0
  const took = await inTurn(sweep, copied)
  const times = median(took.ours) / median(took.theirs)
  console.log(`${machine()}\n${sims} SIMs, the shipped rules; milliseconds, median of 5 (least–most)\n`)
  console.log('| | milliseconds | times | target |\n|---|---|---|---|')
  console.log(`| COPY of the columns | ${spread(took.theirs, 0)} | | |`)
  console.log(`| sweep, nothing changed | ${spread(took.ours, 0)} | ${times.toFixed(1)} | ≤ ${MOST_TIMES} |`)
  console.log(
    `\n${Math.round((sims * 0.9) / (median(took.ours) / 1000)).toLocaleString('en')} SIMs a second; the engine evaluated ${first} subjects in the first sweep, ${evaluated} in the others; peak memory ${rssMiB.toFixed(0)} MiB, ${baseMiB.toFixed(0)} of it before the first sweep, target < ${MOST_MIB}`,
  )
  if (times > MOST_TIMES || rssMiB > MOST_MIB) process.exitCode = 1
} finally {
  await reader.end()
  await estate.close()
}

function peakMiB(): number {
  return process.resourceUsage().maxRSS / 1024
}

/** Reads the columns as COPY gives them, and counts the lines. */
async function copied(): Promise<void> {
  const stream: AsyncIterable<Uint8Array> = reader.query(
    copyTo(`
      copy (select s.id, s.iccid, s.tag, s.type, s.status, s.status_since, s.pool_id, s.tariff_id, s.is_watchdog_exempt,
                   s.watchdog_mode, s.warning_threshold_pct, s.enable_burn_rate_alerts, g.imei, g.previous_imei,
                   g.last_seen_at, l.tariff_id, l.contributing, l.bytes, l.voice_seconds, l.sms_count
              from sims s
              left join sim_sightings g on g.tenant_id = s.tenant_id and g.sim_id = s.id
              left join usage_ledger l on l.tenant_id = s.tenant_id and l.sim_id = s.id and l.pool_id = coalesce(s.pool_id, 0)
             where s.tenant_id = '${tenantId}' and s.status <> 0 order by s.id) to stdout`),
  )
  let lines = 0
  for await (const chunk of stream) for (const byte of chunk) if (byte === 10) lines += 1
  if (lines !== sims - Math.ceil(sims / 10)) throw new Error(`COPY gave ${lines} SIMs`)
}
