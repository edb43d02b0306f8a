/** Checks a test against the rules that its file names. Every fault has its place. */
import { didYouMean } from '../../domain/did-you-mean.ts'
import { parseBillingCycle } from '../../domain/time/cycle.ts'
import { durationMs, isDuration } from '../../domain/time/duration.ts'
import { factsReadBy } from '../engine/evaluate-subject.ts'
import { tagPatternsOf } from '../engine/match.ts'
import { factsOf } from '../facts.ts'
import { isValueOf, valueOf } from '../load/check-examples.ts'
import { below, type Report } from '../load/faults.ts'
import type { Rule } from '../rule.ts'
import { BOUNDS } from '../rule-file.ts'
import { nameOfTag, TENANT } from './estate.ts'
import { isNumeric, readInstant, readSeries, valuesOf } from './read-series.ts'
import {
  askedInstants,
  ENTRY_KINDS,
  EVENT_KINDS,
  type EventKind,
  TEST_BOUNDS,
  type TimelineEvent,
  type TimelineTest,
} from './test-file.ts'

/** A test to check. Places are JSON pointers below it. */
interface Checking {
  readonly test: TimelineTest
  /** Those that its file names. */
  readonly rules: readonly Rule[]
  readonly report: Report
  /** Reports a name that is none of some; undefined: there is no name. */
  readonly checkName: (pointer: string, name: string | undefined, names: readonly string[], what: string) => void
}

const A_RULE = 'the name of a rule of the file'
const A_SIM = 'the name of a SIM of the test'
const A_SUBJECT = 'the name of a SIM or pool of the test, or tenant'

/** @param at JSON pointer to the test */
export function checkTest(test: TimelineTest, rules: readonly Rule[], at: string, reportInFile: Report): void {
  const report: Report = (pointer, got, expected, hint) => reportInFile(`${at}${pointer}`, got, expected, hint)
  const checking: Checking = {
    test,
    rules,
    report,
    checkName: (pointer, name, names, what) => {
      if (name !== undefined && !names.includes(name)) report(pointer, name, what, didYouMean(name, names))
    },
  }
  const isTimed = checkTimes(checking)
  checkNames(checking)
  for (const field of ['usageMB', 'smsCount'] as const) {
    for (const [sim, text] of Object.entries(test[field] ?? {})) {
      const pointer = below(`/${field}`, sim)
      checking.checkName(pointer, sim, Object.keys(test.sims ?? {}), A_SIM)
      checkSeries(text, pointer, report)
    }
  }
  if (test.facts !== undefined) checkFacts(checking)
  else if (test.sims === undefined && test.pools === undefined)
    report('/sims', undefined, 'SIMs or pools, or the facts of a rule alone')
  for (const [n, event] of (test.events ?? []).entries()) checkEvent(event, `/events/${n}`, checking)
  checkExpectation(checking)
  if (isTimed) checkLength(checking)
}

function checkSeries(text: string, pointer: string, report: Report): void {
  const read = readSeries(text)
  const expected = 'values such as 10, 10x9, 10+5x4, 10-5x2, _, _x2, with blanks between'
  if ('wrong' in read) report(pointer, read.wrong, expected, '10x9 is nine times 10')
}

function checkTimes({ test, report }: Checking): boolean {
  const start = Date.parse(test.start)
  const isStart = Number.isFinite(start) && start >= Date.UTC(2000, 0) && start < Date.UTC(2100, 0)
  if (!isStart) report('/start', test.start, 'a day or an instant from 2000 to 2099, such as 2026-11-01')
  const isCycle = test.cycle === undefined || parseBillingCycle(test.cycle) !== undefined
  if (!isCycle) report('/cycle', test.cycle, 'a billing cycle: P1M, or whole days, hours or minutes such as PT6H')
  const isStep = isSpan(test.step ?? 'P1D')
  const span = 'a duration from a second to 366 days, such as PT1H'
  if (!isStep) report('/step', test.step, span)
  if (!isSpan(test.feed?.every ?? 'P1D')) report('/feed/every', test.feed?.every, span)
  for (const [n, [from, to]] of (test.feed?.away ?? []).entries()) {
    if (readInstant(from).at >= readInstant(to).at) report(`/feed/away/${n}`, [from, to], 'an end after the beginning')
  }
  return isStart && isCycle && isStep
}

