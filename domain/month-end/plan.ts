/**
 * The effects of the end of a billing cycle if it happened now. Source: the internal interface,
 * /internal/cycles/{key}/plan. Its size is bounded: a list has its first entries, and the number of further ones. Plans
 * are kept (service/month-end/keep-answer.ts).
 */
import { type Static, Type } from 'typebox'
import { Count, firstOfList, Id, Instant, nullable, strictObject, Text } from '../schema.ts'
import { PoolChange } from './month-end.ts'

const Money = (what: string) => Type.Integer({ description: `${what}, in micro-units of the currency` })

/** Most entries of each list in a plan. Together some 700 kB. */
export const MOST_NAMED = {
  pools: 1000,
  changes: 500,
  conflicts: 500,
  renewals: 2000,
  adjustments: 100,
  differences: 100,
} as const

const amounts = {
  usageBytes: Count('Bytes used'),
  voiceSeconds: Count('Seconds of voice'),
  smsCount: Count('Messages'),
  overageBytes: Count('Bytes of overage'),
}
const charges = {
  feeMicro: Money('Monthly fees and the cost of buckets'),
  smsMicro: Money('Messages'),
  voiceMicro: Money('Voice'),
  overageMicro: Money('Overage'),
}

export const PlannedPool = strictObject({
  poolId: Count('Pool; 0: outside pools'),
  poolName: Type.String({ description: 'Name of the pool; empty outside pools' }),
  lines: Count('Lines of the statement: the pool’s and its SIMs’'),
  ...amounts,
  limitBytes: Count('Capacity in this cycle'),
  nextLimitBytes: Count(
    'Capacity at the start of the next cycle, after the queued changes; of a closed cycle as known at `at`',
  ),
  ...charges,
  totalMicro: Money('Sum of these lines'),
})
export type PlannedPool = Static<typeof PlannedPool>

const Conflict = strictObject({
  simId: Id('SIM'),
  iccid: Type.String({ description: 'ICCID' }),
  code: Type.String({ description: "Stable code of the ticket's refusal" }),
  detail: Type.String({ description: 'Reason in words' }),
})
export type Conflict = Static<typeof Conflict>

const PlannedAdjustment = strictObject({
  cycle: Type.String({ description: 'The adjusted closed cycle' }),
  lines: Count('Lines of the statement'),
  totalMicro: Type.Integer({ description: 'Sum of these lines, in micro-units of the currency; may be below 0' }),
})

const More = (what: string) => Type.Integer({ description: `${what}: of the statement, less those of the plan` })
const MoreMoney = (what: string) => More(`${what}, in micro-units of the currency`)
const PoolDifference = strictObject({
  poolId: Count('Pool; 0: outside pools'),
  poolName: Type.String({ description: 'Name of the pool; empty outside pools' }),
  lines: More('Lines'),
  usageBytes: More('Bytes used'),
  totalMicro: MoreMoney('Sum of its lines'),
})
export type PoolDifference = Static<typeof PoolDifference>

const Difference = strictObject({
  plannedAt: Instant('Time when the last plan before the close was added up'),
  lines: More('Lines, adjustments included'),
  usageBytes: More('Bytes used'),
  voiceSeconds: More('Seconds of voice'),
  smsCount: More('Messages'),
  overageBytes: More('Bytes of overage'),
  feeMicro: MoreMoney('Monthly fees and the cost of buckets'),
  smsMicro: MoreMoney('Messages'),
  voiceMicro: MoreMoney('Voice'),
  overageMicro: MoreMoney('Overage'),
  adjustmentsMicro: MoreMoney('Adjustments of earlier cycles'),
  totalMicro: MoreMoney('Sum of all lines'),
  pools: firstOfList(
    PoolDifference,
    'Pools that differ, the largest sums first; of more than 1,000 pools the first by id are compared',
    MOST_NAMED.differences,
  ),
})
export type Difference = Static<typeof Difference>

export const MonthEndPlan = strictObject({
  cycle: Type.String({ description: 'Key of the cycle' }),
  endsAt: Instant('End of the cycle, when the changes take effect'),
  closedAt: nullable(
    Instant('Time of the close: no work is left, and the figures are from its statement; null while it is open'),
  ),
  at: Instant('Time when the figures were added up'),
  statement: Type.Boolean({ description: 'False: the cycle was empty, and is closed without a mail' }),
  currency: Text('ISO 4217', 'EUR'),
  totals: strictObject({
    lines: Count('Lines of the statement, adjustments included'),
    ...amounts,
    ...charges,
    adjustmentsMicro: Type.Integer({ description: 'Adjustments of earlier cycles, in micro-units; may be below 0' }),
    totalMicro: Money('Sum of all lines'),
  }),
  pools: firstOfList(PlannedPool, 'Pools by id, and one entry for SIMs outside pools', MOST_NAMED.pools),
  adjustments: firstOfList(
    PlannedAdjustment,
    'Closed cycles with adjustments, the oldest first',
    MOST_NAMED.adjustments,
  ),
  changes: strictObject({
    ...firstOfList(PoolChange, 'Changes queued before the end, by SIM; includes conflicts', MOST_NAMED.changes)
      .properties,
    moves: Count('Changes of pool or tariff without conflict'),
    unassignments: Count('Unassignments without conflict'),
  }),
  conflicts: firstOfList(Conflict, 'Changes that would fail now, and stay queued', MOST_NAMED.conflicts),
  renewals: firstOfList(
    Id('SIM'),
    'SIMs suspended by the watchdog until the renewal, to be reactivated',
    MOST_NAMED.renewals,
  ),
  difference: Type.Union([Difference, Type.Null()], {
    description:
      'How the statement differs from the last plan before the close; null while the cycle is open, and if no plan was asked for before',
  }),
})
export type MonthEndPlan = Static<typeof MonthEndPlan>
