/**
 * The facts that a rule may read, in one table. The facts query, the rule-file schema, the load gate, the messages and
 * the docs are derived from it.
 *
 * 1 MB is 10^6 bytes. Null always means unknown, and nothing else. "The cycle" is the tenant's running billing cycle.
 */

import { type CodeTable, PoolType, SimStatus, SimType, TariffType, WatchdogMode } from '../domain/codes.ts'
import type { Unit } from '../domain/quantity.ts'
import type { FactValue } from '../domain/watchdog/fact-value.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../domain/watchdog/subject.ts'

export type FactType = 'number' | 'integer' | 'boolean' | 'string'

/** Whether a subject's fact is always known or may be null. */
type Presence = 'known' | 'nullable'
type Subjects = Partial<Readonly<Record<SubjectKind, Presence>>>

/**
 * How a fact changes over time. `rises`: never falls within a cycle, except by corrections and moves of a SIM to
 * another pool, and starts again with the next cycle. `cycle`: starts again with each cycle, and may fall. `free`: does
 * not depend on cycles.
 */
type Course = 'rises' | 'cycle' | 'free'

/**
 * The cost of reading a fact. `row`: a column of the subject's row. `window`: a sum over the last hours or days.
 * `scan`: many rows, such as all SIMs of a pool.
 */
export type Cost = 'row' | 'window' | 'scan'

/**
 * How a fact moves within a cycle without events of its subject. Usage of the subject, its tickets and its settings are
 * events: they mark the subject due.
 *
 * - `still`: it does not move.
 * - `ages`: it rises evenly, or does not move. If it is null, it stays null. Its unit is %, hours or minutes.
 * - `falls`: it falls, at instants that are not known ahead.
 * - `expires`: a boolean that is true for a while, then false.
 * - `elsewhere`: others move it, such as the other SIMs of a pool or the tenant's feed. They do not mark the subject.
 */
export type WithTime = 'still' | 'ages' | 'falls' | 'expires' | 'elsewhere'

/** A value for all kinds of subject, or one for each. */
type BySubject<T> = T | Partial<Readonly<Record<SubjectKind, T>>>

/** Attributes that most facts leave out. */
interface More {
  /** The table of its codes. */
  readonly codes?: CodeTable
  /** Default: `row`. */
  readonly cost?: BySubject<Cost>
  /** Default: `still`. */
  readonly withTime?: BySubject<WithTime>
  /** Tariffs under which others move it for a SIM. Under other tariffs it is still. Default: all tariffs. */
  readonly movedUnder?: readonly TariffType[]
  /** Least value, if there is one. */
  readonly min?: number
  /** Greatest value, if there is one. */
  readonly max?: number
  /** Whether it is computed from usage records, and so is out of date while the usage feed is stale. Default: no. */
  readonly ofUsage?: boolean
}

const row =
  <const T extends FactType>(type: T) =>
  <const S extends Subjects>(unit: Unit | null, course: Course, subjects: S, meaning: string, more: More = {}) => ({
    type,
    unit,
    monotone: course === 'rises',
    cycleBound: course !== 'free',
    subjects,
    meaning,
    codes: more.codes ?? null,
    cost: more.cost ?? 'row',
    withTime: more.withTime ?? 'still',
    movedUnder: more.movedUnder ?? null,
    min: more.min ?? null,
    max: more.max ?? null,
    ofUsage: more.ofUsage ?? false,
  })
const number = row('number')
const integer = row('integer')
const boolean = row('boolean')
const string = row('string')

const SIM = { sim: 'known' } as const
const SIM_OR_NULL = { sim: 'nullable' } as const
const POOL = { pool: 'known' } as const
const TENANT = { tenant: 'known' } as const
const BOTH = { sim: 'known', pool: 'known' } as const
const BOTH_OR_NULL = { sim: 'nullable', pool: 'nullable' } as const
const ALL = { sim: 'known', pool: 'known', tenant: 'known' } as const

