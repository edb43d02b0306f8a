/**
 * The estate of a timeline: SIMs, pools and their usage in memory. It gives the same rows as the store, so facts are
 * computed as in the service. Instants are epoch milliseconds.
 */
import { PoolType, SimStatus, SimType, TariffType, WatchdogMode } from '../../domain/codes.ts'
import type { PoolRow } from '../../domain/enforcement/enforcement.ts'
import { type Cycle, cycleAt } from '../../domain/time/cycle.ts'
import { fromMoney } from '../../domain/units.ts'
import { type Allowance, governingTariff, type PoolFigures, poolFigures } from '../../domain/usage/allowance.ts'
import { mayBePicked, type WatchdogSettings } from '../../domain/watchdog/settings.ts'
import type { SubjectFacts } from '../alerts/subject.ts'
import { fitsPattern } from '../engine/match.ts'
import type {
  FeedRow,
  Fees,
  OverageCharges,
  PoolFactRow,
  PoolScan,
  SimRow,
  SimWindowSums,
  TagFactRow,
  TagScan,
  TenantFactRow,
  TicketCounts,
  WindowSums,
} from '../fact-rows.ts'
import {
  type Moment,
  poolFactsOf,
  type SimFactRow,
  silentBefore,
  simFactsOf,
  tagFactsOf,
  tenantFactsOf,
  ticketsSince,
} from '../facts-of.ts'
import type { TimelineEvent, TimelineTest } from './test-file.ts'

/** MB of a timeline in whole bytes. */
export const usedBytes = (megabytes: number): number => Math.round(megabytes * 1e6)

interface Usage {
  readonly at: number
  readonly bytes: number
  readonly sms: number
  readonly sessions: number
}

interface UsageEntry extends Usage {
  /** The pool that it counts in; null outside pools. */
  readonly pool: PoolState | null
}

type Settings = { -readonly [K in keyof WatchdogSettings]: WatchdogSettings[K] }

export interface PoolState extends Settings {
  readonly id: number
  readonly name: string
  readonly tariff: Allowance & Fees
}

/** Where a SIM was last seen; null until known. */
type Place = Pick<SimRow, 'country' | 'mccMnc' | 'rat'>

export interface TimelineSim extends Settings {
  readonly id: number
  readonly name: string
  readonly tag: string
  /** Of a provisioned SIM: see {@link seatOf}. */
  readonly pool: PoolState | null
  readonly own: (Allowance & Fees) | null
  exempt: boolean
  status: SimStatus
  statusSince: number
  /** Cause of its suspension; null if it is not Suspended. */
  suspension: SimRow['suspension']
  /** A person gave it its status in this cycle: the watchdog leaves it alone. Key of the cycle. */
  heldIn: string | null
  devices: number
  deviceChangedAt: number | null
  lastSeenAt: number | null
  place: Place
  countryChangedAt: number | null
  readonly used: UsageEntry[]
  /** Keys of cycles with a moment in which it was Active. */
  readonly activeIn: Set<string>
}

export interface Estate {
  readonly billingCycle: string
  readonly pools: readonly PoolState[]
  readonly sims: readonly TimelineSim[]
  readonly tickets: { readonly at: number; readonly done: number; readonly failed: number }[]
  readonly feedEvery: string
  receivedAt: number | null
  newestAt: number | null
}

const settingsOf = ({
  mode,
  warningThresholdPct = null,
  enableBurnRateAlerts = null,
}: Pick<TimelineEvent, 'mode'> & Partial<Omit<Settings, 'watchdogMode'>>): Settings => ({
  watchdogMode: mode === undefined ? null : WatchdogMode[mode],
  warningThresholdPct,
  enableBurnRateAlerts,
})

const feesOf = ({ simMonthlyFee = 0, smsFee = 0, overageFeePerGb = 0 }: Partial<Fees>): Fees => ({
  simMonthlyFee: fromMoney(simMonthlyFee),
  smsFee: fromMoney(smsFee),
  voiceFee: 0,
  overageFeePerGb: fromMoney(overageFeePerGb),
})

