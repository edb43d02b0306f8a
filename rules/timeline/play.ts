/** Plays a timeline: applies usage and events in their time, and evaluates the rules at each possible change. */
import { SimStatus, WatchdogMode } from '../../domain/codes.ts'
import { cycleAt, nextCycle } from '../../domain/time/cycle.ts'
import { durationMs } from '../../domain/time/duration.ts'
import { feedAt } from '../../domain/usage/feed.ts'
import type { FactValue } from '../../domain/watchdog/fact-value.ts'
import { tagPatternsOf } from '../engine/match.ts'
import type { Facts } from '../facts.ts'
import { momentOf } from '../facts-of.ts'
import type { Rule } from '../rule.ts'
import type { Coverage } from './coverage.ts'
import { Enforcement, type TimelineSuspension, type WouldSuspension } from './enforcement.ts'
import {
  beginCycle,
  type Estate,
  estateOf,
  feedOf,
  findAt,
  receive,
  subjectsOf,
  TENANT,
  type TimelineSim,
  usedBytes,
} from './estate.ts'
import { isNumeric, readInstant, valuesOf } from './read-series.ts'
import { askedInstants, TEST_BOUNDS, type TimelineEvent, type TimelineTest } from './test-file.ts'
import { type PhaseChange, type TimelineNotice, type TimelineTelling, Watch } from './watch.ts'

/** The reactions of the rules. Instants are epoch milliseconds. */
export interface PlayResult {
  readonly startsAt: number
  readonly endsAt: number
  readonly billingCycle: string
  readonly entries: readonly TimelineTelling[]
  readonly notices: readonly TimelineNotice[]
  readonly phases: readonly PhaseChange[]
  readonly suspensions: readonly TimelineSuspension[]
  readonly would: readonly WouldSuspension[]
  readonly evaluations: number
  /** It was ended, because it took more evaluations than a test may. */
  readonly isCutOff: boolean
}

type Action = () => void

/** Events by their instant. */
class Agenda {
  readonly #actions = new Map<number, Action[]>()

  add(at: number, action: Action): void {
    const known = this.#actions.get(at)
    if (known === undefined) this.#actions.set(at, [action])
    else known.push(action)
  }