/** Tariffs under which other SIMs move the limit of a SIM: the pool's limit is divided by the number of its SIMs. */
const FIXED = [TariffType['Fixed Pool']] as const
/** Tariffs under which other SIMs move the overage of a SIM, which is a part of the pool's. */
const SHARED = [TariffType['Dynamic Pool'], TariffType['Fixed Pool']] as const
/** Computed from usage records. Facts that were seen once, such as a device, stay true when the feed is stale. */
const USAGE = { ofUsage: true } as const
/**
 * A sum over a window may be below 0 after corrections. Windows end at the tenant's newest usage record, so usage of
 * others moves them.
 */
const WINDOW = { ...USAGE, cost: 'window', withTime: 'elsewhere' } as const
const COUNTED = { cost: 'scan', withTime: 'elsewhere', min: 0 } as const

/** Counted in a window of time, so they fall too. */
const ENDED = { cost: 'window', withTime: 'elsewhere', min: 0 } as const
const LATELY = 'within the last thirtieth of the cycle’s length, a day of a month'

/** Charges of all pools of the tenant, added up. */
const CHARGED = { ...USAGE, cost: 'window', withTime: 'elsewhere', min: 0 } as const
const OF_FEES = 'in the currency of the tariffs’ fees'

/** Width of the short window of burn rates, as a share of the cycle (6 hours of 30 days). */
export const BURN_SHORT_SHARE = 1 / 120
/** Width of the long window of burn rates, as a share of the cycle (2.5 days of 30). */
export const BURN_LONG_SHARE = 1 / 12

/** The time of rates. */
const AS_OF = '; as of the tenant’s newest usage record, null in the first tenth of the cycle'
const FEED_AGE =
  'Time since usage of the tenant was last received, or since it has had Active SIMs, whichever is shorter'