/** The estate at the start. The test was checked: all its names exist. */
export function estateOf(test: TimelineTest, startsAt: number): Estate {
  const billingCycle = test.cycle ?? 'P1M'
  const tariffs = new Map(
    Object.entries(test.tariffs ?? {}).map(([name, { type, allowanceMB, ...fees }]) => [
      name,
      { type: TariffType[type], allowanceBytes: usedBytes(allowanceMB), ...feesOf(fees) },
    ]),
  )
  const pools = Object.entries(test.pools ?? {}).map(
    ([name, pool], n): PoolState => ({
      ...settingsOf(pool),
      id: n + 1,
      name,
      tariff: tariffs.get(pool.tariff) ?? { type: TariffType.Standard, allowanceBytes: 0, ...feesOf({}) },
    }),
  )
  const { key } = cycleAt(billingCycle, startsAt)
  const sims = Object.entries(test.sims ?? {}).map(([name, sim], n): TimelineSim => {
    const status = SimStatus[sim.status ?? 'Active']
    return {
      ...settingsOf(sim),
      id: n + 1,
      name,
      tag: sim.tag ?? '',
      pool: pools.find((pool) => pool.name === sim.pool) ?? null,
      own: tariffs.get(sim.tariff ?? '') ?? null,
      exempt: sim.exempt ?? false,
      status,
      statusSince: startsAt,
      suspension: status === SimStatus.Suspended ? 'user' : null,
      heldIn: null,
      devices: 0,
      deviceChangedAt: null,
      lastSeenAt: null,
      place: { country: null, mccMnc: null, rat: null },
      countryChangedAt: null,
      used: [],
      activeIn: new Set(status === SimStatus.Active ? [key] : []),
    }
  })
  return {
    billingCycle,
    pools,
    sims,
    tickets: [],
    feedEvery: test.feed?.every ?? 'P1D',
    receivedAt: null,
    newestAt: null,
  }
}

const NO_SEAT = { pool: null, own: null } as const

/** The pool and the own tariff of a SIM: none if it is Unprovisioned. */
const seatOf = (sim: TimelineSim): Pick<TimelineSim, 'pool' | 'own'> =>
  sim.status === SimStatus.Unprovisioned ? NO_SEAT : sim

/** @param by who gives it the status */
export function setStatus(
  sim: TimelineSim,
  status: SimStatus,
  { at, cycle, by }: { readonly at: number; readonly cycle: Cycle; readonly by: 'user' | 'watchdog' },
): void {
  sim.suspension = status === SimStatus.Suspended ? by : null
  if (sim.status === status) return
  sim.status = status
  sim.statusSince = at
  if (status === SimStatus.Active) sim.activeIn.add(cycle.key)
}

/** Finds a SIM in a country, on a network. What is not named stays as known. */
export function findAt(sim: TimelineSim, { country, mccMnc, rat }: Partial<Place>, at: number): void {
  const before = sim.place
  sim.place = { country: country ?? before.country, mccMnc: mccMnc ?? before.mccMnc, rat: rat ?? before.rat }
  if (before.country !== null && sim.place.country !== before.country) sim.countryChangedAt = at
}

/** Notes the Active SIMs at the start of a cycle. */
export function beginCycle({ sims }: Estate, { key }: Cycle): void {
  for (const sim of sims) if (sim.status === SimStatus.Active) sim.activeIn.add(key)
}

/** Receives a record. @param at the record's instant, which may be before `receivedAt` */
export function receive(estate: Estate, sim: TimelineSim, used: Usage, receivedAt: number): void {
  sim.used.push({ ...used, pool: seatOf(sim).pool })
  sim.lastSeenAt = Math.max(sim.lastSeenAt ?? used.at, used.at)
  estate.newestAt = Math.max(estate.newestAt ?? used.at, used.at)
  estate.receivedAt = receivedAt
}

const dateOf = (at: number | null): Date | null => (at === null ? null : new Date(at))

