/**
 * Faults while 200 workflow runs are halfway: a process is killed, or the carrier misbehaves, or both. Afterwards
 * everything must be as without the fault. Cases with only one kind of misbehaviour use a quarter of the runs. A table of
 * the results is printed at the end. test/long.ts runs the cases one by one, or a few together.
 *
 * Redis is the `redis-server` on PATH (stack/redis.ts). If it is not installed, its case is skipped.
 */
import { afterAll, expect, test } from 'vitest'
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
  readonly needsRedis?: true
  /** Misbehaviour that the carrier's journal must show: without it the case proves nothing. */
  readonly seen?: readonly ('failed' | 'repeated')[]
}

const FAULTS: readonly Case[] = [
  { name: 'worker killed', strike: ({ service }) => killSupervised(service.worker) },
  { name: 'Redis killed', strike: ({ servers }) => servers.redis.outage(AWAY_MS), needsRedis: true },
  { name: 'API killed', strike: ({ service }) => killSupervised(service.api) },
  { name: 'carrier fails 20 % of calls', knobs: fails, share: A_HALF, seen: ['failed'] },
  { name: 'Temporal killed', strike: ({ servers }) => servers.temporal.outage(TEMPORAL_AWAY_MS) },
  { name: 'carrier acts, then times out', knobs: actsThenTimesOut, share: A_QUARTER, seen: ['repeated'] },
  { name: 'PostgreSQL killed', strike: ({ servers }) => servers.postgres.outage(AWAY_MS) },
  { name: 'carrier responds late', knobs: respondsLate, share: A_QUARTER, seen: ['repeated'] },
  { name: 'carrier killed', strike: ({ servers }) => servers.carrier.outage() },
  { name: 'carrier does all three', knobs: allThree, seen: ['failed', 'repeated'] },
  {
    name: 'carrier does all three, and worker killed',
    knobs: allThree,
    seen: ['failed', 'repeated'],
    strike: ({ service }) => killSupervised(service.worker),
  },
]

const opened = new Map<boolean, Promise<Harness>>()
/** A service with its queues in Redis or in PostgreSQL, opened once a case needs it. */
function harnessWith(withRedis: boolean): Promise<Harness> {
  const harness = opened.get(withRedis) ?? openHarness({ withRedis })
  opened.set(withRedis, harness)
  return harness
}

const played: [Fault, Played][] = []
afterAll(async () => {
  console.log(`\n${tableOf(played)}\n`)
  for (const harness of opened.values()) await (await harness).close()
})

for (const { needsRedis = false, seen: misbehaviour = [], ...fault } of FAULTS) {
  test(`loses nothing and repeats nothing: ${fault.name}`, { skip: needsRedis && !redis }, async () => {
    const seen = await play(await harnessWith(needsRedis), fault)
    played.push([fault, seen])

    const { middle, report } = seen
    // A strike must come in the middle of the work. Misbehaviour of the carrier lasts all through it.
    if (fault.strike !== undefined) {
      const share = (middle.size - middle.settled) / middle.size
      expect(share).toBeGreaterThanOrEqual(0.2)
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
