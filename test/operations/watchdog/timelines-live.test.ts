/** A timeline and the same time through PostgreSQL agree: those of the shipped rules are lived by the service's own operations. */
import { expect, test } from 'vitest'
import { readRuleFolder } from '../../../process/rule-files.ts'
import { loadRuleSet } from '../../../rules/load/load.ts'
import { Coverage } from '../../../rules/timeline/coverage.ts'
import { type Played, play } from '../../../rules/timeline/play.ts'
import { readTestFiles } from '../../../rules/timeline/read.ts'
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

test.each(timelines)('%s', { timeout: 300_000 }, async (_, timeline, named) => {
  const played = await play(timeline, named, new Coverage(named))
  const files = shipped.rules.filter(({ file }) => named.some((rule) => rule.file === file))
  const lived = await livedTimeline(timeline, files, played.endsAt)

  expect(byTime(lived.entries.map((one) => ({ ...one, at: minute(one.at) })))).toEqual(byTime(entriesOf(played)))
  expect(lived.suspensions.map(toMinutes)).toEqual(played.suspensions.map(toMinutes))
})

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

const entriesOf = ({ entries }: Played) =>
  entries.map(({ at, kind, rule, subject, level }) => ({ at: minute(at), kind, rule, subject, level }))