export function feedOf({ sims, receivedAt, newestAt, feedEvery }: Estate): FeedRow {
  const active = sims.filter(({ status }) => status === SimStatus.Active).map(({ statusSince }) => statusSince)
  return {
    receivedAt: dateOf(receivedAt),
    newestAt: dateOf(newestAt),
    activeSince: active.length === 0 ? null : new Date(Math.min(...active)),
    feedEvery,
  }
}

const within = ({ used }: TimelineSim, { startsAt, endsAt }: Cycle): UsageEntry[] =>
  used.filter(({ at }) => at >= startsAt && at < endsAt)
const sumOf = (used: readonly UsageEntry[], what: 'bytes' | 'sms' | 'sessions'): number =>
  used.reduce((sum, one) => sum + one[what], 0)

const seatsOf = ({ sims }: Estate, pool: PoolState) => sims.filter((sim) => seatOf(sim).pool === pool)

/** The figures of a pool, or outside pools: of its SIMs, and of those that were Active or used something there. */
function figuresOf({ sims }: Estate, pool: PoolState | null, cycle: Cycle): PoolFigures {
  const rows = sims.flatMap((sim) => {
    const used = within(sim, cycle).filter((one) => one.pool === pool)
    const isMember = sim.pool === pool
    const contributing = isMember && sim.activeIn.has(cycle.key)
    const isSeated = isMember && sim.status !== SimStatus.Unprovisioned
    const usageBytes = Math.max(0, sumOf(used, 'bytes'))
    return isSeated || contributing || used.length > 0
      ? [{ simId: sim.id, usageBytes, contributing, own: isMember ? sim.own : null }]
      : []
  })
  return poolFigures(pool?.tariff ?? null, rows)
}

function windowSums(sims: readonly TimelineSim[], { windows }: Moment): SimWindowSums {
  const all = sims.flatMap(({ used }) => used).filter(({ at }) => at < windows.until.getTime())
  const since = (from: Date) => all.filter(({ at }) => at >= from.getTime())
  const averaged = since(windows.average).filter(({ at }) => at < windows.day.getTime())
  return {
    shortBytes: sumOf(since(windows.short), 'bytes'),
    longBytes: sumOf(since(windows.long), 'bytes'),
    dayBytes: sumOf(since(windows.day), 'bytes'),
    weekBytes: sumOf(since(windows.week), 'bytes'),
    averageBytes: sumOf(averaged, 'bytes'),
    averageSince: dateOf(averaged.length === 0 ? null : Math.min(...averaged.map(({ at }) => at))),
    todayBytes: sumOf(since(windows.today), 'bytes'),
    hourMessages: sumOf(since(windows.hour), 'sms'),
    dayMessages: sumOf(since(windows.day), 'sms'),
    daySessions: sumOf(since(windows.day), 'sessions'),
  }
}

/** The row of a SIM, as the store would read it. */
function simRowOf(estate: Estate, sim: TimelineSim, moment: Moment): SimFactRow {
  const { cycle } = moment
  const { pool, own } = seatOf(sim)
  const figures = figuresOf(estate, pool, cycle)
  const row = figures.rows.find(({ simId }) => simId === sim.id)
  const fees = governingTariff(own, pool?.tariff ?? null)
  const { limitBytes = 0, usageBytes = 0, remainingBytes = 0, overageBytes = 0 } = row ?? {}
  return {
    ...settingsRow(sim),
    simId: sim.id,
    iccid: sim.name,
    tag: sim.tag,
    type: SimType['Physical SIM'],
    status: sim.status,
    statusSince: new Date(sim.statusSince),
    suspension: sim.suspension,
    poolId: pool?.id ?? null,
    pool:
      pool === null
        ? null
        : {
            ...settingsRow(pool),
            name: pool.name,
            tariffType: pool.tariff.type,
            usageBytes: figures.usageBytes,
            limitBytes: figures.limitBytes,
          },
    tariffType: fees?.type ?? null,
    fees,
    exempt: sim.exempt,
    imei: sim.devices === 0 ? '' : `device-${sim.devices}`,
    deviceChanges: sim.devices,
    deviceChangedAt: dateOf(sim.deviceChangedAt),
    lastSeenAt: dateOf(sim.lastSeenAt),
    ...sim.place,
    countryChangedAt: dateOf(sim.countryChangedAt),
    limitBytes,
    usageBytes,
    remainingBytes,
    overageBytes,
    voiceSeconds: 0,
    smsCount: sumOf(within(sim, cycle), 'sms'),
    sessions: sumOf(within(sim, cycle), 'sessions'),
    cycleBytes: Math.max(0, sumOf(within(sim, cycle), 'bytes')),
    contributing: sim.pool === pool && sim.activeIn.has(cycle.key),
    ...windowSums([sim], moment),
  }
}