  get instants(): number[] {
    return [...this.#actions.keys()].toSorted((a, b) => a - b)
  }

  runAt(at: number): void {
    for (const action of this.#actions.get(at) ?? []) action()
  }
}

/** Replaces the usage of an estate for a single rule with given facts. */
interface GivenFacts {
  facts: Record<string, FactValue>
}

/** @param rules those that the test is about; the test was checked against them */
export async function play(test: TimelineTest, rules: readonly Rule[], coverage: Coverage): Promise<PlayResult> {
  const startsAt = Date.parse(test.start)
  const stepMs = durationMs(test.step ?? 'P1D')
  const [alone] = test.facts === undefined ? [] : rules
  const estate = estateOf(alone === undefined ? test : around(test, alone), startsAt)
  const watch = new Watch(rules, coverage, alone !== undefined)
  const enforcement = new Enforcement(estate)
  const agenda = new Agenda()
  const given: GivenFacts = { facts: {} }
  const late = new Set<number>()
  const arrival = arrivalOf(test, startsAt)
  const { billingCycle } = estate
  const tags = tagPatternsOf(rules)
  const isLate = (at: number, now: number) => at < cycleAt(billingCycle, now).startsAt

  const record = (sim: TimelineSim, at: number, { MB = 0, sms = 0, sessions = 0 }: Used) => {
    const now = arrival(at)
    agenda.add(now, () => {
      receive(estate, sim, { at, bytes: usedBytes(MB), sms, sessions }, now)
      if (isLate(at, now)) late.add(at)
    })
  }
  const steps = planSteps(test, startsAt, stepMs, { estate, record, given, agenda, arrival })
  const cycleNow = () => cycleAt(billingCycle, now)
  for (const event of test.events ?? []) {
    const at = startsAt + readInstant(event.at).at
    const sim = estate.sims.find(({ name }) => name === (event.use ?? event.correct))
    if (sim !== undefined) record(sim, at, event)
    else agenda.add(at, () => happen(event))
  }
  const told = [...agenda.instants, ...askedInstants(test.expect).map((ms) => startsAt + ms)]
  const endsAt = Math.max(startsAt + steps * stepMs, ...told.map((at) => at + stepMs))

  let now = startsAt
  function happen(event: TimelineEvent): void {
    const { stage, to, tickets } = event
    if (stage !== undefined && to !== undefined) watch.setStage(stage, to)
    if (tickets !== undefined) estate.tickets.push({ at: now, ...tickets })
    const device = estate.sims.find(({ name }) => name === event.device)
    if (device !== undefined) {
      device.devices += 1
      device.deviceChangedAt = now
    }
    const found = estate.sims.find(({ name }) => name === event.found)
    if (found !== undefined) findAt(found, event, now)
    for (const one of [...estate.sims, ...estate.pools].filter(({ name }) => name === event.set)) {
      if (event.mode !== undefined) one.watchdogMode = WatchdogMode[event.mode]
      if (event.warningThresholdPct !== undefined) one.warningThresholdPct = event.warningThresholdPct
      if (event.enableBurnRateAlerts !== undefined) one.enableBurnRateAlerts = event.enableBurnRateAlerts
      if (!('status' in one)) continue
      if (event.exempt !== undefined) one.exempt = event.exempt
      if (event.status !== undefined) enforcement.byPerson(one, SimStatus[event.status], now, cycleNow())
    }
  }

  /** @returns when time alone may change something */
  async function evaluateAll(inCycle = cycleNow()): Promise<number> {
    const around = { billingCycle, timeZone: 'UTC', currency: 'EUR', feedTimes: feedOf(estate) }
    const moment = momentOf({ at: now, cycle: inCycle, ...around })
    let nextAt = Number.POSITIVE_INFINITY
    const when = { at: now, cycle: inCycle, staleSince: moment.feed.staleSince }
    let hasChanged = enforcement.suspendDue(when)
    for (const subject of subjectsOf(estate, moment, tags)) {
      if (alone !== undefined && subject.kind !== alone.subject) continue
      const facts: Facts = alone === undefined ? subject.facts : { ...subject.facts, ...given.facts }
      const evaluated = await watch.evaluate(subject, facts, moment)
      nextAt = Math.min(nextAt, evaluated.nextAt)
      for (const wish of evaluated.wishes) if (enforcement.wish(wish, when)) hasChanged = true
    }
    // Tickets complete at once: the subjects that they change are evaluated in the same instant.
    return hasChanged && watch.evaluations < TEST_BOUNDS.evaluations
      ? Math.min(nextAt, await evaluateAll(inCycle))
      : nextAt
  }

  let cycle = cycleNow()
  let instants = agenda.instants
  while (now < endsAt && watch.evaluations < TEST_BOUNDS.evaluations) {
    if (now >= cycle.endsAt) {
      cycle = nextCycle(billingCycle, cycle)
      enforcement.renew(now, cycle)
      beginCycle(estate, cycle)
    }
    late.clear()
    agenda.runAt(now)
    for (const key of new Set([...late].map((at) => cycleAt(billingCycle, at)))) await evaluateAll(key)
    const next = await evaluateAll()
    const stale = staleAt(estate, now, cycle)
    instants = instants.filter((at) => at > now)
    now = Math.min(next, cycle.endsAt, instants[0] ?? endsAt, stale, enforcement.nextAt ?? endsAt, endsAt)
  }
  const { suspensions, would } = enforcement
  const { entries, notices, phases, evaluations } = watch
  const effects = { entries, notices, phases, suspensions, would }
  return { startsAt, endsAt, billingCycle, ...effects, evaluations, isCutOff: now < endsAt }
}

/** When the feed becomes stale if nothing comes; never if it is. */
function staleAt(estate: Estate, now: number, cycle: ReturnType<typeof cycleAt>): number {
  const { ageMs, limitMs } = feedAt(feedOf(estate), cycle, now)
  return ageMs === null || ageMs >= limitMs ? Number.POSITIVE_INFINITY : now + limitMs - ageMs
}

/** The estate of a rule with given facts: one subject of its kind. */
function around(test: TimelineTest, { subject }: Rule): TimelineTest {
  const { mode = 'Enforce', ...rest } = test
  const tariffs = { any: { type: 'Standard' as const, allowanceMB: 0 } }
  if (subject === 'pool') return { ...rest, tariffs, pools: { pool: { tariff: 'any', mode } } }
  return { ...rest, tariffs, sims: { [subject === 'sim' ? 'sim' : TENANT]: { tariff: 'any', mode } } }
}

/** When a record is received: at once, or when the feed is back. */
function arrivalOf({ feed }: TimelineTest, startsAt: number): (at: number) => number {
  const away = (feed?.away ?? []).map(([from, to]) =>
    [readInstant(from).at, readInstant(to).at].map((ms) => startsAt + ms),
  )
  return (at) => {
    const found = away.find(([from = 0, to = 0]) => at >= from && at < to)
    return found?.[1] ?? at
  }
}

type Used = Pick<TimelineEvent, 'MB' | 'sms' | 'sessions'>

interface Planning {
  readonly estate: Estate
  readonly record: (sim: TimelineSim, at: number, used: Used) => void
  readonly given: GivenFacts
  readonly agenda: Agenda
  readonly arrival: (at: number) => number
}

/** Plans the values of all series. @returns how many steps the longest has */
function planSteps(test: TimelineTest, startsAt: number, stepMs: number, planning: Planning): number {
  const { estate, record, given, agenda, arrival } = planning
  let steps = 0
  for (const sim of estate.sims) {
    const usage = valuesOf(ownOf(test.usageMB, sim.name) ?? '_')
    const messages = valuesOf(ownOf(test.smsCount, sim.name) ?? '_')
    const length = Math.max(usage.length, messages.length)
    steps = Math.max(steps, length)
    for (let n = 0; n < length; n += 1) {
      const [MB, sms] = [usage[n] ?? null, messages[n] ?? null]
      if (MB !== null || sms !== null) record(sim, startsAt + n * stepMs, { MB: MB ?? 0, sms: sms ?? 0 })
    }
  }
  const series = Object.entries(test.facts ?? {}).map(([name, value]) => ({ name, values: factValues(name, value) }))
  const length = Math.max(0, ...series.map(({ values }) => values.length))
  for (let n = 0; n < length; n += 1) {
    const at = startsAt + n * stepMs
    // Without any value nothing is received.
    const isReceived = !series.some(({ values }) => values[n] === NOTHING)
    agenda.add(arrival(at), () => {
      for (const { name, values } of series) {
        const value = n < values.length ? values[n] : undefined
        if (value !== undefined && value !== NOTHING) given.facts[name] = value
      }
      if (isReceived) {
        estate.receivedAt = arrival(at)
        estate.newestAt = at
      }
    })
  }
  return Math.max(steps, length)
}

const ownOf = <T>(values: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined

/** No value in this step. */
const NOTHING = Symbol('no value')

/** The values of a fact, a value a step. A number may be given as a series. */
function factValues(name: string, value: NonNullable<TimelineTest['facts']>[string]): (FactValue | typeof NOTHING)[] {
  if (Array.isArray(value)) return value
  if (typeof value !== 'string' || !isNumeric(name)) return [value]
  return valuesOf(value).map((each) => each ?? NOTHING)
}
