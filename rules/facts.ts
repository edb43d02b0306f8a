/**
 * The facts that a rule may read, in one table. The facts query, the rule-file schema, the load gate, the messages and
 * the docs are derived from it.
 *
 * 1 MB is 10^6 bytes. Null always means unknown, and nothing else. "The cycle" is the tenant's running billing cycle.
 */

import { type CodeTable, PoolType, SimStatus, SimType, TariffType, WatchdogMode } from '../domain/codes.ts'
import type { Unit } from '../domain/quantity.ts'
import type { FactValue } from '../domain/watchdog/fact-value.ts'
import type { SubjectKind } from '../domain/watchdog/subject.ts'
import type { WindowName } from './fact-rows.ts'

export type FactType = 'number' | 'integer' | 'boolean' | 'string'

/** Those of provisioned SIMs first: most rules know no other. A rule has those that its `match` names. */
const STATUSES = {
  Active: SimStatus.Active,
  Suspended: SimStatus.Suspended,
  Unprovisioned: SimStatus.Unprovisioned,
} as const
/** Codes of evaluated subjects: a comparison with another code would never be met. */
const WATCHED_MODE = { Monitor: WatchdogMode.Monitor, Enforce: WatchdogMode.Enforce } as const

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
 * - `elsewhere`: others move it, such as the other SIMs of a pool, the tenant's feed or the clock of its time zone. They
 *   do not mark the subject.
 */
export type WithTime = 'still' | 'ages' | 'falls' | 'expires' | 'elsewhere'

/** The form of a text's values: another value would never be met. */
export interface Form {
  readonly pattern: RegExp
  /** For a person: `one of a, b`. */
  readonly expected: string
}
const oneOf = (values: readonly string[]): Form => ({
  pattern: new RegExp(`^(${values.join('|')})$`),
  expected: `one of ${values.join(', ')}`,
})
const TARIFF_TYPE = { form: oneOf(Object.keys(TariffType)) } as const

type BySubject<T> = T | Partial<Readonly<Record<SubjectKind, T>>>