export const FACTS = {
  simId: integer(null, 'free', SIM, 'Id of the SIM'),
  iccid: string(null, 'free', SIM, 'ICCID'),
  tag: string(null, 'free', SIM, 'User-defined label; empty without one'),
  poolId: integer(null, 'free', { sim: 'nullable', pool: 'known' }, 'Id of the pool; null for a SIM outside pools'),
  poolName: string(null, 'free', { sim: 'nullable', pool: 'known' }, 'Name of the pool; null for a SIM outside pools'),
  tariffType: string(
    null,
    'free',
    { sim: 'nullable', pool: 'known' },
    'Type of the effective tariff: Standard, Dynamic Pool or Fixed Pool; null for a SIM without tariff',
  ),
  poolType: integer(null, 'free', POOL, 'Type of the pool', { codes: PoolType }),

  usageMB: number('MB', 'rises', ALL, 'Data used in the cycle; of a SIM, in its present pool', {
    ...USAGE,
    cost: { tenant: 'scan' },
    min: 0,
  }),
  usageCycleMB: number('MB', 'rises', SIM, 'Data used in the cycle, in all pools of the SIM', {
    ...USAGE,
    min: 0,
  }),
  limitMB: number('MB', 'cycle', BOTH, 'Allowance of the cycle: of a SIM its share, of a pool its capacity', {
    withTime: { sim: 'elsewhere' },
    movedUnder: FIXED,
    min: 0,
  }),
  usagePct: number('%', 'cycle', BOTH_OR_NULL, 'Data used, as a share of the limit; null if the limit is 0', {
    ...USAGE,
    withTime: { sim: 'elsewhere' },
    movedUnder: FIXED,
    min: 0,
  }),
  remainingMB: number('MB', 'cycle', BOTH, 'Data left in the cycle', {
    ...USAGE,
    withTime: { sim: 'elsewhere' },
    movedUnder: FIXED,
    min: 0,
  }),
  overageMB: number(
    'MB',
    'cycle',
    ALL,
    'Overage of the cycle; of a SIM in a shared pool, its part of the pool’s overage',
    {
      ...USAGE,
      cost: { tenant: 'scan' },
      withTime: { sim: 'elsewhere', tenant: 'elsewhere' },
      movedUnder: SHARED,
      min: 0,
    },
  ),
  usage24hMB: number(
    'MB',
    'free',
    BOTH,
    'Data used in the 24 hours up to the tenant’s newest usage record, earlier cycles included',
    WINDOW,
  ),
  usage7dMB: number(
    'MB',
    'free',
    SIM,
    'Data used in the 7 days up to the tenant’s newest usage record, earlier cycles included',
    WINDOW,
  ),
  voiceMins: number('minutes', 'rises', SIM, 'Voice used in the cycle', { ...USAGE, min: 0 }),
  smsCount: integer(null, 'rises', SIM, 'Messages sent in the cycle', { ...USAGE, min: 0 }),
  sms24h: integer(
    null,
    'free',
    BOTH,
    'Messages sent in the 24 hours up to the tenant’s newest usage record, earlier cycles included',
    WINDOW,
  ),
  poolUsagePct: number(
    '%',
    'cycle',
    SIM_OR_NULL,
    'Usage of the SIM’s pool, as a share of the pool’s limit; null outside pools',
    {
      ...USAGE,
      withTime: 'elsewhere',
      min: 0,
    },
  ),

  burnRatio: number(
    'times',
    'cycle',
    BOTH_OR_NULL,
    `Share of the limit used ÷ share of the cycle elapsed: above 1, the limit is passed before the cycle ends${AS_OF}`,
    { ...USAGE, withTime: 'elsewhere', min: 0 },
  ),
  burnShortRatio: number(
    'times',
    'cycle',
    BOTH_OR_NULL,
    `Rate over 1/120 of the cycle ÷ the even rate that just uses the limit${AS_OF}`,
    WINDOW,
  ),
  burnLongRatio: number(
    'times',
    'cycle',
    BOTH_OR_NULL,
    `Rate over 1/12 of the cycle ÷ the even rate that just uses the limit${AS_OF}`,
    WINDOW,
  ),
  forecastPct: number(
    '%',
    'cycle',
    BOTH_OR_NULL,
    `Forecast of the data used at the end of the cycle, as a share of the limit, at the rate over 1/12 of the cycle${AS_OF}`,
    WINDOW,
  ),
  elapsedPct: number('%', 'rises', ALL, 'Elapsed part of the cycle', { withTime: 'ages', min: 0, max: 100 }),
  cycleHours: number('hours', 'free', ALL, 'Length of the cycle', { min: 0 }),
  daysUntilRenewal: integer('days', 'cycle', ALL, 'Days to the end of the cycle, rounded up', {
    withTime: 'falls',
    min: 0,
  }),

  hoursSinceLastSeen: number('hours', 'free', SIM_OR_NULL, 'Time since the last network activity; null if never seen', {
    ...USAGE,
    withTime: 'ages',
    min: 0,
  }),
  silentPct: number('%', 'free', SIM_OR_NULL, 'The same as a share of the cycle’s length; null if never seen', {
    ...USAGE,
    withTime: 'ages',
    min: 0,
  }),
  neverSeen: boolean(null, 'free', SIM, 'Whether the SIM has never had network activity', USAGE),
  activeForPct: number(
    '%',
    'free',
    SIM,
    'Time Active without a break, as a share of the cycle’s length; 0 if not Active',
    { withTime: 'ages' },
  ),
  imei: string(null, 'free', SIM, 'IMEI of its last seen device; empty until known'),
  imeiChanged: boolean(
    null,
    'free',
    SIM,
    'Whether it was found in another device within the last thirtieth of the cycle’s length',
    { withTime: 'expires' },
  ),
  deviceChange: integer(
    null,
    'free',
    SIM_OR_NULL,
    'Number of its latest change of device, from 1 on; null before any',
    {
      min: 1,
    },
  ),
  status: integer(null, 'free', SIM, 'Status', { codes: SimStatus }),
  statusAgeHours: number('hours', 'free', SIM, 'Time since the status changed', { withTime: 'ages' }),
  type: integer(null, 'free', SIM, 'Type of the SIM', { codes: SimType }),

  watchdogMode: integer(null, 'free', BOTH, 'Watchdog mode in effect', { codes: WatchdogMode }),
  isWatchdogExempt: boolean(null, 'free', SIM, 'Whether the watchdog is off for the SIM'),
  warningThresholdPct: integer('%', 'free', BOTH_OR_NULL, 'Usage that causes a warning, set by the owner; null: none', {
    min: 1,
    max: 100,
  }),
  enableBurnRateAlerts: boolean(null, 'free', BOTH, 'Whether the owner has enabled burn rate alerts'),

  activeSimCount: integer(null, 'free', { pool: 'known', tenant: 'known' }, 'Active SIMs', {
    cost: { tenant: 'scan' },
    withTime: { tenant: 'elsewhere' },
    min: 0,
  }),
  suspendedSimCount: integer(null, 'free', TENANT, 'Suspended SIMs', COUNTED),
  unprovisionedSimCount: integer(null, 'free', TENANT, 'Unprovisioned SIMs', COUNTED),
  totalSimCount: integer(null, 'free', POOL, 'SIMs in the pool', { min: 0 }),
  simCount: integer(null, 'free', TENANT, 'SIMs of the tenant', COUNTED),
  overSimCount: integer(null, 'cycle', POOL, 'SIMs in the pool over their share', {
    ...USAGE,
    ...COUNTED,
  }),
  silentSimCount: integer(
    null,
    'free',
    POOL,
    'Active SIMs in the pool without activity for a tenth of the cycle’s length',
    { ...USAGE, ...COUNTED },
  ),
  topSimSharePct: number(
    '%',
    'cycle',
    { pool: 'nullable' },
    'Share of the pool’s usage by its largest SIM; null without usage',
    { ...USAGE, ...COUNTED, max: 100 },
  ),
  poolCount: integer(null, 'free', TENANT, 'Pools of the tenant', COUNTED),
  failedTicketCount: integer(null, 'free', TENANT, `Tickets that failed ${LATELY}`, ENDED),
  failedTicketPct: number(
    '%',
    'free',
    { tenant: 'nullable' },
    `Share of failed tickets among the tickets that ended ${LATELY}; null without such tickets`,
    { ...ENDED, max: 100 },
  ),
  overPoolCount: integer(null, 'cycle', TENANT, 'Pools with overage', { ...USAGE, ...COUNTED }),
  overageCost: number(
    null,
    'cycle',
    TENANT,
    `Charge for the overage of the tenant’s pools so far, ${OF_FEES}`,
    CHARGED,
  ),
  forecastOverageCost: number(
    null,
    'cycle',
    { tenant: 'nullable' },
    `Forecast of the charge for the overage of the tenant’s pools at the end of the cycle, each at its rate since the start of the cycle, ${OF_FEES}${AS_OF}`,
    CHARGED,
  ),
  forecastOverageCostPct: number(
    '%',
    'cycle',
    { tenant: 'nullable' },
    `The same, as a share of the pools’ charges without overage (SIMs that were Active, buckets); null also without such charges`,
    CHARGED,
  ),

  usageAgeMinutes: number(
    'minutes',
    'free',
    BOTH_OR_NULL,
    'Age of the subject’s newest usage record; null without one',
    { ...USAGE, cost: { pool: 'scan' }, withTime: 'ages', min: 0 },
  ),
  feedAgeMinutes: number('minutes', 'free', { tenant: 'nullable' }, `${FEED_AGE}; null without either`, {
    withTime: 'ages',
    min: 0,
  }),
  feedAgePct: number(
    '%',
    'free',
    { sim: 'nullable', tenant: 'nullable' },
    `${FEED_AGE}, as a share of the cycle’s length; null without either`,
    { withTime: { sim: 'elsewhere', tenant: 'ages' }, min: 0 },
  ),
  feedLimitMinutes: number(
    'minutes',
    'free',
    TENANT,
    'Age that makes the tenant’s usage feed stale: one and a half times its `feedEvery`, or a quarter of a shorter cycle',
    { min: 0 },
  ),
} as const

