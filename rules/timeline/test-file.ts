/** Schema of a test file: what happens to a small estate in the course of time, and what its rules are expected to do. */
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { SimStatus, TariffType, WatchdogMode } from '../../domain/codes.ts'
import { strictObject } from '../../domain/schema.ts'
import { UsageRecord } from '../../domain/usage/usage-record.ts'
import { labels, oneOf, STAGES } from '../rule-file.ts'
import { INSTANT_PATTERN, MOST_CHARS, MOST_STEPS, readInstant } from './read-series.ts'

const RuleName = Type.String({ minLength: 1, maxLength: 60, description: 'Name of a rule' })
const Name = (of: string) =>
  Type.String({ minLength: 1, maxLength: 40, description: `Name of ${of}, 1 to 40 characters` })
const At = Type.String({ pattern: INSTANT_PATTERN, description: 'When, after the start, such as +14d12h' })
const MB = (what: string) => Type.Number({ minimum: -1e9, maximum: 1e9, description: `${what}, in MB` })
const Count = (what: string) => Type.Integer({ minimum: 0, maximum: 1e6, description: `${what}, 0 to 1,000,000` })
const Text = (what: string) =>
  Type.String({ minLength: 1, maxLength: 200, description: `${what}, 1 to 200 characters` })
const Series = Type.String({
  minLength: 1,
  maxLength: MOST_CHARS,
  description: `A value a step, such as 10x9 _x2 10+5x4, at most ${MOST_STEPS}: 10x9 is nine times 10, 10+5x4 is 10, 15, 20, 25, _ is none`,
})
const named = <T extends Type.TSchema>(schema: T, description: string) =>
  Type.Record(Type.String({ minLength: 1, maxLength: 40 }), schema, { description })

const settings = {
  mode: Type.Optional(oneOf(labels(WatchdogMode), 'Watchdog mode')),
  warningThresholdPct: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Threshold, 1 to 100' })),
  enableBurnRateAlerts: Type.Optional(Type.Boolean({ description: 'Whether burn rate alerts are wanted' })),
}

const Fee = (description: string) => Type.Optional(Type.Number({ minimum: 0, maximum: 1_000_000, description }))
const Tariff = strictObject(
  {
    type: oneOf(labels(TariffType), 'Type of the tariff'),
    allowanceMB: Type.Number({
      minimum: 0,
      maximum: 1e9,
      description: 'Allowance in MB: of a SIM, or of a Fixed Pool',
    }),
    simMonthlyFee: Fee('Monthly fee of a SIM'),
    smsFee: Fee('Fee of a message'),
    overageFeePerGb: Fee('Fee of a GB of overage'),
  },
  { description: 'A tariff: type, allowance, and fees, if there are any' },
)
const Pool = strictObject({ tariff: Name('a tariff'), ...settings }, { description: 'A pool: its tariff and settings' })
const Sim = strictObject(
  {
    tariff: Type.Optional(Name('its own tariff')),
    pool: Type.Optional(Name('its pool')),
    tag: Type.Optional(Type.String({ maxLength: 128, description: 'Its tag, at most 128 characters' })),
    exempt: Type.Optional(Type.Boolean({ description: 'Whether the watchdog is off for it' })),
    status: Type.Optional(oneOf(labels(SimStatus), 'Its status at the start; Suspended: by a person')),
    ...settings,
  },
  { description: 'A SIM: its pool or tariff, once it is provisioned, and settings of its own' },
)

