/**
 * The demonstration estate: Meadow Metering, its tariffs, pools and 300 SIMs, as plain data.
 *
 * Each SIM has the future behaviour of its device (`device`) next to the data for its provisioning. So it is known in
 * advance what the watchdog finds in the usage made from it (usage.ts). Its numbers are unassigned: ICCIDs and
 * MSISDNs use the unassigned country code 999, IMSIs the test network 001-01, IMEIs the test range 00.
 */
import { PoolType, TariffType, WatchdogMode } from '../domain/codes.ts'
import type { NewPool } from '../domain/pools/pool.ts'
import type { NewTariff } from '../domain/tariffs/tariff.ts'
import { GB, MB } from '../domain/units.ts'
import { type EstateSim, makeDepotSims, makeSims } from './sims.ts'

export type { EstateSim } from './sims.ts'

export interface EstateTariff extends NewTariff {
  readonly key: string
}
export interface EstatePool extends Omit<NewPool, 'tariffId'> {
  readonly key: string
  readonly name: string
  /** Key of the pool's tariff. */
  readonly tariff: string
}
/** A change, queued during the month, effective at its end. */
export type QueuedChange =
  | { readonly iccid: string; readonly kind: 'unassign' }
  | { readonly iccid: string; readonly kind: 'reprovision'; readonly pool?: string; readonly tariff?: string }

export interface Estate {
  readonly tenant: { readonly name: string; readonly billingEmail: string }
  readonly tariffs: readonly EstateTariff[]
  readonly pools: readonly EstatePool[]
  readonly sims: readonly EstateSim[]
  readonly monthEnd: readonly QueuedChange[]
}

/** The seed of the usage file in the repository. */
export const DEMO_SEED = 2026

const TARIFFS: readonly EstateTariff[] = [
  {
    key: 'metering',
    displayName: 'Metering 100 MB',
    description: 'Each SIM has 100 MB of its own; for devices that send readings',
    type: TariffType.Standard,
    standardTariff: {
      baseTariffBytes: 100 * MB,
      simMonthlyFee: 0.9,
      smsFee: 0.04,
      voiceFee: 0.11,
      overageFeePerGb: 8,
    },
  },
  {
    key: 'router',
    displayName: 'Router 2 GB',
    description: 'Each SIM has 2 GB of its own; for gateways and chargers with a screen',
    type: TariffType.Standard,
    standardTariff: { baseTariffBytes: 2 * GB, simMonthlyFee: 6.5, smsFee: 0.04, voiceFee: 0.11, overageFeePerGb: 4.5 },
  },
  {
    key: 'fleet',
    displayName: 'Fleet 500 MB shared',
    description: 'Each SIM brings 500 MB into its pool',
    type: TariffType['Dynamic Pool'],
    dynamicPoolTariff: {
      baseTariffBytes: 500 * MB,
      simMonthlyFee: 2.4,
      smsFee: 0.04,
      voiceFee: 0.11,
      overageFeePerGb: 5,
    },
  },
  {
    key: 'sensing',
    displayName: 'Sensing 250 MB shared',
    description: 'Each SIM brings 250 MB into its pool',
    type: TariffType['Dynamic Pool'],
    dynamicPoolTariff: {
      baseTariffBytes: 250 * MB,
      simMonthlyFee: 1.5,
      smsFee: 0.04,
      voiceFee: 0.11,
      overageFeePerGb: 6,
    },
  },
  {
    key: 'bucket-20',
    displayName: 'Bucket 20 GB',
    description: '20 GB for the pool, however many SIMs it has',
    type: TariffType['Fixed Pool'],
    fixedPoolTariff: {
      fixedCapacityBytes: 20 * GB,
      fixedBucketCost: 69,
      simMonthlyFee: 0.5,
      smsFee: 0.04,
      voiceFee: 0.11,
      overageFeePerGb: 5.5,
    },
  },
  {
    key: 'bucket-10',
    displayName: 'Bucket 10 GB',
    description: '10 GB for the pool, however many SIMs it has',
    type: TariffType['Fixed Pool'],
    fixedPoolTariff: {
      fixedCapacityBytes: 10 * GB,
      fixedBucketCost: 38,
      simMonthlyFee: 0.5,
      smsFee: 0.04,
      voiceFee: 0.11,
      overageFeePerGb: 6,
    },
  },
]

