/**
 * The facts that a rule may read, in one table. The facts query, the rule-file schema, the load gate, the messages and
 * the docs are derived from it.
 *
 * 1 MB is 10^6 bytes. Null always means unknown, and nothing else. "The cycle" is the tenant's running billing cycle.
 */

import { type CodeTable, PoolType, SimStatus, SimType, WatchdogMode } from '../domain/codes.ts'
import type { FactValue } from '../domain/watchdog/fact.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../domain/watchdog/subject.ts'

export type FactType = 'number' | 'integer' | 'boolean' | 'string'
export type Unit = 'MB' | '%' | 'hours' | 'minutes' | 'days' | 'times'

/** Whether a subject's fact is always known or may be null. */
type Presence = 'known' | 'nullable'
type Subjects = Partial<Readonly<Record<SubjectKind, Presence>>>

/**
 * How a fact changes over time. `rises`: never falls within a cycle, except by corrections, and starts again with the
 * next cycle. `cycle`: starts again with each cycle, and may fall. `free`: does not depend on cycles.
 */
type Course = 'rises' | 'cycle' | 'free'

const row =
  <const T extends FactType>(type: T) =>
  <const S extends Subjects>(unit: Unit | null, course: Course, subjects: S, meaning: string, codes?: CodeTable) => ({
    type,
    unit,
    monotone: course === 'rises',
    cycleBound: course !== 'free',
    subjects,
    meaning,
    codes: codes ?? null,
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

/** Width of the short window of burn rates, as a share of the cycle (6 hours of 30 days). */
export const BURN_SHORT_SHARE = 1 / 120
/** Width of the long window of burn rates, as a share of the cycle (2.5 days of 30). */
export const BURN_LONG_SHARE = 1 / 12

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
    'Type of the tariff that governs: Standard, Dynamic Pool or Fixed Pool; null for a SIM without one',
  ),
  poolType: integer(null, 'free', POOL, 'Type of the pool', PoolType),

  usageMB: number('MB', 'rises', ALL, 'Data used in the cycle'),
  limitMB: number('MB', 'cycle', BOTH, 'Allowance of the cycle: of a SIM its share, of a pool its capacity'),
  usagePct: number('%', 'cycle', BOTH_OR_NULL, 'Data used, of the limit; null where the limit is 0'),
  remainingMB: number('MB', 'cycle', BOTH, 'Data left in the cycle'),
  overageMB: number('MB', 'cycle', ALL, 'Overage of the cycle; of a SIM in a shared pool its part of the pool’s'),
  usage24hMB: number('MB', 'free', BOTH, 'Data used in the last 24 hours, earlier cycles included'),
  usage7dMB: number('MB', 'free', SIM, 'Data used in the last 7 days, earlier cycles included'),
  voiceMins: number('minutes', 'rises', SIM, 'Voice used in the cycle'),
  smsCount: integer(null, 'rises', SIM, 'Messages sent in the cycle'),
  poolUsagePct: number('%', 'cycle', SIM_OR_NULL, 'Usage of the SIM’s pool, of the pool’s limit; null outside pools'),

  burnRatio: number(
    'times',
    'cycle',
    BOTH_OR_NULL,
    'Share of the limit used ÷ share of the cycle elapsed: above 1, the limit is passed before the cycle ends',
  ),
  burnShortRatio: number(
    'times',
    'cycle',
    BOTH_OR_NULL,
    'Rate over the last 1/120 of the cycle ÷ the even rate that just uses the limit; null until so much has elapsed',
  ),
  burnLongRatio: number(
    'times',
    'cycle',
    BOTH_OR_NULL,
    'Rate over the last 1/12 of the cycle ÷ the even rate that just uses the limit; null until so much has elapsed',
  ),
  forecastPct: number(
    '%',
    'cycle',
    BOTH_OR_NULL,
    'Data used at the end of the cycle, of the limit, if it goes on at the rate of the last 1/12 of the cycle',
  ),
  elapsedPct: number('%', 'rises', ALL, 'Part of the cycle that has elapsed'),
  cycleHours: number('hours', 'free', ALL, 'Length of the cycle'),
  daysUntilRenewal: integer('days', 'cycle', ALL, 'Days to the end of the cycle, rounded up'),

  hoursSinceLastSeen: number('hours', 'free', SIM_OR_NULL, 'Time since the last network activity; null if never seen'),
  silentPct: number('%', 'free', SIM_OR_NULL, 'The same as a share of the cycle’s length; null if never seen'),
  neverSeen: boolean(null, 'free', SIM, 'Whether the SIM has never had network activity'),
  activeForPct: number(
    '%',
    'free',
    SIM,
    'Time Active without a break, as a share of the cycle’s length; 0 if not Active',
  ),
  imei: string(null, 'free', SIM, 'IMEI of the device it was last seen in; empty until known'),
  imeiChanged: boolean(null, 'free', SIM, 'Whether it was seen in another device before the present one'),
  status: integer(null, 'free', SIM, 'Status', SimStatus),
  statusAgeHours: number('hours', 'free', SIM, 'Time since the status changed'),
  type: integer(null, 'free', SIM, 'Type of the SIM', SimType),

  watchdogMode: integer(null, 'free', BOTH, 'Watchdog mode in effect', WatchdogMode),
  isWatchdogExempt: boolean(null, 'free', SIM, 'Whether the watchdog is off for the SIM'),
  warningThresholdPct: integer('%', 'free', BOTH_OR_NULL, 'Usage from which the owner wants a warning; null: none'),
  enableBurnRateAlerts: boolean(null, 'free', BOTH, 'Whether the owner wants burn rate alerts'),

  activeSimCount: integer(null, 'free', { pool: 'known', tenant: 'known' }, 'SIMs that are Active'),
  suspendedSimCount: integer(null, 'free', TENANT, 'SIMs that are Suspended'),
  unprovisionedSimCount: integer(null, 'free', TENANT, 'SIMs that are not provisioned'),
  totalSimCount: integer(null, 'free', POOL, 'SIMs in the pool'),
  simCount: integer(null, 'free', TENANT, 'SIMs of the tenant'),
  overSimCount: integer(null, 'cycle', POOL, 'SIMs in the pool that have used more than their share'),
  silentSimCount: integer(
    null,
    'free',
    POOL,
    'Active SIMs in the pool without activity for a tenth of the cycle’s length',
  ),
  topSimSharePct: number(
    '%',
    'cycle',
    { pool: 'nullable' },
    'Part of the pool’s usage by its largest SIM; null without usage',
  ),
  poolCount: integer(null, 'free', TENANT, 'Pools of the tenant'),
  overPoolCount: integer(null, 'cycle', TENANT, 'Pools with overage'),

  usageAgeMinutes: number(
    'minutes',
    'free',
    BOTH_OR_NULL,
    'Age of the subject’s newest usage record; null without one',
  ),
  feedAgeMinutes: number(
    'minutes',
    'free',
    { tenant: 'nullable' },
    'Age of the tenant’s newest usage record; null without one',
  ),
  feedAgePct: number(
    '%',
    'free',
    { sim: 'nullable', tenant: 'nullable' },
    'Age of the tenant’s newest usage record as a share of the cycle’s length; null without one',
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

/** All facts of one kind of subject; none may be missing. */
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
  /** Whether it never falls within a cycle, except by corrections. */
  readonly monotone: boolean
  /** Whether it starts again with each cycle. */
  readonly cycleBound: boolean
  readonly meaning: string
  /** The table of its codes; null if the value is not a code. */
  readonly codes: CodeTable | null
}

function catalogueOf(subject: SubjectKind): ReadonlyMap<string, Fact> {
  const found = Object.entries(FACTS).flatMap(([name, { subjects, ...spec }]): [string, Fact][] => {
    const presence = Object.entries(subjects).find(([whose]) => whose === subject)?.[1]
    return presence === undefined ? [] : [[name, { name, ...spec, nullable: presence === 'nullable' }]]
  })
  return new Map(found)
}
const CATALOGUES = { sim: catalogueOf('sim'), pool: catalogueOf('pool'), tenant: catalogueOf('tenant') }

/** The facts of one kind of subject, in the table's order. */
export const factsOf = (subject: SubjectKind): ReadonlyMap<string, Fact> => CATALOGUES[subject]

/** The kinds of subject that have a fact with this name; empty if there is no such fact. */
export const subjectsWith = (name: string): SubjectKind[] =>
  SUBJECT_KINDS.filter((subject) => factsOf(subject).has(name))