const settingsRow = ({ watchdogMode, warningThresholdPct, enableBurnRateAlerts }: Settings) => ({
  watchdogMode,
  warningThresholdPct,
  enableBurnRateAlerts,
})

const silentOf = (sims: readonly TimelineSim[], before: number): number =>
  sims.filter(
    ({ status, statusSince, lastSeenAt }) =>
      status === SimStatus.Active && statusSince < before && (lastSeenAt ?? -Infinity) < before,
  ).length

const countOf = (sims: readonly TimelineSim[], status: SimStatus): number =>
  sims.filter((sim) => sim.status === status).length

/** The row of a pool, as the store would read it. */
function poolRowOf(estate: Estate, pool: PoolState, moment: Moment): PoolFactRow & PoolScan & WindowSums {
  const sims = seatsOf(estate, pool)
  const { rows, ...figures } = figuresOf(estate, pool, moment.cycle)
  const before = silentBefore(moment)
  const seen = sims.map(({ lastSeenAt }) => lastSeenAt).filter((at) => at !== null)
  return {
    poolId: pool.id,
    poolName: pool.name,
    poolType: pool.tariff.type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard,
    tariffType: pool.tariff.type,
    mode: pool.watchdogMode ?? WatchdogMode.Monitor,
    warningThresholdPct: pool.warningThresholdPct,
    enableBurnRateAlerts: pool.enableBurnRateAlerts ?? false,
    activeSimCount: countOf(sims, SimStatus.Active),
    totalSimCount: sims.length,
    ...figures,
    overSimCount: rows.filter(({ excessBytes }) => excessBytes > 0).length,
    silentSimCount: silentOf(sims, before),
    topSimBytes: Math.max(0, ...rows.map((row) => row.usageBytes)),
    lastSeenAt: seen.length === 0 ? null : new Date(Math.max(...seen)),
    ...windowSums(sims, moment),
  }
}

/** The row of the tenant, as the store would read it. Tariffs of a timeline have no fees, so there are no charges. */
function tenantRowOf(estate: Estate, moment: Moment): TenantFactRow & TicketCounts & OverageCharges {
  const { sims, pools, tickets } = estate
  const ofPools = pools.map((pool) => figuresOf(estate, pool, moment.cycle))
  const all = [...ofPools, figuresOf(estate, null, moment.cycle)]
  const ended = tickets.filter(({ at }) => at >= ticketsSince(moment))
  return {
    name: 'timeline',
    simCount: sims.length,
    activeSimCount: countOf(sims, SimStatus.Active),
    suspendedSimCount: countOf(sims, SimStatus.Suspended),
    unprovisionedSimCount: countOf(sims, SimStatus.Unprovisioned),
    poolCount: pools.length,
    overPoolCount: ofPools.filter(({ overageBytes }) => overageBytes > 0).length,
    usageBytes: all.reduce((sum, { usageBytes }) => sum + usageBytes, 0),
    overageBytes: all.reduce((sum, { overageBytes }) => sum + overageBytes, 0),
    doneTickets: ended.reduce((sum, { done }) => sum + done, 0),
    failedTickets: ended.reduce((sum, { failed }) => sum + failed, 0),
    feeMicro: 0,
    overageMicro: 0,
    forecastMicro: 0,
  }
}

