/**
 * The 300 SIMs of the demonstration, and the future behaviour of their devices, group by group.
 *
 * Every kind of pool crosses its warning threshold, and a few go over. But so few SIMs go over that no guard (50 newly
 * firing, 20 suspended per rule and hour) holds anything. A test checks this.
 */
import { SimType } from '../domain/codes.ts'
import { iccidOf, imeiOf } from '../domain/identifiers.ts'
import type { NewSim } from '../domain/sims/sim.ts'
import { GB, MB } from '../domain/units.ts'
import { type Random, random } from './random.ts'
import type { ProfileName } from './rhythm.ts'

/** The behaviour of a device with its SIM during the month. */
export interface Device {
  readonly profile: ProfileName
  /** 15 digits with a correct check digit. */
  readonly imei: string
  /** Bytes of the whole month, sent and received. */
  readonly monthBytes: number
  /** From this many days after the month's start, it uses far more than before; null: never. */
  readonly runawayAfterDays: number | null
  /** It falls silent this many days after the month's start; 0: it never appears; null: it stays active. */
  readonly silentAfterDays: number | null
  /** The SIM moves to another device this many days after the month's start. */
  readonly swap: { readonly afterDays: number; readonly imei: string } | null
  /** When it is abroad; null: never. */
  readonly trip: Trip | null
}

/** Days after the start of the month: its first, and the one that it is back. */
export type Trip = readonly [fromDays: number, toDays: number]

export interface EstateSim extends NewSim {
  readonly imsi: string
  readonly msisdn: string
  readonly tag: string
  readonly type: SimType
  /** Key of the pool that it is provisioned into; null: none. */
  readonly pool: string | null
  /** Key of its own tariff; null: none. */
  readonly tariff: string | null
  readonly device: Device
}

interface Group {
  readonly pool: string | null
  readonly tag: string
  readonly profile: ProfileName
  readonly count: number
  readonly shareBytes: number
  /**
   * An ordinary device's usage in the month, as a share of `shareBytes`: lowest and highest. Few come near the highest.
   */
  readonly usual: readonly [number, number]
  /**
   * Usage of the special devices, as multiples of `shareBytes`. With `exempt`, the first of them is exempt, and so is
   * the group's last role.
   */
  readonly over: readonly number[]
  /** Days after which some devices fall silent; 0: they never appear. */
  readonly silent: readonly number[]
  readonly exempt?: boolean
  readonly swaps?: number
  readonly trips?: readonly Trip[]
  readonly ownTariff?: { readonly key: string; readonly count: number }
}

type Kind = Pick<Group, 'pool' | 'tag' | 'profile' | 'shareBytes' | 'usual'>

const METERS: Kind = {
  pool: 'households',
  tag: 'meter',
  profile: 'meter',
  shareBytes: 100 * MB,
  usual: [0.15, 0.85],
}
const VANS: Kind = { pool: 'vans', tag: 'van', profile: 'van', shareBytes: 500 * MB, usual: [0.35, 0.74] }
const CHARGERS: Kind = {
  pool: 'chargers',
  tag: 'charger',
  profile: 'charger',
  shareBytes: 2 * GB,
  usual: [0.6, 0.74],
}

const GROUPS: readonly Group[] = [
  {
    ...METERS,
    count: 100,
    over: [1.4, 1.12, 1.2, 1.3, 1.55, 1.9, 2.6, 4.2, 7.5, 0.94, 0.97],
    silent: [0, 0, 5, 8, 11],
    exempt: true,
    swaps: 1,
    ownTariff: { key: 'router', count: 4 },
  },
  {
    ...VANS,
    count: 60,
    over: [5.5, 5.2, 5.6, 5.9, 6.2, 6.7, 7.1, 7.6, 8.8, 0.86, 0.93],
    silent: [9],
    exempt: true,
    swaps: 1,
    trips: [
      [2, 4],
      [6, 9],
      [11, 18],
    ],
  },
  {
    pool: 'lamps',
    tag: 'lamp',
    profile: 'lamp',
    count: 54,
    shareBytes: Math.floor((20 * GB) / 54),
    usual: [0.4, 0.7],
    over: [5.5, 6.2, 6.9, 7.6, 8.6, 11, 0.82],
    silent: [0, 6, 10],
  },
  {
    pool: 'wells',
    tag: 'well',
    profile: 'sensor',
    count: 28,
    shareBytes: 250 * MB,
    usual: [0.5, 0.67],
    over: [3.2, 4.1, 5],
    silent: [7],
  },
  {
    pool: 'weather',
    tag: 'weather',
    profile: 'sensor',
    count: 18,
    shareBytes: Math.floor((10 * GB) / 18),
    usual: [0.6, 0.78],
    over: [2.8, 3.6],
    silent: [],
  },
  {
    ...CHARGERS,
    count: 20,
    over: [2.2, 3.4],
    silent: [],
  },
  {
    pool: 'workshop',
    tag: 'bench',
    profile: 'sensor',
    count: 8,
    shareBytes: 100 * MB,
    usual: [0.02, 0.3],
    over: [12],
    silent: [0],
  },
  {
    pool: null,
    tag: 'lift',
    profile: 'lift',
    count: 12,
    shareBytes: 100 * MB,
    usual: [0.2, 0.7],
    over: [1.7],
    silent: [],
    ownTariff: { key: 'metering', count: 12 },
  },
]