const isSpan = (text: string): boolean => {
  if (!isDuration(text)) return false
  const ms = durationMs(text)
  return ms >= 1000 && ms <= BOUNDS.durationDays * 86_400_000
}

/** Checks that the things named by a test exist, and that names of SIMs and pools differ. */
function checkNames({ test: { tariffs = {}, pools = {}, sims = {} }, report, checkName }: Checking): void {
  const checkTariff = (pointer: string, name: string | undefined) =>
    checkName(`${pointer}/tariff`, name, Object.keys(tariffs), 'the name of a tariff of the test')
  for (const [name, { tariff }] of Object.entries(pools)) checkTariff(below('/pools', name), tariff)
  for (const [name, { tariff, pool }] of Object.entries(sims)) {
    const pointer = below('/sims', name)
    checkTariff(pointer, tariff)
    checkName(`${pointer}/pool`, pool, Object.keys(pools), 'the name of a pool of the test')
    if (Object.hasOwn(pools, name)) report(pointer, name, 'a name that no pool has')
  }
  for (const [field, names] of Object.entries({ sims: Object.keys(sims), pools: Object.keys(pools) })) {
    const most = field === 'sims' ? TEST_BOUNDS.sims : TEST_BOUNDS.pools
    if (names.length > most) report(`/${field}`, names.length, `at most ${most} of them`)
    for (const name of names) {
      if (name === TENANT || name === '' || name.length > 40)
        report(below(`/${field}`, name), name, 'a name of 1 to 40 characters other than tenant')
    }
  }
}

/** Facts of the clock and the feed, optional for a single rule. */
const BY_ITSELF: readonly string[] = [
  'elapsedPct',
  'cycleHours',
  'daysUntilRenewal',
  'hoursUntilRenewal',
  'hourOfDay',
  'dayOfWeek',
  'currency',
  'feedAgePct',
  'feedAgeMinutes',
  'feedLimitMinutes',
]

function checkFacts({ test, rules, report }: Checking): void {
  const [rule, ...others] = rules
  if (rule === undefined || others.length > 0) {
    report('/facts', rules.length, 'facts only for a file of one rule')
    return
  }
  for (const other of ['tariffs', 'pools', 'sims', 'usageMB', 'smsCount'] as const)
    if (test[other] !== undefined) report(`/${other}`, other, 'no estate beside facts')
  const facts = factsOf(rule.subject)
  for (const [name, value] of Object.entries(test.facts ?? {})) {
    const pointer = below('/facts', name)
    const fact = facts.get(name)
    if (fact === undefined)
      report(pointer, name, `a fact of the subject ${rule.subject}`, didYouMean(name, facts.keys()))
    else if (typeof value === 'string' && isNumeric(name)) checkSeries(value, pointer, report)
    else if (![value].flat().every((one) => isValueOf(fact, one))) {
      const series = isNumeric(name) ? ', or a series such as 10x9' : ''
      report(pointer, value, `${valueOf(fact)}, a list of them${series}`)
    }
  }
  for (const name of factsReadBy(rule)) {
    if (!BY_ITSELF.includes(name) && !Object.hasOwn(test.facts ?? {}, name))
      report(below('/facts', name), undefined, `a value for ${name}, which the rule reads`)
  }
}

const KINDS = ['set', 'correct', 'use', 'device', 'found', 'stage', 'tickets'] as const satisfies readonly EventKind[]

