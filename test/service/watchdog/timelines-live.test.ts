/** A timeline and the same time through PostgreSQL agree: those of the shipped rules, and one of SIMs in stock. */
import { expect, test } from 'vitest'
import { cycleAt } from '../../../domain/time/cycle.ts'
import { readRuleFolder } from '../../../process/rule-files.ts'
import { LOOKS_PER_CYCLE } from '../../../rules/compile/flip.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import { Coverage } from '../../../rules/timeline/coverage.ts'
import { type PlayResult, play } from '../../../rules/timeline/play.ts'
import { readTestFiles } from '../../../rules/timeline/read-test-files.ts'
import type { TimelineTest } from '../../../rules/timeline/test-file.ts'
import { aFile, examplesOf, leaf, ruleAboutSims } from '../../unit/rules/samples.ts'
import { livedTimeline } from './timeline-month.ts'

const MINUTE = 60_000
const shipped = await readRuleFolder('')
const { rules } = await loadRuleSet(shipped.rules)
const timelines = (await readTestFiles(shipped.tests, rules)).files.flatMap(({ file, rules: named, tests }) =>
  tests
    // A rule that is given facts has no estate, and a change of device is no record of a timeline.
    .filter(({ facts, events = [] }) => facts === undefined && events.every(({ device }) => device === undefined))
    .map((one) => [`${file}: ${one.title}`, one, named] as const),
)

/** To the minute: a sweep looks a moment later. */
const minute = (at: number): number => Math.floor(at / MINUTE)
const byTime = <T extends { readonly at: number }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => a.at - b.at || JSON.stringify(a).localeCompare(JSON.stringify(b)))

test.each(timelines)('%s', { timeout: 900_000 }, async (_, timeline, named) => {
  const played = await play(timeline, named, new Coverage(named))
  const files = shipped.rules.filter(({ file }) => named.some((rule) => rule.file === file))
  const lived = await livedTimeline(timeline, files, played.endsAt)

  const entries = lived.entries.map((one) => ({ ...one, at: minute(one.at) }))
  expect(byTime(lookedAt(entries, timeline, entriesOf(played)))).toEqual(byTime(entriesOf(played)))
  expect(lived.suspensions.map(toMinutes)).toEqual(played.suspensions.map(toMinutes))
})

const inStock = { status: ['Unprovisioned'] }
const ofStock = [
  ruleAboutSims('aged', inStock, ['statusAgeHours', 'greaterThan', 1], [2, 1]),
  ruleAboutSims('used-in-stock', inStock, ['usageMB', 'greaterThan', 5], [6, 5]),
  ruleAboutSims('used', {}, ['usageMB', 'greaterThan', 15], [16, 15], { once: 'cycle' }),
  aFile(
    {
      name: 'pool-used',
      conditions: { all: [leaf('usageMB', 'greaterThan', 25), leaf('totalSimCount', 'equal', 1)] },
      examples: examplesOf({ usageMB: 26, totalSimCount: 1 }, { usageMB: 25, totalSimCount: 1 }),
    },
    { message: 'Pool {{poolName}}: {{usageMB}}' },
  ),
]

test('SIMs that leave stock, and return', { timeout: 900_000 }, async () => {
  const loaded = await loadRuleSet(ofStock)
  const timeline: TimelineTest = {
    title: 'stock',
    start: '2026-11-01',
    cycle: 'PT6H',
    step: 'PT20M',
    tariffs: { shared: { type: 'Dynamic Pool', allowanceMB: 100 }, flat: { type: 'Standard', allowanceMB: 100 } },
    pools: { meters: { tariff: 'shared' } },
    sims: {
      a: { pool: 'meters', status: 'Unprovisioned' },
      b: { pool: 'meters' },
      c: { tariff: 'flat', status: 'Unprovisioned' },
    },
    feed: { every: 'PT1H' },
    usageMB: { b: '10x4' },
    events: [
      { at: '+1h10m', set: 'b', status: 'Unprovisioned' },
      { at: '+1h20m', set: 'a', status: 'Active' },
      { at: '+1h30m', use: 'b', MB: 7 },
      { at: '+1h40m', use: 'c', MB: 7 },
      { at: '+2h', set: 'c', status: 'Suspended' },
      { at: '+2h5m', set: 'a', status: 'Unprovisioned' },
    ],
    expect: {},
  }
  const played = await play(timeline, loaded.rules, new Coverage(loaded.rules))
  const lived = await livedTimeline(timeline, ofStock, played.endsAt)

  expect(played.entries.length).toBeGreaterThan(5)
  expect(byTime(lived.entries.map((one) => ({ ...one, at: minute(one.at) })))).toEqual(byTime(entriesOf(played)))
})

/**
 * Entries as of the instant that a timeline has for them. Tickets do not mark a tenant due, so the service may notice them
 * one of its 720 looks in a cycle later: within that, the timeline's instant is theirs.
 */
function lookedAt<T extends { readonly at: number; readonly kind: string }>(
  entries: readonly T[],
  { events = [], start, cycle }: TimelineTest,
  expected: readonly { readonly at: number; readonly kind: string }[],
): T[] {
  if (events.every(({ tickets }) => tickets === undefined)) return [...entries]
  const { startsAt, endsAt } = cycleAt(cycle ?? 'P1M', Date.parse(start) + 31 * 24 * 60 * MINUTE)
  const look = Math.ceil((endsAt - startsAt) / LOOKS_PER_CYCLE / MINUTE)
  return entries.map((one) => {
    const due = expected.find(({ at, kind }) => kind === one.kind && one.at >= at && one.at - at <= look)
    return due === undefined ? one : { ...one, at: due.at }
  })
}

interface Suspended {
  readonly sim: string
  readonly rule: string
  readonly from: number
  readonly to: number | null
}
const toMinutes = ({ sim, rule, from, to }: Suspended) => ({
  sim,
  rule,
  from: minute(from),
  to: to === null ? null : minute(to),
})

const entriesOf = ({ entries }: PlayResult) =>
  entries.map(({ at, kind, rule, subject, level }) => ({ at: minute(at), kind, rule, subject, level }))
