/**
 * Measures what a loud tenant costs the others: how long a usage record of theirs takes to become a log entry of the
 * watchdog, while one tenant sends its share of the records, and while it sends a hundred times as much. In turns.
 *
 * Usage: node tools/bench/tenants.ts [--tenants 200] [--sims 200] [--rate 200] [--seconds 8] [--rounds 2]. The rate is that of
 * all tenants together where each sends its share, in posts of 10 records. Exits with 1 if the p99 misses a target.
 */
import { startApiAndWorker } from './api.ts'
import { anEstate } from './estate.ts'
import {
  LATENCY_HEAD,
  type Latencies,
  latencyRow,
  makeQuiet,
  measureLatency,
  type Post,
  quietSims,
  type Source,
  untilSwept,
} from './log-latency.ts'
import { machine, quantile, wholeNumbers } from './measure.ts'

const MOST_MS = 500
const MOST_TIMES = 3
const LOUD = 100
const RECORDS = 10
const WARM_SECONDS = 3

const { tenants, sims, rate, seconds, rounds } = wholeNumbers({
  tenants: 200,
  sims: 200,
  rate: 200,
  seconds: 8,
  rounds: 2,
})
/** Between two posts of the tenants in turn, in milliseconds. */
const everyMs = (1000 * RECORDS) / rate
/** Posts of each tenant at the most. */
const postsEach = Math.ceil(((WARM_SECONDS + 2 * rounds * seconds) * 1000) / everyMs / tenants) + 2 * rounds + 1

const estate = await anEstate(sims)
try {
  const made = await estate.addTenants(tenants, sims)
  await makeQuiet(estate.url)
  const sources: Source[] = []
  for (const { tenantId, activeIccid } of made)
    sources.push({ tenantId, iccid: activeIccid, quiet: await quietSims(estate.url, tenantId, postsEach) })
  const service = await startApiAndWorker(estate)
  try {
    const to = { internalUrl: service.internalUrl, operatorKey: estate.operatorKey }
    await untilSwept(estate.url)
    const measure = (posts: readonly Post[]) => measureLatency(estate.url, to, posts)
    await measure(postsOf(sources, WARM_SECONDS, 1))
    const [without, beside]: [Latencies[], Latencies[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      without.push(await measure(postsOf(sources, seconds, 1)))
      beside.push(await measure(postsOf(sources, seconds, LOUD)))
    }
    print(together(without), together(beside))
    console.log(`peak of memory: ${service.memory()}`)
  } finally {
    await service.stop()
  }
} finally {
  await estate.close()
}

/** Posts of the tenants in turn. In each that is not the first one's, a record passes a threshold. */
function postsOf([first, ...others]: readonly Source[], forSeconds: number, times: number): Post[] {
  if (first === undefined) return []
  const count = Math.round((forSeconds * 1000) / everyMs)
  const posts = Array.from({ length: count }, (_, n): Post => {
    const from = others[n % others.length] ?? first
    return { at: n * everyMs, from, records: RECORDS, passing: 1 }
  })
  const share = (forSeconds * rate * times) / tenants / RECORDS
  const loud = Array.from({ length: Math.round(share) }, (_, n): Post => {
    return { at: (n * forSeconds * 1000) / share, from: first, records: RECORDS, passing: 0 }
  })
  return [...posts, ...loud].toSorted((a, b) => a.at - b.at)
}

function together(all: readonly Latencies[]): Latencies {
  return { logged: all.flatMap(({ logged }) => logged), posts: all.flatMap(({ posts }) => posts) }
}

function print(without: Latencies, beside: Latencies): void {
  const loud = (rate * LOUD) / tenants
  console.log(`${machine()}\n${tenants} tenants of ${sims} SIMs, ${rate} records a second of all together;`)
  console.log(`the loud one sends ${loud} a second. Milliseconds of the others, ${rounds} × ${seconds} s in turns\n`)
  console.log(LATENCY_HEAD)
  console.log(latencyRow('each its share', without))
  console.log(latencyRow(`one ${LOUD} times its share`, beside))
  const [p99Without, p99Beside] = [without, beside].map(({ logged }) => quantile(logged, 0.99))
  const [most, times] = [p99Beside ?? Number.NaN, (p99Beside ?? Number.NaN) / (p99Without ?? Number.NaN)]
  console.log(
    `\np99 ${most.toFixed(0)} ms, target ≤ ${MOST_MS}; ${times.toFixed(1)} times that without, target ≤ ${MOST_TIMES}`,
  )
  if (!(most <= MOST_MS && times <= MOST_TIMES)) process.exitCode = 1
}
