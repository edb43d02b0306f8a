/** Pools. Source: service document, sections 2.3 and 4.2. 1 MB is 10^6 bytes. */
import { type Static, Type } from 'typebox'
import { codeSchema, labelOf, metadataOf, PoolStatus, PoolType, TariffType, WatchdogMode } from '../codes.ts'
import { cursorQuery } from '../cursor.ts'
import { ServiceError } from '../errors.ts'
import { codeList, pageQuery } from '../page.ts'
import { Id, Instant, Label, nullable, objectWithExample, optional, strictObject } from '../schema.ts'
import { TariffSummary } from '../tariffs/tariff.ts'
import { poolTakesTariff } from '../usage/allowance.ts'

const ThresholdPct = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'Usage alert threshold in percent, 1 to 100',
})
const BurnRate = Type.Boolean({ description: 'Whether burn rate alerts are enabled' })

export const PoolQuery = Type.Object({ ...pageQuery, ...cursorQuery('pools') })
export type PoolQuery = Static<typeof PoolQuery>

export const Pool = objectWithExample(
  {
    id: Id('Pool id'),
    name: Type.String({ description: 'Pool name' }),
    type: codeSchema(PoolType, 'Pool type'),
    watchdogMode: codeSchema(WatchdogMode, 'Watchdog mode'),
    warningThresholdPct: nullable(ThresholdPct),
    enableBurnRateAlerts: nullable(BurnRate),
    status: codeSchema(PoolStatus, 'Pool status'),
    createdAt: Instant('Creation timestamp'),
    updatedAt: Instant('Last update timestamp'),
    activatedAt: Instant('Activation timestamp'),
    activeSimCount: Type.Integer({ description: 'Number of active SIMs' }),
    totalSimCount: Type.Integer({ description: 'Total SIMs in the pool' }),
    limitMB: Type.Number({
      description:
        'Total capacity in MB. With a Standard tariff, the sum of its SIMs’ own allowances: they share no data',
    }),
    usageMB: Type.Number({ description: 'Data consumed this cycle in MB' }),
    isOverage: Type.Boolean({
      description:
        'Whether the pool is in overage. With a Standard tariff: whether any of its SIMs is above its own ' +
        'allowance, even if remainingMB is above 0',
    }),
    remainingMB: Type.Number({
      description: 'Remaining capacity in MB. With a Standard tariff, the sum of its SIMs’ remaining allowances',
    }),
    overageMB: Type.Number({
      description:
        'Overage consumption in MB. With a Standard tariff, the sum of its SIMs’ usage above their own allowances',
    }),
    voiceMins: Type.Number({ description: 'Voice minutes used' }),
    smsCount: Type.Integer({ description: 'SMS count' }),
    tariffId: Id('Assigned tariff id'),
    tariff: TariffSummary,
    daysUntilRenewal: Type.Integer({ description: 'Days until the next billing cycle renewal, rounded up' }),
  },
  {
    id: 1,
    name: 'Household meters',
    type: PoolType.Standard,
    watchdogMode: WatchdogMode.Monitor,
    warningThresholdPct: 80,
    enableBurnRateAlerts: null,
    status: PoolStatus.Active,
    createdAt: '2026-09-14T08:00:00.000Z',
    updatedAt: '2026-10-02T09:30:00.000Z',
    activatedAt: '2026-09-14T08:00:00.000Z',
    activeSimCount: 40,
    totalSimCount: 42,
    limitMB: 4000,
    usageMB: 1834.25,
    isOverage: false,
    remainingMB: 2165.75,
    overageMB: 0,
    voiceMins: 12.5,
    smsCount: 96,
    tariffId: 1,
    tariff: { id: 1, displayName: 'Metering 100 MB', type: TariffType.Standard },
    daysUntilRenewal: 11,
  },
)
export type Pool = Static<typeof Pool>

export const NewPool = objectWithExample(
  {
    name: optional(
      Label('Pool display name, 1 to 50 characters; else "Pool <id>"', 'Garden sensors', {
        minLength: 1,
        maxLength: 50,
      }),
    ),
    type: codeSchema(PoolType, 'Pool type'),
    tariffId: Id('Tariff to assign'),
    watchdogMode: codeSchema(WatchdogMode, 'Watchdog mode'),
    warningThresholdPct: optional(ThresholdPct),
    enableBurnRateAlerts: optional(BurnRate),
  },
  {
    name: 'Garden sensors',
    type: PoolType.Standard,
    tariffId: 1,
    watchdogMode: WatchdogMode.Monitor,
    warningThresholdPct: 80,
  },
)
export type NewPool = Static<typeof NewPool>

const settings = {
  name: Label('Pool display name, 3 to 50 characters', 'Garden sensors', { minLength: 3, maxLength: 50 }),
  watchdogMode: codeSchema(WatchdogMode, 'Watchdog mode'),
  warningThresholdPct: optional(ThresholdPct),
  enableBurnRateAlerts: optional(BurnRate),
}
/** The other fields of a pool. A client that reads a pool and changes a setting sends every field back. */
const ignored = Type.Partial(
  Type.Omit(Pool, ['name', 'watchdogMode', 'warningThresholdPct', 'enableBurnRateAlerts']),
).properties

/** Replaces a pool's settings: an omitted nullable one becomes null. Other fields of a pool are ignored. */
export const PoolUpdate = objectWithExample(
  { ...settings, ...ignored },
  { name: 'Garden sensors', watchdogMode: WatchdogMode.Enforce, warningThresholdPct: 90, enableBurnRateAlerts: true },
)
export type PoolUpdate = Static<typeof PoolUpdate>

/** Checks that a pool's type takes a tariff's type. @throws ServiceError tariff_pool_mismatch if it does not */
export function mustFit(pool: PoolType, tariff: TariffType): void {
  if (poolTakesTariff(pool, tariff)) return
  const takes = pool === PoolType.Dynamic ? 'a Dynamic Pool tariff' : 'a Standard or Fixed Pool tariff'
  throw new ServiceError(
    'tariff_pool_mismatch',
    `A ${labelOf(PoolType, pool)} pool takes ${takes}, not a ${labelOf(TariffType, tariff)} one`,
  )
}

export const PoolMetadata = strictObject({
  status: codeList('Pool statuses', PoolStatus),
  type: codeList('Pool types', PoolType),
})
export const poolMetadata: Static<typeof PoolMetadata> = { status: metadataOf(PoolStatus), type: metadataOf(PoolType) }