/** Checks that an event has one kind, and that its subject exists. */
function checkEvent(event: TimelineEvent, pointer: string, { test, rules, report, checkName }: Checking): void {
  const [kind, ...others] = KINDS.filter((each) => event[each] !== undefined)
  if (kind === undefined || others.length > 0) {
    report(pointer, Object.keys(event).join(', '), `exactly one of ${KINDS.join(', ')}`)
    return
  }
  const fields: readonly string[] = EVENT_KINDS[kind]
  const given = Object.keys(event).filter((field) => field !== 'at' && field !== kind)
  const expected = `beside ${kind} ${fields.length === 0 ? 'nothing' : `one of ${fields.join(', ')}`}`
  for (const field of given.filter((each) => !fields.includes(each))) report(`${pointer}/${field}`, field, expected)
  if (fields.length > 0 && given.length === 0) report(`${pointer}/${fields[0]}`, undefined, expected)
  if (kind === 'tickets') return
  const [sims, pools] = [Object.keys(test.sims ?? {}), Object.keys(test.pools ?? {})]
  const names = kind === 'stage' ? rules.map(({ name }) => name) : kind === 'set' ? [...sims, ...pools] : sims
  const what = kind === 'stage' ? A_RULE : kind === 'set' ? 'the name of a SIM or pool of the test' : A_SIM
  checkName(`${pointer}/${kind}`, event[kind], names, what)
  const isPool = kind === 'set' && pools.includes(event.set ?? '')
  for (const field of ['exempt', 'status'] as const)
    if (isPool && event[field] !== undefined) report(`${pointer}/${field}`, field, 'a setting that pools have')
}

/** Name of the only subject of a test with facts. */
const nameAlone = ({ subject, match }: Rule): string => (subject === 'tag' ? nameOfTag(match.tag ?? '') : subject)

/** Checks that the rules, subjects and SIMs of the expectation exist. */
function checkExpectation({ test, rules, report, checkName }: Checking): void {
  const { alerts = [], entries = [], suspensions = [] } = test.expect
  const ruleNames = rules.map(({ name }) => name)
  const ownSims = Object.keys(test.sims ?? {})
  const alone = test.facts === undefined ? undefined : rules.slice(0, 1).map(nameAlone)
  const tags = tagPatternsOf(rules).map(nameOfTag)
  const subjects = alone ?? [...ownSims, ...Object.keys(test.pools ?? {}), TENANT, ...tags]
  const sims = alone ?? ownSims
  for (const [n, [, subject, , rule]] of alerts.entries()) {
    checkName(`/expect/alerts/${n}/1`, subject, subjects, A_SUBJECT)
    checkName(`/expect/alerts/${n}/3`, rule, ruleNames, A_RULE)
  }
  for (const [n, entry] of entries.entries()) {
    const pointer = `/expect/entries/${n}`
    const [kind, ...others] = ENTRY_KINDS.filter((each) => entry[each] !== undefined)
    if (kind === undefined || others.length > 0) {
      report(pointer, Object.keys(entry).join(', '), `exactly one of ${ENTRY_KINDS.join(', ')}`)
      continue
    }
    if (kind === 'wouldSuspend') checkName(`${pointer}/${kind}`, entry[kind], sims, A_SIM)
    else checkName(`${pointer}/${kind}`, entry[kind], ruleNames, A_RULE)
    checkName(`${pointer}/subject`, entry.subject, subjects, A_SUBJECT)
  }
  for (const [n, { sim }] of suspensions.entries()) checkName(`/expect/suspensions/${n}/sim`, sim, sims, A_SIM)
}

/** Bounds the length of a test, so that every test ends. */
function checkLength({ test, report }: Checking): void {
  const lengths = [
    ...[...Object.values(test.usageMB ?? {}), ...Object.values(test.smsCount ?? {})].map(
      (text) => valuesOf(text).length,
    ),
    ...Object.values(test.facts ?? {}).map((value) =>
      Array.isArray(value) ? value.length : typeof value === 'string' ? valuesOf(value).length : 1,
    ),
  ]
  const named = [...(test.events ?? []).map((event) => event.at), ...(test.feed?.away ?? []).flat()]
  const instants = [...named.map((text) => readInstant(text).at), ...askedInstants(test.expect)]
  const ms = Math.max(durationMs(test.step ?? 'P1D') * Math.max(0, ...lengths), ...instants)
  const cycle = parseBillingCycle(test.cycle ?? 'P1M')
  const cycleMs = cycle === 'month' || cycle === undefined ? 28 * 86_400_000 : cycle
  if (ms > TEST_BOUNDS.cycles * cycleMs)
    report('', `${Math.ceil(ms / cycleMs)} billing cycles`, `a timeline of at most ${TEST_BOUNDS.cycles}`)
}