/** An event at an instant. Its field gives its kind. */
const Event = strictObject(
  {
    at: At,
    set: Type.Optional(Name('a SIM or a pool whose settings change')),
    ...settings,
    exempt: Type.Optional(Type.Boolean({ description: 'With `set`: whether the watchdog is off for the SIM' })),
    status: Type.Optional(oneOf(labels(SimStatus), 'With `set`: the status that a person gives the SIM')),
    correct: Type.Optional(Name('a SIM whose usage is corrected by MB')),
    use: Type.Optional(Name('a SIM that uses MB, sends messages, or begins data sessions')),
    MB: Type.Optional(MB('With `correct` or `use`: how much')),
    sms: Type.Optional(Count('With `use`: messages')),
    sessions: Type.Optional(Count('With `use`: data sessions begun')),
    device: Type.Optional(Name('a SIM that is found in another device')),
    found: Type.Optional(Name('a SIM that is found in a country, or on a network')),
    country: UsageRecord.properties.country,
    mccMnc: UsageRecord.properties.mccMnc,
    rat: UsageRecord.properties.rat,
    stage: Type.Optional(RuleName),
    to: Type.Optional(oneOf(STAGES, 'With `stage`: the stage that the rule gets')),
    tickets: Type.Optional(
      strictObject(
        { done: Count('Tickets done'), failed: Count('Tickets failed') },
        { description: 'Tickets that end' },
      ),
    ),
  },
  { description: 'What happens at an instant: set, correct, use, device, found, stage or tickets' },
)
export type TimelineEvent = Static<typeof Event>
/** The fields of events: an event has exactly one, each with its companion fields. */
export const EVENT_KINDS = {
  set: ['mode', 'warningThresholdPct', 'enableBurnRateAlerts', 'exempt', 'status'],
  correct: ['MB'],
  use: ['MB', 'sms', 'sessions'],
  device: [],
  found: ['country', 'mccMnc', 'rat'],
  stage: ['to'],
  tickets: [],
} as const satisfies Partial<Record<keyof TimelineEvent, readonly (keyof TimelineEvent)[]>>
export type EventKind = keyof typeof EVENT_KINDS

const Feed = strictObject(
  {
    every: Type.Optional(
      Type.String({ maxLength: 20, description: 'How often usage is received, such as PT1H; left out: P1D' }),
    ),
    away: Type.Optional(
      Type.Array(Type.Tuple([At, At]), {
        maxItems: 20,
        description: 'From when to when nothing is received; its records arrive at the end. At most 20',
      }),
    ),
  },
  { description: 'How usage is received' },
)

const PHASES = ['inactive', 'pending', 'firing', 'recovering', 'resolved'] as const
const AlertAt = Type.Union(
  [
    Type.Tuple([At, Name('a subject'), oneOf(PHASES, 'Phase')]),
    Type.Tuple([At, Name('a subject'), oneOf(PHASES, 'Phase'), RuleName]),
  ],
  { description: 'When, name of SIM or pool (or "tenant"), phase; of several rules the rule too' },
)
const TELLINGS = ['fired', 'resolved', 'withdrawn'] as const
const Entry = strictObject(
  {
    at: At,
    fired: Type.Optional(RuleName),
    resolved: Type.Optional(RuleName),
    withdrawn: Type.Optional(RuleName),
    wouldSuspend: Type.Optional(Name('the SIM that would have been suspended')),
    subject: Type.Optional(Name('the SIM or pool that it is about, or "tenant"')),
    level: Type.Optional(oneOf(['Info', 'Warning', 'Critical'], 'Level')),
    says: Type.Optional(Text('What its message contains')),
  },
  { description: 'An entry of the log: when, and fired, resolved, withdrawn or wouldSuspend' },
)
export type ExpectedEntry = Static<typeof Entry>
export const ENTRY_KINDS = [...TELLINGS, 'wouldSuspend'] as const

const Expect = strictObject(
  {
    alerts: Type.Optional(Type.Array(AlertAt, { maxItems: 200, description: 'Alerts at instants, at most 200' })),
    entries: Type.Optional(Type.Array(Entry, { maxItems: 500, description: 'All entries of the log, at most 500' })),
    mails: Type.Optional(
      Type.Array(
        strictObject(
          {
            at: At,
            notices: Type.Integer({
              minimum: 1,
              maximum: 10_000,
              description: 'How many notices of alerts, from 1 on',
            }),
          },
          { description: 'Notices that are mailed at a time' },
        ),
        { maxItems: 200, description: 'All notices that are mailed, at most 200' },
      ),
    ),
    suspensions: Type.Optional(
      Type.Array(
        strictObject(
          { sim: Name('the SIM'), from: At, to: Type.Optional(At) },
          { description: 'A suspension: of which SIM, from when, and to when it lasts' },
        ),
        { maxItems: 200, description: 'All suspensions by the rules, at most 200' },
      ),
    ),
  },
  { description: 'What the named rules do: all of it; of each thing only the fields that are given count' },
)