const DEPOT_GROUPS: readonly Group[] = [
  { ...METERS, count: 10, over: [1.4, 2.6], silent: [] },
  { ...VANS, count: 6, over: [5.5], silent: [] },
  { ...CHARGERS, count: 4, over: [], silent: [] },
]

const padded = (n: number, length: number) => String(n).padStart(length, '0')

/**
 * Of the special devices that go over, three in four become runaways, on day 5 to 13. The others use much all month.
 */
const runawayDay = (dice: Random, multiple: number) => (multiple > 1 && dice.chance(0.75) ? dice.whole(5, 13) : null)

function deviceOf(group: Group, role: number, serial: number, dice: Random): Device {
  const imei = imeiOf(`00101300${padded(serial, 6)}`)
  const multiple = group.over[role]
  const silentAfterDays = multiple === undefined ? (group.silent[role - group.over.length] ?? null) : null
  const specials = group.over.length + group.silent.length
  const swapped = specials + (group.swaps ?? 0)
  const [least, most] = group.usual
  // Squared: many devices use little, few come near the highest.
  const usual = least + (most - least) * dice.unit() * dice.unit()
  const monthShare = silentAfterDays === null ? usual : (usual * silentAfterDays) / 31
  return {
    profile: group.profile,
    imei,
    monthBytes: Math.round((multiple ?? monthShare) * group.shareBytes),
    runawayAfterDays: multiple === undefined ? null : runawayDay(dice, multiple),
    silentAfterDays,
    swap:
      role >= specials && role < swapped
        ? { afterDays: dice.whole(12, 18), imei: imeiOf(`00101399${padded(serial, 6)}`) }
        : null,
    trip: group.trips?.[role - swapped] ?? null,
  }
}

/** @param serial number of the group's first SIM */
function simsOf(group: Group, seed: number, serial: number): EstateSim[] {
  const dice = random(seed, 'estate', group.tag)
  const roles = dice.shuffled(Array.from({ length: group.count }, (_, role) => role))
  return roles.map((role, place) => {
    const n = serial + place
    return {
      iccid: iccidOf(`8999901${padded(20_260_000_000 + n, 11)}`),
      imsi: `00101${padded(n, 10)}`,
      msisdn: `99910${padded(n, 8)}`,
      tag: `${group.tag}-${padded(place + 1, 3)}`,
      type: dice.chance(0.4) ? SimType.eSIM : SimType['Physical SIM'],
      ...(group.exempt === true && (role === 0 || role === group.count - 1) ? { isWatchdogExempt: true } : {}),
      pool: group.pool,
      // From the last role down, so no special device gets another allowance.
      tariff: role >= group.count - (group.ownTariff?.count ?? 0) ? (group.ownTariff?.key ?? null) : null,
      device: deviceOf(group, role, n, dice),
    }
  })
}

/** The SIMs of the estate, in the order of their ICCIDs. The same seed makes the same SIMs. */
export function makeSims(seed: number): EstateSim[] {
  return simsOfGroups(GROUPS, seed, 1)
}

/** Numbers behind those of {@link makeSims}. */
const DEPOT_FROM = 1001
/** The SIMs of the month end's demonstration: 20, of which three go over. */
export const makeDepotSims = (seed: number): EstateSim[] => simsOfGroups(DEPOT_GROUPS, seed, DEPOT_FROM)

function simsOfGroups(groups: readonly Group[], seed: number, from: number): EstateSim[] {
  const sims: EstateSim[] = []
  for (const group of groups) sims.push(...simsOf(group, seed, from + sims.length))
  return sims
}
