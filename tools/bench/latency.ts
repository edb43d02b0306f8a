/**
 * Measures how long a usage record takes to become a log entry of the watchdog: at rest, and during sweeps of the whole
 * estate. An API and a worker run as separate processes, with the shipped rules.
 *
 * Usage: node tools/bench/latency.ts [--sims 100000] [--rate 1000] [--seconds 20] [--every 50]. Every so many records one takes
 * a SIM past its threshold. Exits with 1 if a figure misses its target.
 */
import { openQueues } from '../../adapters/queues/backend.ts'
import { lookAtAll } from '../../store/shards.ts'
import { inTenant } from '../../store/tenancy.ts'
import { startApiAndWorker } from './api.ts'
import { anEstate, type Estate } from './estate.ts'
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

/** Milliseconds: at rest, and beside sweeps. */
const MOST = { p50: 60, p99: 100, p99BesideSweeps: 500 }
const POST_MS = 100
const WARM_SECONDS = 3

const { sims, rate, seconds, every } = wholeNumbers({ sims: 100_000, rate: 1000, seconds: 20, every: 50 })
const records = Math.max(1, Math.round((rate * POST_MS) / 1000))

const estate = await anEstate(sims)
try {
  await makeQuiet(estate.url)
  const service = await startApiAndWorker(estate)
  try {
    const to = { internalUrl: service.internalUrl, operatorKey: estate.operatorKey }
    const from: Source = {
      tenantId: estate.tenantId,
      iccid: (n) => estate.activeIccid(n * 7919),
      quiet: await quietSims(estate.url, estate.tenantId, Math.ceil((rate * (2 * seconds + WARM_SECONDS + 1)) / every)),
    }
    await untilSwept(estate.url)
    await measureLatency(estate.url, to, postsOf(from, WARM_SECONDS))
    const atRest = await measureLatency(estate.url, to, postsOf(from, seconds))
    const sweeping = keepSweeping(estate)
    const beside = await measureLatency(estate.url, to, postsOf(from, seconds))
    const sweeps = await sweeping.stop()
    print(atRest, beside, sweeps)
    console.log(`peak of memory: ${service.memory()}`)
  } finally {
    await service.stop()
  }
} finally {
  await estate.close()
}

function postsOf(from: Source, forSeconds: number): Post[] {
  let [sent, passed] = [0, 0]
  return Array.from({ length: Math.round((forSeconds * 1000) / POST_MS) }, (_, n) => {
    sent += records
    const passing = Math.floor(sent / every) - passed
    passed += passing
    return { at: n * POST_MS, from, records, passing }
  })
}

/** Asks for a look at all subjects as soon as the last has ended. @returns `stop` returns the number of sweeps begun */
function keepSweeping({ store, tenantId, url }: Estate) {
  const onError = (error: Error) => console.error(`queues: ${error.message}`)
  const queues = openQueues({ redisUrl: '', databaseUrl: url, onError })
  const stopping = new AbortController()
  const run = async () => {
    let sweeps = 0
    for (; !stopping.signal.aborted; sweeps++) {
      await inTenant({ ...store, enqueue: queues.enqueue }, tenantId, lookAtAll)
      await Promise.race([untilSwept(url), stopped])
    }
    return sweeps
  }
  const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()))
  const running = run()
  return {
    stop: async () => {
      stopping.abort()
      const sweeps = await running
      await untilSwept(url)
      await queues.close()
      return sweeps
    },
  }
}

function print(atRest: Latencies, beside: Latencies, sweeps: number): void {
  console.log(`${machine()}\n${sims} SIMs, ${rate} records a second, ${seconds} s each; milliseconds\n`)
  console.log(LATENCY_HEAD)
  console.log(latencyRow('at rest', atRest))
  console.log(latencyRow(`beside ${sweeps} sweeps`, beside))
  const figures = {
    p50: quantile(atRest.logged, 0.5),
    p99: quantile(atRest.logged, 0.99),
    p99BesideSweeps: quantile(beside.logged, 0.99),
  }
  for (const name of ['p50', 'p99', 'p99BesideSweeps'] as const) {
    const isMissed = figures[name] > MOST[name]
    console.log(`${name} ${figures[name].toFixed(0)} ms, target ≤ ${MOST[name]}${isMissed ? ': missed' : ''}`)
    if (isMissed) process.exitCode = 1
  }
}
