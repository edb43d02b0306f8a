/**
 * Faults while 200 workflow runs are halfway: a process is killed, or the carrier misbehaves, or both. Afterwards
 * everything must be as without the fault. Cases with only one kind of misbehaviour use a quarter of the runs. Two
 * services take the cases side by side, because a case is mostly waiting. A table of the results is printed at the end.
 *
 * Redis is the `redis-server` on PATH (stack/redis.ts). If it is not installed, its case is skipped, and the second
 * service's queues are in PostgreSQL too.
 */
import { afterAll, test } from 'vitest'
import { requireRedis } from '../setup/requirements.ts'
import {
  AWAY_MS,
  type Fault,
  type Harness,
  killSupervised,
  openHarness,
  type Played,
  play,
  TEMPORAL_AWAY_MS,
  tableOf,
} from './harness.ts'

const redis = requireRedis('workflows whose Redis is killed') !== undefined

/** About fifty SIMs, and about a hundred. Tickets go to the carrier fifty at a time: fifty may all be done at once. */
const [A_QUARTER, A_HALF] = [0.25, 0.5]

const fails = { failureRate: 0.2 }
const actsThenTimesOut = { actsThenTimesOutRate: 0.3 }
/** Three in eight responses come after CARRIER_TIMEOUT. */
const respondsLate: { latencyMs: [number, number] } = { latencyMs: [0, 1600] }
const allThree = { ...fails, ...actsThenTimesOut, ...respondsLate }

interface Case extends Fault {
  readonly on: 0 | 1
  readonly needsRedis?: true
  /** Misbehaviour that the carrier's journal must show: without it the case proves nothing. */
  readonly seen?: readonly ('failed' | 'repeated')[]
}

/** The two services take their cases (`on`) in this order, side by side. */
const FAULTS: readonly Case[] = [
  { on: 0, name: 'worker killed', strike: ({ service }) => killSupervised(service.worker) },
  { on: 1, name: 'Redis killed', strike: ({ servers }) => servers.redis.outage(AWAY_MS), needsRedis: true },
  { on: 0, name: 'API killed', strike: ({ service }) => killSupervised(service.api) },
  { on: 1, name: 'carrier fails 20 % of calls', knobs: fails, share: A_HALF, seen: ['failed'] },
  { on: 0, name: 'Temporal killed', strike: ({ servers }) => servers.temporal.outage(TEMPORAL_AWAY_MS) },
  { on: 1, name: 'carrier acts, then times out', knobs: actsThenTimesOut, share: A_QUARTER, seen: ['repeated'] },
  { on: 0, name: 'PostgreSQL killed', strike: ({ servers }) => servers.postgres.outage(AWAY_MS) },
  { on: 1, name: 'carrier responds late', knobs: respondsLate, share: A_QUARTER, seen: ['repeated'] },
  { on: 0, name: 'carrier killed', strike: ({ servers }) => servers.carrier.outage() },
  { on: 1, name: 'carrier does all three', knobs: allThree, seen: ['failed', 'repeated'] },
  {
    on: 1,
    name: 'carrier does all three, and worker killed',
    knobs: allThree,
    seen: ['failed', 'repeated'],
    strike: ({ service }) => killSupervised(service.worker),
  },
]

const harnesses: readonly [Harness, Harness] = [
  await openHarness({ withRedis: false }),
  await openHarness({ withRedis: redis }),
]
const lastOf: [Promise<unknown>, Promise<unknown>] = [Promise.resolve(), Promise.resolve()]
/** A harness plays one fault at a time. */
function inTurn<T>(on: 0 | 1, act: (harness: Harness) => Promise<T>): Promise<T> {
  const turn = lastOf[on].then(() => act(harnesses[on]))
  lastOf[on] = turn.catch(() => undefined)
  return turn
}

const played: [Fault, Played][] = []
afterAll(async () => {
  console.log(`\n${tableOf(played)}\n`)
  for (const harness of harnesses) await harness.close()
})

for (const { on, needsRedis = false, seen: misbehaviour = [], ...fault } of FAULTS) {
  test(`loses nothing and repeats nothing: ${fault.name}`, {
    // The timeout covers all cases, because this one may come last.
    concurrent: true,
    skip: needsRedis && !redis,
    timeout: 3_600_000,
  }, async ({ expect }) => {
    const seen = await inTurn(on, (harness) => play(harness, fault))
    played.push([fault, seen])

    const { middle, report } = seen
    // A strike must come in the middle of the work. Misbehaviour of the carrier lasts all through it.
    if (fault.strike !== undefined) {
      const share = (middle.size - middle.settled) / middle.size
      expect(share).toBeGreaterThanOrEqual(0.2)
      expect(share).toBeLessThanOrEqual(0.75)
      expect(Object.entries(middle.underWay).filter(([, count]) => count === 0)).toEqual([])
      expect(middle.openTickets).toBeGreaterThan(0)
      // No maximum: a run ends shortly after its SIM is settled, and Temporal's list shows that even later.
      expect(middle.running / middle.size).toBeGreaterThanOrEqual(0.2)
    }
    expect(misbehaviour.filter((kind) => report[kind] === 0)).toEqual([])
    expect(report.faults).toEqual([])
    expect(report.doubles).toBe(0)
    expect(report.effects).toBe(report.tickets)
  })
}