/** Attributes that most facts leave out. */
interface More<C extends BySubject<Cost>> {
  /** The table of its codes. */
  readonly codes?: CodeTable
  /** Of a text. Default: any text. */
  readonly form?: Form
  /** Default: `row`. */
  readonly cost?: C
  /** The window of usage that it is a sum over; of several the longest. */
  readonly over?: WindowName
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
  <const T extends FactType>(type: T, unit: Unit | null = null) =>
  <const S extends Subjects, const C extends BySubject<Cost> = 'row'>(
    course: Course,
    subjects: S,
    label: string,
    meaning: string,
    more: More<C> = {},
  ) => ({
    type,
    unit,
    monotone: course === 'rises',
    cycleBound: course !== 'free',
    subjects,
    label,
    meaning,
    codes: more.codes ?? null,
    form: more.form ?? null,
    cost: more.cost,
    over: more.over ?? null,
    withTime: more.withTime ?? 'still',
    movedUnder: more.movedUnder ?? null,
    min: more.min ?? null,
    max: more.max ?? null,
    ofUsage: more.ofUsage ?? false,
  })
const megabytes = row('number', 'MB')
const percent = row('number', '%')
const times = row('number', 'times')
const money = row('number', 'money')
const hours = row('number', 'hours')
const minutes = row('number', 'minutes')
const integer = row('integer')
const wholePercent = row('integer', '%')
const days = row('integer', 'days')
const boolean = row('boolean')
const string = row('string')

const SIM = { sim: 'known' } as const
const SIM_OR_NULL = { sim: 'nullable' } as const
const POOL = { pool: 'known' } as const
const POOL_OR_TAG = { pool: 'known', tag: 'known' } as const
const TENANT = { tenant: 'known' } as const
const TENANT_OR_NULL = { tenant: 'nullable' } as const
const TENANT_OR_TAG = { tenant: 'known', tag: 'known' } as const
const SIM_OR_TAG = { sim: 'known', tag: 'known' } as const
const BOTH = { sim: 'known', pool: 'known' } as const
const BOTH_OR_NULL = { sim: 'nullable', pool: 'nullable' } as const
const ALL = { sim: 'known', pool: 'known', tenant: 'known', tag: 'known' } as const

/** Tariffs under which other SIMs move the limit of a SIM: the pool's limit is divided by the number of its SIMs. */
const FIXED = [TariffType['Fixed Pool']] as const
/** Tariffs under which other SIMs move the overage of a SIM, which is a part of the pool's. */
const SHARED = [TariffType['Dynamic Pool'], TariffType['Fixed Pool']] as const
/** Computed from usage records. Facts that were seen once, such as a device, stay true when the feed is stale. */
const USAGE = { ofUsage: true } as const
const USED = { ...USAGE, min: 0 } as const
const AGES = { ...USED, withTime: 'ages' } as const
const OF_LIMIT = { withTime: { sim: 'elsewhere' }, movedUnder: FIXED, min: 0 } as const
/** Other SIMs of a shared pool move the overage of a SIM, and what follows from it. */
const BY_OVERAGE = {
  withTime: { sim: 'elsewhere', tenant: 'elsewhere', tag: 'elsewhere' },
  movedUnder: SHARED,
} as const
/**
 * A sum over a window may be below 0 after corrections. Windows end at the tenant's newest usage record, so usage of
 * others moves them.
 */
const over = (window: WindowName) => ({ ...USAGE, cost: 'window', withTime: 'elsewhere', over: window }) as const
const COUNTED = { cost: 'scan', withTime: 'elsewhere', min: 0 } as const
/** Of a SIM in its row; of a tag a sum over its SIMs, whose usage does not mark it. */
const SUMMED = { cost: { tag: 'scan' }, withTime: { tag: 'elsewhere' } } as const

/** Counted in a window of time, so they fall too. */
const ENDED = { cost: 'window', withTime: 'elsewhere', min: 0 } as const
const LATELY = 'within the last thirtieth of the cycle’s length, a day of a month'

/** Charges of all pools of the tenant, added up. */
const CHARGED = { ...USAGE, cost: 'window', withTime: 'elsewhere', min: 0 } as const
const IN_CURRENCY = 'in the tenant’s currency'

/** The time of sums over windows. */
const LATEST = 'up to the tenant’s newest usage record, earlier cycles included'
const ZONE = 'the tenant’s time zone'
/** The time of rates. */
const AS_OF = '; as of the tenant’s newest usage record, null in the first tenth of the cycle'
const FEED_AGE =
  'Time since usage of the tenant was last received, or since it has had Active SIMs, whichever is shorter'

export const FACTS = {
  simId: integer('free', SIM, 'its id', 'Id of the SIM'),
  iccid: string('free', SIM, 'its ICCID', 'ICCID'),
  tag: string(
    'free',
    SIM_OR_TAG,
    'its tag',
    'User-defined label of a SIM, empty without one; of a tag the pattern that the tags of its SIMs fit',
  ),
  poolId: integer(
    'free',
    { sim: 'nullable', pool: 'known' },
    'the id of its pool',
    'Id of the pool; null for a SIM outside pools',
  ),
  poolName: string(
    'free',
    { sim: 'nullable', pool: 'known' },
    'the name of its pool',
    'Name of the pool; null for a SIM outside pools',
  ),
  tariffType: string(
    'free',
    { sim: 'nullable', pool: 'known' },
    'its type of tariff',
    'Type of the effective tariff: Standard, Dynamic Pool or Fixed Pool; null for a SIM without tariff',
    TARIFF_TYPE,
  ),
  poolType: integer('free', POOL, 'its type of pool', 'Type of the pool', { codes: PoolType }),

  usageMB: megabytes('rises', ALL, 'data used', 'Data used in the cycle; of a SIM, in its present pool', {
    ...USED,
    cost: { tenant: 'scan', tag: 'scan' },
    withTime: { tag: 'elsewhere' },
  }),
  usageCycleMB: megabytes(
    'rises',
    SIM,
    'data used in all pools',
    'Data used in the cycle, in all pools of the SIM',
    USED,
  ),
  limitMB: megabytes(
    'cycle',
    BOTH,
    'allowance',
    'Allowance of the cycle: of a SIM its share, of a pool its capacity',
    OF_LIMIT,
  ),
  usagePct: percent(
    'cycle',
    BOTH_OR_NULL,
    'share of the limit used',
    'Data used, as a share of the limit; null if the limit is 0',
    {
      ...USAGE,
      ...OF_LIMIT,
    },
  ),
  remainingMB: megabytes('cycle', BOTH, 'data left', 'Data left in the cycle', { ...USAGE, ...OF_LIMIT }),
  overageMB: megabytes(
    'cycle',
    ALL,
    'data above the limit',
    'Overage of the cycle; of a SIM in a shared pool, its part of the pool’s overage',
    { ...USED, ...BY_OVERAGE, cost: { tenant: 'scan', tag: 'scan' } },
  ),
  cost: money(
    'cycle',
    SIM,
    'charges',
    `Charges of the cycle so far, ${IN_CURRENCY}: monthly fee, messages, voice and overage, by its present tariff`,
    { ...USED, ...BY_OVERAGE },
  ),
  usage24hMB: megabytes('free', BOTH, 'data used in 24 hours', `Data used in the 24 hours ${LATEST}`, over('day')),
  usageTodayMB: megabytes(
    'free',
    BOTH,
    'data used today',
    `Data used since midnight in ${ZONE}, earlier cycles included`,
    over('today'),
  ),
  usage7dMB: megabytes('free', SIM, 'data used in 7 days', `Data used in the 7 days ${LATEST}`, over('week')),
  usageAvgDayMB: megabytes(
    'free',
    SIM_OR_NULL,
    'data used a day on average',
    'Data used a day on average in the 28 days before the 24 hours of `usage24hMB`, from the SIM’s first usage record in them on; null if they have none in their first 21 days',
    over('average'),
  ),
  usageSpikeRatio: times(
    'free',
    SIM_OR_NULL,
    'data used in 24 hours ÷ its average',
    'Ratio of `usage24hMB` to `usageAvgDayMB`; null if the average is null, or not above 0',
    over('average'),
  ),
  voiceMins: minutes('rises', SIM_OR_TAG, 'voice used', 'Voice used in the cycle', { ...USED, ...SUMMED }),
  smsCount: integer('rises', SIM_OR_TAG, 'messages sent', 'Messages sent in the cycle', { ...USED, ...SUMMED }),
  sms24h: integer('free', BOTH, 'messages sent in 24 hours', `Messages sent in the 24 hours ${LATEST}`, over('day')),
  sms1h: integer('free', BOTH, 'messages sent in an hour', `Messages sent in the hour ${LATEST}`, over('hour')),
  sessions: integer('rises', SIM_OR_TAG, 'data sessions', 'Data sessions begun in the cycle', {
    ...USED,
    ...SUMMED,
  }),
  sessions24h: integer(
    'free',
    SIM,
    'data sessions in 24 hours',
    `Data sessions begun in the 24 hours ${LATEST}`,
    over('day'),
  ),
  poolUsagePct: percent(
    'cycle',
    SIM_OR_NULL,
    'share of the pool’s limit used',
    'Usage of the SIM’s pool, as a share of the pool’s limit; null outside pools',
    { ...USED, withTime: 'elsewhere' },
  ),

  burnRatio: times(
    'cycle',
    BOTH_OR_NULL,
    'speed of use',
    `Share of the limit used ÷ share of the cycle elapsed: above 1, the limit is passed before the cycle ends${AS_OF}`,
    { ...USED, withTime: 'elsewhere' },
  ),
  burnShortRatio: times(
    'cycle',
    BOTH_OR_NULL,
    'speed of use just now',
    `Rate over 1/120 of the cycle ÷ the even rate that just uses the limit${AS_OF}`,
    over('short'),
  ),
  burnLongRatio: times(
    'cycle',
    BOTH_OR_NULL,
    'speed of use lately',
    `Rate over 1/12 of the cycle ÷ the even rate that just uses the limit${AS_OF}`,
    over('long'),
  ),
  forecastPct: percent(
    'cycle',
    BOTH_OR_NULL,
    'forecast of the share used at the end',
    `Forecast of the data used at the end of the cycle, as a share of the limit, at the rate over 1/12 of the cycle${AS_OF}`,
    over('long'),
  ),
  currency: string('free', ALL, 'its currency', 'Currency of its charges, ISO 4217', {
    form: { pattern: /^[A-Z]{3}$/, expected: 'three capital letters such as EUR' },
  }),
  elapsedPct: percent('rises', ALL, 'elapsed part of the billing cycle', 'Elapsed part of the cycle', {
    withTime: 'ages',
    min: 0,
    max: 100,
  }),
  cycleHours: hours('free', ALL, 'length of the billing cycle', 'Length of the cycle', { min: 0 }),
  daysUntilRenewal: days('cycle', ALL, 'days until the renewal', 'Days to the end of the cycle, rounded up', {
    withTime: 'falls',
    min: 0,
  }),
  hoursUntilRenewal: hours('cycle', ALL, 'time until the renewal', 'Time to the end of the cycle', {
    withTime: 'falls',
    min: 0,
  }),
  hourOfDay: integer('free', ALL, 'hour of the day', `Hour of the day in ${ZONE}, from 0 to 23`, {
    withTime: 'elsewhere',
    min: 0,
    max: 23,
  }),
  dayOfWeek: integer('free', ALL, 'day of the week', `Day of the week in ${ZONE}, from 1 (Monday) to 7 (Sunday)`, {
    withTime: 'elsewhere',
    min: 1,
    max: 7,
  }),

  hoursSinceLastSeen: hours(
    'free',
    SIM_OR_NULL,
    'time without activity',
    'Time since the last network activity; null if never seen',
    AGES,
  ),
  silentPct: percent(
    'free',
    SIM_OR_NULL,
    'time without activity, as a share of the billing cycle',
    'The same as a share of the cycle’s length; null if never seen',
    AGES,
  ),
  neverSeen: boolean('free', SIM, 'it has never had activity', 'Whether the SIM has never had network activity', USAGE),
  activeForPct: percent(
    'free',
    SIM,
    'time Active, as a share of the billing cycle',
    'Time Active without a break, as a share of the cycle’s length; 0 if not Active',
    {
      withTime: 'ages',
    },
  ),
  imei: string('free', SIM, 'its IMEI', 'IMEI of its last seen device; empty until known'),
  imeiChanged: boolean(
    'free',
    SIM,
    'its IMEI has changed',
    'Whether it was found in another device within the last thirtieth of the cycle’s length',
    { withTime: 'expires' },
  ),
  deviceChange: integer(
    'free',
    SIM_OR_NULL,
    'changes of its device',
    'Number of its latest change of device, from 1 on; null before any',
    {
      min: 1,
    },
  ),
  lastCountry: string(
    'free',
    SIM_OR_NULL,
    'its country',
    'Country of its newest usage that names one, ISO 3166-1 alpha-2, such as DE; null until known',
    { form: { pattern: /^[A-Z]{2}$/, expected: 'two capital letters such as DE' } },
  ),
  countryChanged: boolean(
    'free',
    SIM,
    'its country has changed',
    'Whether it was found in another country within the last thirtieth of the cycle’s length',
    { withTime: 'expires' },
  ),
  lastMccMnc: string(
    'free',
    SIM_OR_NULL,
    'its network',
    'MCC and MNC of its newest usage that names them, such as 26201; null until known',
    { form: { pattern: /^\d{5,6}$/, expected: '5 or 6 digits such as 26201' } },
  ),
  lastRat: string(
    'free',
    SIM_OR_NULL,
    'its radio access technology',
    'Radio access technology of its newest usage that names one, as the carrier writes it; null until known',
  ),
  status: integer('free', SIM, 'its status', 'Status; Unprovisioned only for rules whose `match.status` names it', {
    codes: STATUSES,
  }),
  statusAgeHours: hours('free', SIM, 'time since its status changed', 'Time since the status changed', {
    withTime: 'ages',
  }),
  suspendedBy: string(
    'free',
    SIM_OR_NULL,
    'who suspended it',
    'Who suspended it: person, watchdog, or notActivated if it was not Active since it was provisioned; null unless Suspended',
    { form: oneOf(['person', 'watchdog', 'notActivated']) },
  ),
  type: integer('free', SIM, 'its type', 'Type of the SIM', { codes: SimType }),

  watchdogMode: integer(
    'free',
    BOTH,
    'its watchdog mode',
    'Watchdog mode in effect; in mode Disabled nothing is evaluated',
    {
      codes: WATCHED_MODE,
    },
  ),
  warningThresholdPct: wholePercent(
    'free',
    BOTH_OR_NULL,
    'warning threshold',
    'Usage that causes a warning, set by the owner; null: none',
    {
      min: 1,
      max: 100,
    },
  ),
  enableBurnRateAlerts: boolean(
    'free',
    BOTH,
    'burn rate alerts are enabled',
    'Whether the owner has enabled burn rate alerts',
  ),

  activeSimCount: integer('free', { pool: 'known', tenant: 'known', tag: 'known' }, 'Active SIMs', 'Active SIMs', {
    cost: { tenant: 'scan', tag: 'scan' },
    withTime: { tenant: 'elsewhere', tag: 'elsewhere' },
    min: 0,
  }),
  suspendedSimCount: integer('free', TENANT_OR_TAG, 'Suspended SIMs', 'Suspended SIMs', COUNTED),
  unprovisionedSimCount: integer('free', TENANT_OR_TAG, 'Unprovisioned SIMs', 'Unprovisioned SIMs', COUNTED),
  totalSimCount: integer('free', POOL, 'SIMs in the pool', 'SIMs in the pool', { min: 0 }),
  simCount: integer('free', TENANT_OR_TAG, 'SIMs', 'SIMs of the tenant, or with the tag', COUNTED),
  overSimCount: integer(
    'cycle',
    POOL_OR_TAG,
    'SIMs over their share',
    'SIMs over their share, in the pool or with the tag',
    {
      ...USAGE,
      ...COUNTED,
    },
  ),
  silentSimCount: integer(
    'free',
    POOL_OR_TAG,
    'silent SIMs',
    'Active SIMs without activity for a tenth of the cycle’s length, in the pool or with the tag',
    {
      ...USAGE,
      ...COUNTED,
    },
  ),
  topSimSharePct: percent(
    'cycle',
    { pool: 'nullable' },
    'share of the largest SIM',
    'Share of the pool’s usage by its largest SIM; null without usage',
    { ...USAGE, ...COUNTED, max: 100 },
  ),
  poolCount: integer('free', TENANT, 'pools', 'Pools of the tenant', COUNTED),
  failedTicketCount: integer('free', TENANT, 'failed tickets', `Tickets that failed ${LATELY}`, ENDED),
  failedTicketPct: percent(
    'free',
    TENANT_OR_NULL,
    'share of failed tickets',
    `Share of failed tickets among the tickets that ended ${LATELY}; null without such tickets`,
    { ...ENDED, max: 100 },
  ),
  overPoolCount: integer('cycle', TENANT, 'pools with overage', 'Pools with overage', { ...USAGE, ...COUNTED }),
  overageCost: money(
    'cycle',
    { sim: 'known', tenant: 'known' },
    'charge for overage',
    `Charge for overage so far, of the SIM or of the tenant’s pools, ${IN_CURRENCY}`,
    { ...USED, ...BY_OVERAGE, cost: { tenant: 'window' } },
  ),
  forecastOverageCost: money(
    'cycle',
    TENANT_OR_NULL,
    'forecast of the charge for overage',
    `Forecast of the charge for the overage of the tenant’s pools at the end of the cycle, each at its rate since the start of the cycle, ${IN_CURRENCY}${AS_OF}`,
    CHARGED,
  ),
  forecastOverageCostPct: percent(
    'cycle',
    TENANT_OR_NULL,
    'forecast of that charge, as a share of the others',
    `The same, as a share of the pools’ charges without overage (SIMs that were Active, buckets); null also without such charges`,
    CHARGED,
  ),

  usageAgeMinutes: minutes(
    'free',
    BOTH_OR_NULL,
    'age of the newest usage',
    'Age of the subject’s newest usage record; null without one',
    {
      ...AGES,
      cost: { pool: 'scan' },
    },
  ),
  feedAgeMinutes: minutes(
    'free',
    TENANT_OR_NULL,
    'time without usage of the tenant',
    `${FEED_AGE}; null without either`,
    { withTime: 'ages', min: 0 },
  ),
  feedAgePct: percent(
    'free',
    { sim: 'nullable', tenant: 'nullable', tag: 'nullable' },
    'time without usage of the tenant, as a share of the billing cycle',
    `${FEED_AGE}, as a share of the cycle’s length; null without either`,
    { withTime: { sim: 'elsewhere', tenant: 'ages', tag: 'elsewhere' }, min: 0 },
  ),
  feedLimitMinutes: minutes(
    'free',
    TENANT,
    'limit of that time',
    'Age that makes the tenant’s usage feed stale: one and a half times its `feedEvery`, or a quarter of a shorter cycle',
    { min: 0 },
  ),
} as const

export type FactName = keyof typeof FACTS
type Table = typeof FACTS

type ValueOf<T extends FactType> = T extends 'boolean' ? boolean : T extends 'string' ? string : number
type NamesOf<S extends SubjectKind> = {
  [N in FactName]: S extends keyof Table[N]['subjects'] ? N : never
}[FactName]
type NullIf<P> = P extends 'nullable' ? null : never

/** The facts of one kind of subject; none may be missing. */
export type FactsOf<S extends SubjectKind> = {
  readonly [N in NamesOf<S>]:
    | ValueOf<Table[N]['type']>
    | (S extends keyof Table[N]['subjects'] ? NullIf<Table[N]['subjects'][S]> : never)
}
export type SimFacts = FactsOf<'sim'>
export type PoolFacts = FactsOf<'pool'>
export type TenantFacts = FactsOf<'tenant'>
export type TagFacts = FactsOf<'tag'>

type CostTo<C, S extends SubjectKind> = C extends Cost ? C : S extends keyof C ? C[S] : 'row'
/** Costs of facts that are read only if they are needed. The counts of a tenant are read with its name. */
interface CostsOnDemand {
  readonly sim: 'window' | 'scan'
  readonly pool: 'window' | 'scan'
  readonly tenant: 'window'
  readonly tag: 'window' | 'scan'
}
type OnDemand<S extends SubjectKind> = {
  [N in NamesOf<S>]: CostTo<NonNullable<Table[N]['cost']>, S> extends CostsOnDemand[S] ? N : never
}[NamesOf<S>]

/** The facts that were read of one kind of subject. What was not read is missing: it is neither 0 nor unknown. */
export type ReadFactsOf<S extends SubjectKind> = Omit<FactsOf<S>, OnDemand<S>> & Partial<Pick<FactsOf<S>, OnDemand<S>>>
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
  /** Its name for people, in a few words: `data used`. Of a boolean a clause: `its IMEI has changed`. */
  readonly label: string
  readonly meaning: string
  /** The table of its codes; null if the value is not a code. */
  readonly codes: CodeTable | null
  /** Of a text; null: any text. */
  readonly form: Form | null
  readonly cost: Cost
  /** Whether it is read only if it is needed. Others are read with their subject. */
  readonly isOnDemand: boolean
  /** The window of usage that it is a sum over; null if it is none. */
  readonly over: WindowName | null
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

/** Whether its value is a number, and not a code. */
export const isMeasure = ({ type, codes }: Fact): boolean => (type === 'number' || type === 'integer') && codes === null

const ofSubject = <T extends string>(values: BySubject<T>, subject: SubjectKind, otherwise: T): T =>
  typeof values === 'string' ? values : (values[subject] ?? otherwise)

function catalogueOf(subject: SubjectKind): ReadonlyMap<string, Fact> {
  const found = Object.entries(FACTS).flatMap(
    ([name, { subjects, cost: ofKinds, withTime, movedUnder, ...spec }]): [string, Fact][] => {
      const presence = Object.entries(subjects).find(([whose]) => whose === subject)?.[1]
      if (presence === undefined) return []
      const cost = ofSubject<Cost>(ofKinds ?? 'row', subject, 'row')
      const fact = {
        ...spec,
        name,
        nullable: presence === 'nullable',
        cost,
        isOnDemand: cost === 'window' || (cost === 'scan' && subject !== 'tenant'),
        withTime: ofSubject<WithTime>(withTime, subject, 'still'),
        movedUnder: subject === 'sim' ? movedUnder : null,
      }
      return [[name, fact]]
    },
  )
  return new Map(found)
}
const CATALOGUES = {
  sim: catalogueOf('sim'),
  pool: catalogueOf('pool'),
  tenant: catalogueOf('tenant'),
  tag: catalogueOf('tag'),
}

/** The facts of one kind of subject, in the table's order. */
export const factsOf = (subject: SubjectKind): ReadonlyMap<string, Fact> => CATALOGUES[subject]