export type FactName = keyof typeof FACTS
type Table = typeof FACTS

interface ValueOfType {
  readonly number: number
  readonly integer: number
  readonly boolean: boolean
  readonly string: string
}
type NamesOf<S extends SubjectKind> = {
  [N in FactName]: S extends keyof Table[N]['subjects'] ? N : never
}[FactName]
type NullIf<P> = P extends 'nullable' ? null : never

/** The facts of one kind of subject; none may be missing. */
export type FactsOf<S extends SubjectKind> = {
  readonly [N in NamesOf<S>]:
    | ValueOfType[Table[N]['type']]
    | (S extends keyof Table[N]['subjects'] ? NullIf<Table[N]['subjects'][S]> : never)
}
export type SimFacts = FactsOf<'sim'>
export type PoolFacts = FactsOf<'pool'>
export type TenantFacts = FactsOf<'tenant'>
/** Facts of any subject, by name. */
export type Facts = Readonly<Record<string, FactValue>>

/** A fact as one kind of subject has it. */
export interface Fact {
  readonly name: string
  readonly type: FactType
  /** Null if the value is a count, a name or a code. */
  readonly unit: Unit | null
  readonly nullable: boolean
  /** Whether it never falls within a cycle, except by corrections and moves of a SIM to another pool. */
  readonly monotone: boolean
  /** Whether it starts again with each cycle. */
  readonly cycleBound: boolean
  readonly meaning: string
  /** The table of its codes; null if the value is not a code. */
  readonly codes: CodeTable | null
  readonly cost: Cost
  readonly withTime: WithTime
  /** Tariffs under which others move it, if it moves `elsewhere`; null: all tariffs. */
  readonly movedUnder: readonly TariffType[] | null
  /** Least value; null if there is none, or none is known. */
  readonly min: number | null
  /** Greatest value; null if there is none, or none is known. */
  readonly max: number | null
  /** Whether it is computed from usage records. A rule that reads such a fact stands still while the feed is stale. */
  readonly ofUsage: boolean
}

