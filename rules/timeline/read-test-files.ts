/** Reads test files, and checks them against the rules that they name. Every fault has its place. */

import { didYouMean } from '../../domain/did-you-mean.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { parseBillingCycle } from '../../domain/time/cycle.ts'
import { DURATION_PATTERN, durationMs } from '../../domain/time/duration.ts'
import { factsRead } from '../conditions.ts'
import { type Fact, factsOf } from '../facts.ts'
import { checkShape } from '../load/check-shape.ts'
import { below, FaultList, type Report, type RuleFault, type TextPlace } from '../load/faults.ts'
import { placesIn, readSource } from '../load/read-source.ts'
import type { Rule } from '../rule.ts'
import { BOUNDS } from '../rule-file.ts'
import { checkEvents } from './check-events.ts'
import { checkExpectation } from './check-expectation.ts'
import { readInstant } from './read-instant.ts'
import { isNumeric, readSeries } from './read-series.ts'
import { TENANT } from './subjects-of.ts'
import { isTestFile, TEST_BOUNDS, TestFile, type TimelineTest } from './test-file.ts'

/** A checked test file. */
export interface ReadTests {
  readonly file: string
  readonly rules: readonly Rule[]
  readonly tests: readonly TimelineTest[]
  /** Finds a pointer in the text. */
  readonly placeOf: (pointer: string) => TextPlace | undefined
}

export interface TestFiles {
  /** Files without faults. */
  readonly files: readonly ReadTests[]
  readonly faults: readonly RuleFault[]
}

/** Whether a file is one of tests, by its name. */
export const isTestName = (file: string): boolean => file.endsWith('.test.json')

/** Reads test files. @param rules all rules that they may name */
export async function readTestFiles(sources: readonly RuleSource[], rules: readonly Rule[]): Promise<TestFiles> {
  const faults = new FaultList()
  const files: ReadTests[] = []
  if (sources.length > TEST_BOUNDS.files) {
    faults.of('')('', sources.length, `at most ${TEST_BOUNDS.files} test files`)
    return { files, faults: faults.all }
  }
  for (const source of sources) {
    const before = faults.all.length
    const read = await faults.until(() => readOne(source, rules, faults))
    if (read !== undefined && faults.all.length === before) files.push(read)
  }
  return { files, faults: faults.all }
}

function readOne(source: RuleSource, rules: readonly Rule[], faults: FaultList): ReadTests | undefined {
  const read = readSource(source, faults)
  if (read === undefined) return undefined
  const { file, value, report } = read
  if (!checkShape(TestFile, value, '', report) || !isTestFile(value)) return undefined
  const named = value.rules.flatMap((name, n) => {
    const rule = rules.find((one) => one.name === name)
    const known = rules.map((one) => one.name)
    if (rule === undefined) report(below('/rules', n), name, 'the name of a rule', didYouMean(name, known))
    return rule ?? []
  })
  if (named.length < value.rules.length) return undefined
  for (const [n, test] of value.tests.entries()) checkTest(test, named, below('/tests', n), report)
  return { file, rules: named, tests: value.tests, placeOf: placesIn(source.text) }
}

function checkTest(test: TimelineTest, rules: readonly Rule[], at: string, report: Report): void {
  const isTimed = checkTimes(test, at, report)
  checkNames(test, at, report)
  for (const field of ['usageMB', 'smsCount'] as const) {
    for (const [sim, text] of Object.entries(test[field] ?? {})) {
      const pointer = below(below(at, field), sim)
      if (!Object.hasOwn(test.sims ?? {}, sim))
        report(pointer, sim, 'the name of a SIM of the test', didYouMean(sim, Object.keys(test.sims ?? {})))
      checkSeries(text, pointer, report)
    }
  }
  if (test.facts !== undefined) checkFacts(test, rules, at, report)
  else if (test.sims === undefined && test.pools === undefined)
    report(below(at, 'sims'), undefined, 'SIMs or pools, or the facts of a rule alone')
  checkEvents(test, rules, at, report)
  checkExpectation(test, rules, at, report)
  if (isTimed) checkLength(test, at, report)
}

function checkSeries(text: string, pointer: string, report: Report): void {
  const read = readSeries(text)
  if ('wrong' in read)
    report(
      pointer,
      read.wrong,
      'values such as 10, 10x9, 10+5x4, 10-5x2, _, _x2, with blanks between',
      '10x9 is nine times 10',
    )
}

function checkTimes(test: TimelineTest, at: string, report: Report): boolean {
  const start = Date.parse(test.start)
  const isStart = Number.isFinite(start) && start >= Date.UTC(2000, 0) && start < Date.UTC(2100, 0)
  if (!isStart) report(below(at, 'start'), test.start, 'a day or an instant from 2000 to 2099, such as 2026-11-01')
  const isCycle = test.cycle === undefined || parseBillingCycle(test.cycle) !== undefined
  if (!isCycle)
    report(below(at, 'cycle'), test.cycle, 'a billing cycle: P1M, or whole days, hours or minutes such as PT6H')
  const isStep = isSpan(test.step ?? 'P1D')
  if (!isStep) report(below(at, 'step'), test.step, 'a duration from a second to 366 days, such as PT1H')
  const isEvery = isSpan(test.feed?.every ?? 'P1D')
  if (!isEvery) report(`${at}/feed/every`, test.feed?.every, 'a duration from a second to 366 days, such as PT1H')
  for (const [n, [from, to]] of (test.feed?.away ?? []).entries()) {
    if (readInstant(from).at >= readInstant(to).at)
      report(`${at}/feed/away/${n}`, [from, to], 'an end after the beginning')
  }
  return isStart && isCycle && isStep
}

