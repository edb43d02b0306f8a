/**
 * The effects of the end of a billing cycle if it happened now. Source: the internal interface,
 * /internal/cycles/{key}/plan. Its size is bounded: a list has its first entries, and the number of further ones.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { Count, Id, Instant, nullable, strictObject } from '../schema.ts'
import { PoolChange } from './month-end.ts'

const Money = (what: string) => Type.Integer({ description: `${what}, in micro-units of the currency` })

/** Most entries of each list in a plan. Together some 700 kB. */
export const MOST_NAMED = { pools: 1000, changes: 500, conflicts: 500, renewals: 2000, adjustments: 100 } as const

const listOf = <T extends TSchema>(of: T, what: string, most: number) =>
  strictObject({
    count: Count(what),
    first: Type.Array(of, { maxItems: most, description: `The first ${most}` }),
    more: Count('How many come after these'),
  })

const amounts = {
  usageBytes: Count('Bytes used'),
  voiceSeconds: Count('Seconds of voice'),
  smsCount: Count('Messages'),
  overageBytes: Count('Bytes over'),
}
const charges = {
  feeMicro: Money('Monthly fees and the cost of buckets'),
  smsMicro: Money('Messages'),
  voiceMicro: Money('Voice'),
  overageMicro: Money('Overage'),
}

export const PlannedPool = strictObject({
  poolId: Count('Pool; 0: outside pools'),
  poolName: Type.String({ description: "The pool's name; empty outside pools" }),
  lines: Count('Lines of the statement: its own and its SIMs’'),
  ...amounts,
  limitBytes: Count('Capacity in this cycle'),
  nextLimitBytes: Count('Capacity at the start of the next cycle, the queued changes applied'),
  ...charges,
  totalMicro: Money('What its lines add up to'),
})
export type PlannedPool = Static<typeof PlannedPool>

const Conflict = strictObject({
  simId: Id('SIM'),
  iccid: Type.String({ description: 'ICCID' }),
  code: Type.String({ description: 'Stable code of what its ticket would be refused with' }),
  detail: Type.String({ description: 'Why, for people' }),
})
export type Conflict = Static<typeof Conflict>

const PlannedAdjustment = strictObject({
  cycle: Type.String({ description: 'The closed cycle that it is of' }),
  lines: Count('Lines of the statement'),
  totalMicro: Type.Integer({ description: 'What they add up to, in micro-units of the currency; may be below 0' }),
})

export const MonthEndPlan = strictObject({
  cycle: Type.String({ description: 'Key of the cycle' }),
  endsAt: Instant('Its end, where the changes take effect'),
  closedAt: nullable(
    Instant('When it was closed: there is nothing left to do, the figures are its statement’s; null while it is open'),
  ),
  statement: Type.Boolean({ description: 'False: nothing was in the cycle, it is closed by a row and without a mail' }),
  totals: strictObject({
    lines: Count('Lines of the statement, adjustments included'),
    ...amounts,
    ...charges,
    adjustmentsMicro: Type.Integer({ description: 'Adjustments of earlier cycles, in micro-units; may be below 0' }),
    totalMicro: Money('What all lines add up to'),
  }),
  pools: listOf(PlannedPool, 'Pools, by id; one of them stands for outside pools', MOST_NAMED.pools),
  adjustments: listOf(PlannedAdjustment, 'Closed cycles with adjustments, the oldest first', MOST_NAMED.adjustments),
  changes: strictObject({
    ...listOf(PoolChange, 'Changes queued before the end, by SIM; conflicts among them', MOST_NAMED.changes).properties,
    moves: Count('Changes of pool or tariff that nothing stands against'),
    unassignments: Count('Unassignments that nothing stands against'),
  }),
  conflicts: listOf(Conflict, 'Changes that would fail as things stand, and stay queued', MOST_NAMED.conflicts),
  renewals: listOf(
    Id('SIM'),
    'SIMs the watchdog has suspended until the renewal, to be brought back',
    MOST_NAMED.renewals,
  ),
})
export type MonthEndPlan = Static<typeof MonthEndPlan>