/** The value for one kind of subject. */
const ofSubject = <T extends string>(values: BySubject<T>, subject: SubjectKind, otherwise: T): T =>
  typeof values === 'string' ? values : (values[subject] ?? otherwise)

function catalogueOf(subject: SubjectKind): ReadonlyMap<string, Fact> {
  const found = Object.entries(FACTS).flatMap(
    ([name, { subjects, cost, withTime, movedUnder, ...spec }]): [string, Fact][] => {
      const presence = Object.entries(subjects).find(([whose]) => whose === subject)?.[1]
      if (presence === undefined) return []
      const fact = {
        ...spec,
        name,
        nullable: presence === 'nullable',
        cost: ofSubject<Cost>(cost, subject, 'row'),
        withTime: ofSubject<WithTime>(withTime, subject, 'still'),
        movedUnder: subject === 'sim' ? movedUnder : null,
      }
      return [[name, fact]]
    },
  )
  return new Map(found)
}
const CATALOGUES = { sim: catalogueOf('sim'), pool: catalogueOf('pool'), tenant: catalogueOf('tenant') }

/** The facts of one kind of subject, in the table's order. */
export const factsOf = (subject: SubjectKind): ReadonlyMap<string, Fact> => CATALOGUES[subject]

/** The kinds of subject that have a fact with this name; empty if there is no such fact. */
export const subjectsWith = (name: string): SubjectKind[] =>
  SUBJECT_KINDS.filter((subject) => factsOf(subject).has(name))
