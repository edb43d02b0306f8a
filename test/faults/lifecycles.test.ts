/**
 * 200 lifecycles in the middle of their way, each time one thing is killed or the carrier misbehaves (a quarter of them
 * where it does so in one way only); then everything has to be as if nothing had been. Two services take the cases in
 * turns, because most of a case is waiting; the table at the end says what was seen.
 *
 * Redis is `redis-server` of the PATH (stack/redis.ts): where it is not installed its case is left out, and the other
 * service's queues are in PostgreSQL too.
 */
import { afterAll, test } from 'vitest'
import { requireRedis } from '../setup/requirements.ts'
import { type Fault, type Harness, killSupervised, openHarness, type Played, play, tableOf } from './harness.ts'

const redis = requireRedis('lifecycles whose Redis is killed') !== undefined

/** How long a server is away that the test brings back. */
const AWAY_MS = 3000
/** Longer than a call to Temporal is tried by itself (CALL_TIMEOUT_MS of queues/temporal/client.ts): it has to be made again. */
const TEMPORAL_AWAY_MS = 12_000
/** Some fifty lifecycles. */
const A_QUARTER = 0.25

const fails = { failureRate: 0.2 }
const actsThenTimesOut = { actsThenTimesOutRate: 0.3 }
/** Three in eight answers come after CARRIER_TIMEOUT. */
const answersLate: { latencyMs: [number, number] } = { latencyMs: [0, 1600] }
const allThree = { ...fails, ...actsThenTimesOut, ...answersLate }

interface Case extends Fault {
  readonly on: 0 | 1
  readonly needsRedis?: true
  /** What the carrier's journal must hold of its misbehaviour: a case whose carrier behaved shows nothing. */
  readonly seen?: readonly ('failed' | 'repeated')[]
}

/** In pairs that run side by side: the first of each on the one service, the second on the other. */
const FAULTS: readonly Case[] = [
  { on: 0, name: 'worker killed', strike: ({ service }) => killSupervised(service.worker) },
  { on: 1, name: 'Redis killed', strike: ({ servers }) => servers.redis.outage(AWAY_MS), needsRedis: true },
  { on: 0, name: 'API killed', strike: ({ service }) => killSupervised(service.api) },
  { on: 1, name: 'carrier fails 20 % of calls', knobs: fails, share: A_QUARTER, seen: ['failed'] },
  { on: 0, name: 'Temporal killed', strike: ({ servers }) => servers.temporal.outage(TEMPORAL_AWAY_MS) },
  { on: 1, name: 'carrier acts, then times out', knobs: actsThenTimesOut, share: A_QUARTER, seen: ['repeated'] },
  { on: 0, name: 'PostgreSQL killed', strike: ({ servers }) => servers.postgres.outage(AWAY_MS) },
  { on: 1, name: 'carrier answers late', knobs: answersLate, share: A_QUARTER, seen: ['repeated'] },
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
  test(`ends workflows with one effect a ticket: ${fault.name}`, {
    // Its turn may come late: the time is for all of the cases.
    concurrent: true,
    skip: needsRedis && !redis,
    timeout: 3_600_000,
  }, async ({ expect }) => {
    const seen = await inTurn(on, (harness) => play(harness, fault))
    played.push([fault, seen])

    const { middle, report } = seen
    const share = (middle.size - middle.settled) / middle.size
    expect(share).toBeGreaterThanOrEqual(0.3)
    expect(share).toBeLessThanOrEqual(0.75)
    expect(Object.entries(middle.underWay).filter(([, count]) => count === 0)).toEqual([])
    expect(middle.openTickets).toBeGreaterThan(0)
    // No maximum: a run ends a little after its SIM is where it will be, and Temporal lists that later still.
    expect(middle.running / middle.size).toBeGreaterThanOrEqual(0.2)
    expect(misbehaviour.filter((kind) => report[kind] === 0)).toEqual([])
    expect(report.faults).toEqual([])
    expect(report.doubles).toBe(0)
    expect(report.effects).toBe(report.tickets)
  })
}
