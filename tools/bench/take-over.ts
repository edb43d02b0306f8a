/**
 * Seconds in which `POST /internal/sims` takes over SIMs as they live at the carrier, with pools and usage, beside as many
 * that come in as delivered. In turns, each file with new SIMs, into a tenant whose other SIMs send usage meanwhile.
 *
 * Usage: node tools/bench/take-over.ts [--sims 100000] [--rounds 3]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { wrongCounts } from '../../service/sims/rows/wrong-counts.ts'
import { wrongSums } from '../../service/usage/rows/check-sums.ts'
import { connect } from '../../store/connect.ts'
import { inTenant } from '../../store/tenancy.ts'
import { peakMiB, startApi } from './api.ts'
import { anEstate, type Estate } from './estate.ts'
import { machine, median, spread } from './measure.ts'

/** Times of an import as delivered: a SIM that is taken over is seven rows more. */
const TARGET = 5
/** Between two records of the feed, in milliseconds. */
const FEED_MS = 100

const { values } = parseArgs({
  options: { sims: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '3' } },
})
const [sims = 0, rounds = 0] = [values.sims, values.rounds].map(Number)
if (![sims, rounds].every((value) => Number.isInteger(value) && value > 0)) {
  throw new Error(`--sims, --rounds: got ${values.sims} and ${values.rounds}, expected whole numbers above 0`)
}

const estate = await anEstate(sims)
try {
  const api = await startApi(estate.url)
  try {
    await measure(estate, api)
  } finally {
    await api.stop()
  }
} finally {
  await estate.close()
}

async function measure(estate: Estate, api: { readonly internalUrl: string; readonly pid: number }): Promise<void> {
  console.log(`${machine()}; ${sims} SIMs a file, ${rounds} rounds in turns\n`)
  const before = peakMiB(api.pid)
  const seconds: Record<'delivered' | 'takenOver', number[]> = { delivered: [], takenOver: [] }
  const waits: number[] = []
  await send(estate, api.internalUrl, 'warm-up', (n) => aSim(0, n))
  const delivered = peakMiB(api.pid)
  for (let round = 1; round <= rounds; round++) {
    seconds.delivered.push(await send(estate, api.internalUrl, 'as delivered', (n) => aSim(2 * round, n)))
    const feed = startFeed(estate, api.internalUrl, round)
    const file = (n: number) => ({ ...aSim(2 * round + 1, n), ...aState(n) })
    seconds.takenOver.push(await send(estate, api.internalUrl, 'taken over', file))
    waits.push(...(await feed.stop()))
  }
  await mustAddUp(estate)
  const ratio = median(seconds.takenOver) / median(seconds.delivered)
  console.log('| | seconds | ratio | target |\n|---|---|---|---|')
  console.log(`| as delivered | ${spread(seconds.delivered)} | | |`)
  console.log(`| taken over | ${spread(seconds.takenOver)} | ${ratio.toFixed(1)} | at most ${TARGET} |`)
  console.log(
    `\nusage meanwhile: ${waits.length} records, the slowest after ${(Math.max(...waits) / 1000).toFixed(1)} s`,
  )
  console.log(
    `memory of the API process: ${before.toFixed(0)} MiB at rest, ${delivered.toFixed(0)} as delivered, at most ${peakMiB(api.pid).toFixed(0)}`,
  )
  if (ratio > TARGET) process.exitCode = 1
}

function aSim(file: number, n: number) {
  const imsi = `26201${String(file).padStart(2, '0')}${String(n).padStart(8, '0')}`
  return { iccid: `89445${String(100 + file)}${String(n).padStart(11, '0')}`, imsi, tag: `meter ${n}` }
}

/** Of a hundred SIMs 95 are Active, four Suspended, and one was never activated. They are in pools of all kinds. */
function aState(n: number) {
  const pool = { poolId: (n % Math.ceil(sims / 1000)) + 1 }
  if (n % 100 === 99) return { ...pool, status: 2 }
  return { ...pool, status: n % 100 < 95 ? 1 : 2, activatedAt: '2026-01-01T00:00:00Z', usageBytes: 1_000_000 + n }
}

function headersOf({ operatorKey, tenantId }: Estate) {
  return { authorization: `Bearer ${operatorKey}`, 'x-tenant-id': tenantId, 'content-type': 'application/x-ndjson' }
}

/** Sends a file of new SIMs. @returns seconds */
async function send(estate: Estate, url: string, what: string, sim: (n: number) => object): Promise<number> {
  const body = Array.from({ length: sims }, (_, n) => JSON.stringify(sim(n))).join('\n')
  const from = performance.now()
  const response = await fetch(`${url}/internal/sims`, { method: 'POST', headers: headersOf(estate), body })
  const { created, rejected } = JSON.parse(await response.text())
  if (created?.length !== sims)
    throw new Error(`${what}: ${response.status}, got ${JSON.stringify(rejected?.slice(0, 3))}`)
  return (performance.now() - from) / 1000
}

/** Sends a usage record of another SIM every now and then. @returns how long each took, in milliseconds */
function startFeed(estate: Estate, url: string, round: number) {
  const stopping = new AbortController()
  const run = async () => {
    const waits: number[] = []
    for (let n = 0; !stopping.signal.aborted; n++) {
      const record = { recordId: `${round}-${n}`, iccid: estate.iccid(n), at: new Date().toISOString(), bytesUp: 1 }
      const from = performance.now()
      const response = await fetch(`${url}/internal/usage`, {
        method: 'POST',
        headers: headersOf(estate),
        body: JSON.stringify(record),
      })
      if (!response.ok) console.log(`usage meanwhile: ${response.status} ${await response.text()}`)
      waits.push(performance.now() - from)
      await sleep(FEED_MS)
    }
    return waits
  }
  const running = run()
  return {
    stop: () => {
      stopping.abort()
      return running
    },
  }
}

async function mustAddUp({ tenantId, url }: Estate): Promise<void> {
  const { db, close } = connect(url, { max: 1, answerMs: 0 })
  const store = { db, clock: Date.now, enqueue: () => {} }
  const wrong = await inTenant(store, tenantId, async (tx) => [...(await wrongCounts(tx)), ...(await wrongSums(tx))])
  await close()
  if (wrong.length > 0) throw new Error(`wrong sums: ${JSON.stringify(wrong)}`)
}