/** The row of a tag, as the store would read it. */
function tagRowOf(estate: Estate, tag: string, moment: Moment): TagFactRow & TagScan {
  const sims = estate.sims.filter((sim) => fitsPattern(tag, sim.tag))
  const ids = new Set(sims.map(({ id }) => id))
  const rows = [...estate.pools, null]
    .flatMap((pool) => figuresOf(estate, pool, moment.cycle).rows)
    .filter(({ simId }) => ids.has(simId))
  const used = sims.flatMap((sim) => within(sim, moment.cycle))
  return {
    tag,
    simCount: sims.length,
    activeSimCount: countOf(sims, SimStatus.Active),
    suspendedSimCount: countOf(sims, SimStatus.Suspended),
    unprovisionedSimCount: countOf(sims, SimStatus.Unprovisioned),
    silentSimCount: silentOf(sims, silentBefore(moment)),
    overSimCount: new Set(rows.filter(({ excessBytes }) => excessBytes > 0).map(({ simId }) => simId)).size,
    usageBytes: rows.reduce((sum, { usageBytes }) => sum + usageBytes, 0),
    overageBytes: rows.reduce((sum, { overageBytes }) => sum + overageBytes, 0),
    voiceSeconds: 0,
    smsCount: sumOf(used, 'sms'),
    sessions: sumOf(used, 'sessions'),
  }
}

/** The SIMs of a pool as enforcement picks from them, and the pool's overage in bytes. */
export function pickable(
  estate: Estate,
  pool: PoolState,
  cycle: Cycle,
): { readonly overageBytes: number; readonly rows: readonly PoolRow[] } {
  const { overageBytes, rows } = figuresOf(estate, pool, cycle)
  return {
    overageBytes,
    rows: seatsOf(estate, pool).map((sim) => {
      const row = rows.find(({ simId }) => simId === sim.id)
      return {
        simId: sim.id,
        usageBytes: row?.usageBytes ?? 0,
        shareBytes: row?.limitBytes ?? 0,
        excessBytes: row?.excessBytes ?? 0,
        stopped: sim.status === SimStatus.Suspended,
        exempt: sim.exempt,
        weaker: !mayBePicked({ exempt: false, ownMode: sim.watchdogMode }),
        held: sim.heldIn === cycle.key,
        refused: false,
      }
    }),
  }
}

/** A subject by its name in the test; the tenant is `tenant`, a tag `tag <pattern>`. */
export type TimelineSubject = SubjectFacts & { readonly name: string }

export const TENANT = 'tenant'

/** Name of the subject of a pattern of tags in a test. */
export const nameOfTag = (pattern: string): string => `tag ${pattern}`

/** The subjects at a moment, with the facts that they would have live. Pools first: they may inhibit their SIMs. */
export function subjectsOf(estate: Estate, moment: Moment, tags: readonly string[]): TimelineSubject[] {
  const pools = estate.pools.map((pool): TimelineSubject => {
    const row = poolRowOf(estate, pool, moment)
    return { kind: 'pool', id: pool.id, name: pool.name, row, facts: poolFactsOf(row, moment) }
  })
  const sims = estate.sims.map((sim): TimelineSubject => {
    const row = simRowOf(estate, sim, moment)
    return { kind: 'sim', id: sim.id, name: sim.name, row, facts: simFactsOf(row, moment) }
  })
  const together = tags.map((tag, n): TimelineSubject => {
    const row = tagRowOf(estate, tag, moment)
    return { kind: 'tag', id: n + 1, name: nameOfTag(tag), row, facts: tagFactsOf(row, moment) }
  })
  const row = tenantRowOf(estate, moment)
  const tenant: TimelineSubject = { kind: 'tenant', id: 0, name: TENANT, row, facts: tenantFactsOf(row, moment) }
  return [...pools, tenant, ...together, ...sims]
}
