/**
 * The cost of a billing cycle so far, and at its end if usage goes on as it did. Source: the internal interface,
 * /internal/cycles/{key}/cost. Its size is bounded. Costs are kept (service/month-end/keep-answer.ts).
 */
import { type Static, Type } from 'typebox'
import { Count, firstOfList, Instant, nullable, strictObject, Text } from '../schema.ts'

const Money = (what: string) => Type.Integer({ description: `${what}, in micro-units of the currency` })

/** Most pools of a cost. */
export const MOST_POOLS = 1000

const parts = {
  feeMicro: Money('Monthly fees of SIMs active in the cycle, and the cost of buckets'),
  overageMicro: Money('Overage'),
  voiceMicro: Money('Voice'),
  smsMicro: Money('Messages'),
  adjustmentsMicro: Type.Integer({ description: 'Adjustments of earlier cycles, in micro-units; may be below 0' }),
  totalMicro: Money('Sum of all parts'),
}
const CostParts = strictObject(parts)
export type CostParts = Static<typeof CostParts>

const PoolCost = strictObject({
  poolId: Count('Pool; 0: outside pools'),
  poolName: Type.String({ description: 'Name of the pool; empty outside pools' }),
  lines: Count('Lines of the statement: the pool’s and its SIMs’'),
  usageBytes: Count('Bytes used'),
  limitBytes: Count('Capacity in this cycle'),
  overageBytes: Count('Bytes of overage'),
  overageMicro: parts.overageMicro,
  totalMicro: Money('Sum of these lines'),
  forecastMicro: nullable(Money('The same at the end of the cycle; null: not yet known')),
})
export type PoolCost = Static<typeof PoolCost>

export const CycleCost = strictObject({
  cycle: Type.String({ description: 'Key of the cycle' }),
  startsAt: Instant('First instant'),
  endsAt: Instant('First instant of the next cycle'),
  closedAt: nullable(Instant('Time of the close: the figures are of its statement; null while it is open')),
  currency: Text('ISO 4217', 'EUR'),
  asOf: Instant('Time of the figures: of an open cycle within the last minute, unless they take long to add up'),
  knownTo: Instant('End of the known usage, which a forecast rests on'),
  lines: Count('Lines that a statement would have, adjustments included'),
  usageBytes: Count('Bytes used'),
  overageBytes: Count('Bytes of overage'),
  voiceSeconds: Count('Seconds of voice'),
  smsCount: Count('Messages'),
  soFar: CostParts,
  forecast: Type.Union([CostParts, Type.Null()], {
    description:
      'At the end of the cycle, if usage goes on as it did: fees and adjustments as they are, voice and messages by the part of the cycle that is known, overage by the usage of each pool, outside shared pools of each SIM. Null in the first tenth of the cycle: not yet known. Of an ended cycle: as so far',
  }),
  pools: firstOfList(PoolCost, 'Pools by id, and one entry for SIMs outside pools', MOST_POOLS),
})
export type CycleCost = Static<typeof CycleCost>