const isSpan = (text: string): boolean => {
  if (!new RegExp(DURATION_PATTERN).test(text)) return false
  const ms = durationMs(text)
  return ms >= 1000 && ms <= BOUNDS.durationDays * 86_400_000
}

/** Checks that the things named by a test exist, and that names of SIMs and pools differ. */
function checkNames({ tariffs = {}, pools = {}, sims = {} }: TimelineTest, at: string, report: Report): void {
  const known = (name: string | undefined, among: object, pointer: string, what: string) => {
    if (name !== undefined && !Object.hasOwn(among, name))
      report(pointer, name, `the name of a ${what} of the test`, didYouMean(name, Object.keys(among)))
  }
  for (const [name, { tariff }] of Object.entries(pools))
    known(tariff, tariffs, `${below(`${at}/pools`, name)}/tariff`, 'tariff')
  for (const [name, { tariff, pool }] of Object.entries(sims)) {
    const pointer = below(`${at}/sims`, name)
    known(tariff, tariffs, `${pointer}/tariff`, 'tariff')
    known(pool, pools, `${pointer}/pool`, 'pool')
    if (Object.hasOwn(pools, name)) report(pointer, name, 'a name that no pool has')
  }
  for (const [field, names, most] of [
    ['sims', Object.keys(sims), TEST_BOUNDS.sims],
    ['pools', Object.keys(pools), TEST_BOUNDS.pools],
  ] as const) {
    if (names.length > most) report(below(at, field), names.length, `at most ${most} of them`)
    for (const name of names) {
      if (name === TENANT || name === '' || name.length > 40)
        report(below(below(at, field), name), name, 'a name of 1 to 40 characters other than tenant')
    }
  }
}

/** Facts of the clock and the feed, optional for a single rule. */
const BY_ITSELF: readonly string[] = [
  'elapsedPct',
  'cycleHours',
  'daysUntilRenewal',
  'feedAgePct',
  'feedAgeMinutes',
  'feedLimitMinutes',
]

function checkFacts(test: TimelineTest, rules: readonly Rule[], at: string, report: Report): void {
  const [rule, ...others] = rules
  if (rule === undefined || others.length > 0) {
    report(below(at, 'facts'), rules.length, 'facts only for a file of one rule')
    return
  }
  for (const other of ['tariffs', 'pools', 'sims', 'usageMB', 'smsCount'] as const)
    if (test[other] !== undefined) report(below(at, other), other, 'no estate beside facts')
  const facts = factsOf(rule.subject)
  for (const [name, value] of Object.entries(test.facts ?? {})) {
    const pointer = below(below(at, 'facts'), name)
    const fact = facts.get(name)
    if (fact === undefined)
      report(pointer, name, `a fact of the subject ${rule.subject}`, didYouMean(name, facts.keys()))
    else if (typeof value === 'string' && isNumeric(name)) checkSeries(value, pointer, report)
    else if (![value].flat().every((one) => isValueOf(fact, one)))
      report(
        pointer,
        value,
        `${fact.type}${fact.nullable ? ' or null' : ''}, a list of them${isNumeric(name) ? ', or a series such as 10x9' : ''}`,
      )
  }
  for (const name of neededBy(rule)) {
    if (!Object.hasOwn(test.facts ?? {}, name))
      report(below(below(at, 'facts'), name), undefined, `a value for ${name}, which the rule reads`)
  }
}

const neededBy = ({ conditions, clear, event }: Rule): string[] =>
  [...factsRead(conditions), ...(clear === null ? [] : factsRead(clear)), event.params.occurrence ?? ''].filter(
    (name) => name !== '' && !BY_ITSELF.includes(name),
  )

function isValueOf({ type, nullable }: Fact, value: unknown): boolean {
  if (value === null) return nullable
  if (type === 'integer') return Number.isInteger(value)
  return type === 'number' ? Number.isFinite(value) : typeof value === type
}

/** Bounds the length of a test, so that every test ends. */
function checkLength(test: TimelineTest, at: string, report: Report): void {
  const stepMs = durationMs(test.step ?? 'P1D')
  const lengthOf = (text: string) => {
    const read = readSeries(text)
    return 'values' in read ? read.values.length : 0
  }
  const texts = [...Object.values(test.usageMB ?? {}), ...Object.values(test.smsCount ?? {})]
  const lists = Object.values(test.facts ?? {}).map((value) =>
    Array.isArray(value) ? value.length : typeof value === 'string' ? lengthOf(value) : 1,
  )
  const { expect, events = [], feed } = test
  const instants = [
    ...events.map((event) => event.at),
    ...(feed?.away ?? []).flat(),
    ...(expect.alerts ?? []).map(([when]) => when),
    ...(expect.entries ?? []).map((entry) => entry.at),
    ...(expect.mails ?? []).map((mail) => mail.at),
    ...(expect.suspensions ?? []).flatMap(({ from, to }) => (to === undefined ? [from] : [from, to])),
  ].map((text) => readInstant(text).at)
  const ms = Math.max(stepMs * Math.max(0, ...texts.map(lengthOf), ...lists), ...instants)
  const cycle = parseBillingCycle(test.cycle ?? 'P1M')
  const cycleMs = cycle === 'month' || cycle === undefined ? 28 * 86_400_000 : cycle
  if (ms > TEST_BOUNDS.cycles * cycleMs)
    report(at, `${Math.ceil(ms / cycleMs)} billing cycles`, `a timeline of at most ${TEST_BOUNDS.cycles}`)
}