const POOLS: readonly EstatePool[] = [
  {
    key: 'households',
    name: 'Household meters',
    type: PoolType.Standard,
    tariff: 'metering',
    watchdogMode: WatchdogMode.Enforce,
    warningThresholdPct: 90,
  },
  {
    key: 'vans',
    name: 'Service vans',
    type: PoolType.Dynamic,
    tariff: 'fleet',
    watchdogMode: WatchdogMode.Enforce,
    warningThresholdPct: 80,
  },
  {
    key: 'lamps',
    name: 'Street lighting',
    type: PoolType.Standard,
    tariff: 'bucket-20',
    watchdogMode: WatchdogMode.Monitor,
    warningThresholdPct: 75,
  },
  {
    key: 'wells',
    name: 'Well sensors',
    type: PoolType.Dynamic,
    tariff: 'sensing',
    watchdogMode: WatchdogMode.Monitor,
    warningThresholdPct: 70,
    enableBurnRateAlerts: true,
  },
  {
    key: 'weather',
    name: 'Weather stations',
    type: PoolType.Standard,
    tariff: 'bucket-10',
    watchdogMode: WatchdogMode.Enforce,
    warningThresholdPct: 80,
    enableBurnRateAlerts: true,
  },
  {
    key: 'chargers',
    name: 'Charging points',
    type: PoolType.Standard,
    tariff: 'router',
    watchdogMode: WatchdogMode.Monitor,
    warningThresholdPct: 75,
  },
  {
    key: 'workshop',
    name: 'Workshop',
    type: PoolType.Standard,
    tariff: 'metering',
    watchdogMode: WatchdogMode.Disabled,
  },
]

/**
 * The changes queued for the month's end. Five SIMs of other pools, one of them over its limit, move to the chargers.
 * Two of the households get their own tariff. Four are handed back, one of them over its limit.
 */
function queuedChanges(sims: readonly EstateSim[]): QueuedChange[] {
  const named = (pool: string, places: readonly number[]) => {
    const members = sims.filter((sim) => sim.pool === pool)
    return places.map((place) => members.at(place)?.iccid ?? '')
  }
  const heaviest = (pool: string) =>
    sims
      .filter((sim) => sim.pool === pool && sim.isWatchdogExempt !== true)
      .reduce((most, sim) => (sim.device.monthBytes > most.device.monthBytes ? sim : most)).iccid
  const moving = new Set([heaviest('households'), ...named('households', [3, 57]), ...named('lamps', [8, 40])])
  const leaving = new Set([heaviest('vans'), ...named('vans', [12]), ...named('wells', [5, 20])])
  return [
    ...[...moving].map((iccid) => ({ iccid, kind: 'reprovision', pool: 'chargers' }) as const),
    ...named('households', [22, 75]).map((iccid) => ({ iccid, kind: 'reprovision', tariff: 'router' }) as const),
    ...[...leaving].map((iccid) => ({ iccid, kind: 'unassign' }) as const),
  ]
}

/** The estate of the demonstration. The same seed makes the same estate. */
export function demoEstate(seed: number = DEMO_SEED): Estate {
  const sims = makeSims(seed)
  return {
    tenant: { name: 'Meadow Metering', billingEmail: 'billing@meadow.example' },
    tariffs: TARIFFS,
    pools: POOLS,
    sims,
    monthEnd: queuedChanges(sims),
  }
}

/**
 * The small estate of the month end's demonstration. Of its 20 SIMs three go over their limits; the heaviest meter and
 * another move to the chargers, and a van is handed back.
 */
export function depotEstate(seed: number = DEMO_SEED): Estate {
  const sims = makeDepotSims(seed)
  const [heaviest, other] = sims
    .filter(({ pool }) => pool === 'households')
    .toSorted((a, b) => b.device.monthBytes - a.device.monthBytes)
  const van = sims.find(({ pool }) => pool === 'vans')
  const moving = [heaviest, other].flatMap((sim) => sim ?? [])
  const pools = POOLS.filter(({ key }) => sims.some(({ pool }) => pool === key))
  return {
    tenant: { name: 'Meadow Depot', billingEmail: 'depot@meadow.example' },
    tariffs: TARIFFS.filter(({ key }) => pools.some(({ tariff }) => tariff === key)),
    pools,
    sims,
    monthEnd: [
      ...moving.map(({ iccid }) => ({ iccid, kind: 'reprovision', pool: 'chargers' }) as const),
      ...(van === undefined ? [] : [{ iccid: van.iccid, kind: 'unassign' } as const]),
    ],
  }
}