const Scalar = Type.Unsafe<string | number | boolean | null>({ type: ['string', 'number', 'boolean', 'null'] })
const FactSeries = Type.Union([Scalar, Type.Array(Scalar, { minItems: 1, maxItems: MOST_STEPS })], {
  description: 'A value, a list of values (a value a step, the last one stays), or for a number a series',
})

const Test = strictObject(
  {
    title: Text('What is shown'),
    start: Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2})?Z)?$',
      description: 'When it begins, such as 2026-11-01 or 2026-11-01T12:00Z, in UTC',
    }),
    cycle: Type.Optional(
      Type.String({ maxLength: 10, description: 'Billing cycle, such as P1M (if left out) or PT6H' }),
    ),
    step: Type.Optional(Type.String({ maxLength: 20, description: 'How long a step is, such as PT1H; left out: P1D' })),
    tariffs: Type.Optional(named(Tariff, 'Tariffs by name')),
    pools: Type.Optional(named(Pool, 'Pools by name')),
    sims: Type.Optional(named(Sim, 'SIMs by name, which is their ICCID too')),
    usageMB: Type.Optional(named(Series, 'MB that SIMs use, a value a step; 0 is an empty record, _ is none')),
    smsCount: Type.Optional(named(Series, 'Messages that SIMs send, a value a step')),
    feed: Type.Optional(Feed),
    facts: Type.Optional(named(FactSeries, 'In place of an estate: the facts of one subject of the only rule')),
    mode: Type.Optional(oneOf(labels(WatchdogMode), 'Beside `facts`: the watchdog mode; left out: Enforce')),
    events: Type.Optional(Type.Array(Event, { maxItems: 200, description: 'What happens, at most 200' })),
    expect: Expect,
  },
  { description: 'A timeline and what is expected of it' },
)
export type TimelineTest = Static<typeof Test>
export type Expectation = Static<typeof Expect>

/** The instants that an expectation asks about, in milliseconds after the start. */
export function askedInstants({ alerts = [], entries = [], mails = [], suspensions = [] }: Expectation): number[] {
  const asked = [
    ...alerts.map(([at]) => at),
    ...[...entries, ...mails].map(({ at }) => at),
    ...suspensions.flatMap(({ from, to }) => (to === undefined ? [from] : [from, to])),
  ]
  return asked.map((text) => readInstant(text).at)
}

export const TestFile = strictObject(
  {
    $schema: Type.Optional(Type.String({ maxLength: 300, description: 'The schema, for editors' })),
    rules: Type.Array(RuleName, {
      minItems: 1,
      maxItems: 20,
      uniqueItems: true,
      description: '1 to 20 names of rules',
    }),
    tests: Type.Array(Test, { minItems: 1, maxItems: 50, description: '1 to 50 tests' }),
  },
  { description: 'Tests of rules as timelines' },
)
export type TestFile = Static<typeof TestFile>

/** Limits of test files. Beyond them, a mistake is likelier than a need. */
export const TEST_BOUNDS = {
  files: 500,
  sims: 50,
  pools: 10,
  /** Longest timeline, in cycles. */
  cycles: 24,
  /** Evaluations of a subject in one test. */
  evaluations: 50_000,
  /** The same in all tests of a set: a service runs them before it stores the set. */
  allEvaluations: 1_000_000,
} as const

export const isTestFile = (value: unknown): value is TestFile => Value.Check(TestFile, value)

/** Name of the file that {@link testFileSchema} is kept in. */
export const TEST_SCHEMA = 'test-file.schema.json'

/** The schema of test files, for editors. `npm run generate` writes it. */
export const testFileSchema = () => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $comment: 'Generated by rules/timeline/test-file.ts: do not edit.',
  title: 'Tests of rules of the watchdog',
  ...TestFile,
})
