/**
 * The estate of a timeline: SIMs, pools and their usage in memory. It gives the same rows as the store, so facts are
 * computed as in the service. Instants are epoch milliseconds.
 */
import { PoolType, SimStatus, SimType, TariffType, WatchdogMode } from '../../domain/codes.ts'
import type { PoolRow } from '../../domain/enforcement/enforcement.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import { type Allowance, governingType, type PoolFigures, poolFigures } from '../../domain/usage/allowance.ts'
import { mayBePicked } from '../../domain/watchdog/settings.ts'
import type {
  FeedRow,
  Figures,
  JudgedFigures,
  OverageCharges,
  PoolFactRow,
  PoolScan,
  SimRow,
  TenantFactRow,
  TicketCounts,
  WindowSums,
} from '../fact-rows.ts'
import { type Moment, SILENT_SHARE, TICKETS_SHARE } from '../facts-of.ts'
import type { TimelineTest } from './test-file.ts'

/** MB of a timeline in whole bytes. */
export const usedBytes = (megabytes: number): number => Math.round(megabytes * 1e6)

/** A received record. */
interface UsageEntry {
  readonly at: number
  readonly bytes: number
  readonly sms: number
}

interface Settings {
  watchdogMode: WatchdogMode | null
  warningThresholdPct: number | null
  enableBurnRateAlerts: boolean | null
}

export interface PoolState extends Settings {
  readonly id: number
  readonly name: string
  readonly tariff: Allowance
}

export interface TimelineSim extends Settings {
  readonly id: number
  readonly name: string
  readonly tag: string
  readonly pool: PoolState | null
  readonly own: Allowance | null
  exempt: boolean
  status: SimStatus
  statusSince: number
  /** A person gave it its status in this cycle: the watchdog leaves it alone. Key of the cycle. */
  heldIn: string | null
  devices: number
  deviceChangedAt: number | null
  lastSeenAt: number | null
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
  warningThresholdPct,
  enableBurnRateAlerts,
}: {
  readonly mode?: keyof typeof WatchdogMode
  readonly warningThresholdPct?: number
  readonly enableBurnRateAlerts?: boolean
}): Settings => ({
  watchdogMode: mode === undefined ? null : WatchdogMode[mode],
  warningThresholdPct: warningThresholdPct ?? null,
  enableBurnRateAlerts: enableBurnRateAlerts ?? null,
})

/** The estate at the start. The test was checked: all its names exist. */
export function estateOf(test: TimelineTest, startsAt: number): Estate {
  const billingCycle = test.cycle ?? 'P1M'
  const tariffs = new Map(
    Object.entries(test.tariffs ?? {}).map(([name, { type, allowanceMB }]) => [
      name,
      { type: TariffType[type], allowanceBytes: usedBytes(allowanceMB) },
    ]),
  )
  const pools = Object.entries(test.pools ?? {}).map(
    ([name, pool], n): PoolState => ({
      ...settingsOf(pool),
      id: n + 1,
      name,
      tariff: tariffs.get(pool.tariff) ?? { type: TariffType.Standard, allowanceBytes: 0 },
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
      heldIn: null,
      devices: 0,
      deviceChangedAt: null,
      lastSeenAt: null,
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

export function setStatus(sim: TimelineSim, status: SimStatus, at: number, cycle: Cycle): void {
  if (sim.status === status) return
  sim.status = status
  sim.statusSince = at
  if (status === SimStatus.Active) sim.activeIn.add(cycle.key)
}

/** Notes the Active SIMs at the start of a cycle. */
export function beginCycle({ sims }: Estate, { key }: Cycle): void {
  for (const sim of sims) if (sim.status === SimStatus.Active) sim.activeIn.add(key)
}

/** Receives a record. @param at the record's instant, which may be before `receivedAt` */
export function receive(estate: Estate, sim: TimelineSim, used: UsageEntry, receivedAt: number): void {
  sim.used.push(used)
  sim.lastSeenAt = Math.max(sim.lastSeenAt ?? used.at, used.at)
  estate.newestAt = Math.max(estate.newestAt ?? used.at, used.at)
  estate.receivedAt = receivedAt
}

export function feedOf({ sims, receivedAt, newestAt, feedEvery }: Estate): FeedRow {
  const active = sims.filter(({ status }) => status === SimStatus.Active).map(({ statusSince }) => statusSince)
  return {
    receivedAt: receivedAt === null ? null : new Date(receivedAt),
    newestAt: newestAt === null ? null : new Date(newestAt),
    activeSince: active.length === 0 ? null : new Date(Math.min(...active)),
    feedEvery,
  }
}

const within = ({ used }: TimelineSim, { startsAt, endsAt }: Cycle): UsageEntry[] =>
  used.filter(({ at }) => at >= startsAt && at < endsAt)
const sumOf = (used: readonly UsageEntry[], what: 'bytes' | 'sms'): number =>
  used.reduce((sum, one) => sum + one[what], 0)

const seatsOf = ({ sims }: Estate, pool: PoolState | null) => sims.filter((sim) => sim.pool === pool)

/** Figures of a pool, or of the SIMs outside pools. */
function figuresOf(estate: Estate, pool: PoolState | null, cycle: Cycle): PoolFigures {
  const rows = seatsOf(estate, pool).map((sim) => ({
    simId: sim.id,
    usageBytes: Math.max(0, sumOf(within(sim, cycle), 'bytes')),
    contributing: sim.activeIn.has(cycle.key),
    own: sim.own,
  }))
  return poolFigures(pool?.tariff ?? null, rows)
}

function windowSums(sims: readonly TimelineSim[], { windows }: Moment): WindowSums {
  const all = sims.flatMap(({ used }) => used).filter(({ at }) => at < windows.until.getTime())
  const since = (from: Date, what: 'bytes' | 'sms') =>
    sumOf(
      all.filter(({ at }) => at >= from.getTime()),
      what,
    )
  return {
    shortBytes: since(windows.short, 'bytes'),
    longBytes: since(windows.long, 'bytes'),
    dayBytes: since(windows.day, 'bytes'),
    weekBytes: since(windows.week, 'bytes'),
    dayMessages: since(windows.day, 'sms'),
  }
}

/** The row of a SIM, as the store would read it. */
export function simRowOf(estate: Estate, sim: TimelineSim, moment: Moment): SimRow & JudgedFigures & WindowSums {
  const { cycle } = moment
  const pool = figuresOf(estate, sim.pool, cycle)
  const row = pool.rows.find(({ simId }) => simId === sim.id)
  const usageBytes = row?.usageBytes ?? 0
  return {
    ...settingsRow(sim),
    simId: sim.id,
    iccid: sim.name,
    tag: sim.tag,
    type: SimType['Physical SIM'],
    status: sim.status,
    statusSince: new Date(sim.statusSince),
    poolId: sim.pool?.id ?? null,
    pool:
      sim.pool === null
        ? null
        : {
            ...settingsRow(sim.pool),
            name: sim.pool.name,
            tariffType: sim.pool.tariff.type,
            usageBytes: pool.usageBytes,
            limitBytes: pool.limitBytes,
          },
    tariffType: governingType(sim.own?.type ?? null, sim.pool?.tariff.type ?? null),
    exempt: sim.exempt,
    imei: sim.devices === 0 ? '' : `device-${sim.devices}`,
    deviceChanges: sim.devices,
    deviceChangedAt: sim.deviceChangedAt === null ? null : new Date(sim.deviceChangedAt),
    lastSeenAt: sim.lastSeenAt === null ? null : new Date(sim.lastSeenAt),
    limitBytes: row?.limitBytes ?? 0,
    usageBytes,
    remainingBytes: row?.remainingBytes ?? 0,
    overageBytes: row?.overageBytes ?? 0,
    voiceSeconds: 0,
    smsCount: sumOf(within(sim, cycle), 'sms'),
    cycleBytes: usageBytes,
    ...windowSums([sim], moment),
  }
}

const settingsRow = ({ watchdogMode, warningThresholdPct, enableBurnRateAlerts }: Settings) => ({
  watchdogMode,
  warningThresholdPct,
  enableBurnRateAlerts,
})

/** The row of a pool, as the store would read it. */
export function poolRowOf(estate: Estate, pool: PoolState, moment: Moment): PoolFactRow & PoolScan & WindowSums {
  const { cycle, asOf } = moment
  const sims = seatsOf(estate, pool)
  const figures = figuresOf(estate, pool, cycle)
  const silentBefore = asOf - SILENT_SHARE * (cycle.endsAt - cycle.startsAt)
  const seen = sims.map(({ lastSeenAt }) => lastSeenAt).filter((at) => at !== null)
  return {
    poolId: pool.id,
    poolName: pool.name,
    poolType: pool.tariff.type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard,
    tariffType: pool.tariff.type,
    mode: pool.watchdogMode ?? WatchdogMode.Monitor,
    warningThresholdPct: pool.warningThresholdPct,
    enableBurnRateAlerts: pool.enableBurnRateAlerts ?? false,
    activeSimCount: sims.filter(({ status }) => status === SimStatus.Active).length,
    totalSimCount: sims.length,
    usageBytes: figures.usageBytes,
    limitBytes: figures.limitBytes,
    remainingBytes: figures.remainingBytes,
    overageBytes: figures.overageBytes,
    overSimCount: figures.rows.filter(({ excessBytes }) => excessBytes > 0).length,
    silentSimCount: sims.filter(
      ({ status, statusSince, lastSeenAt }) =>
        status === SimStatus.Active && statusSince < silentBefore && (lastSeenAt === null || lastSeenAt < silentBefore),
    ).length,
    topSimBytes: Math.max(0, ...figures.rows.map((row) => row.usageBytes)),
    lastSeenAt: seen.length === 0 ? null : new Date(Math.max(...seen)),
    ...windowSums(sims, moment),
  }
}

/** The row of the tenant, as the store would read it. Tariffs of a timeline have no fees, so there are no charges. */
export function tenantRowOf(estate: Estate, { asOf, cycle }: Moment): TenantFactRow & TicketCounts & OverageCharges {
  const { sims, pools, tickets } = estate
  const counted = (status: SimStatus) => sims.filter((sim) => sim.status === status).length
  const ofPools = pools.map((pool) => figuresOf(estate, pool, cycle))
  const all: Pick<Figures, 'usageBytes' | 'overageBytes'>[] = [...ofPools, figuresOf(estate, null, cycle)]
  const ended = tickets.filter(({ at }) => at >= asOf - TICKETS_SHARE * (cycle.endsAt - cycle.startsAt))
  return {
    name: 'timeline',
    simCount: sims.length,
    activeSimCount: counted(SimStatus.Active),
    suspendedSimCount: counted(SimStatus.Suspended),
    unprovisionedSimCount: 0,
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

/** The SIMs of a pool as enforcement picks from them, and the pool's overage in bytes. */
export function pickable(
  estate: Estate,
  pool: PoolState,
  cycle: Cycle,
): { readonly overageBytes: number; readonly rows: readonly PoolRow[] } {
  const { overageBytes, rows } = figuresOf(estate, pool, cycle)
  const figures = new Map(rows.map((row) => [row.simId, row]))
  return {
    overageBytes,
    rows: seatsOf(estate, pool).map((sim) => {
      const row = figures.get(sim.id)
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
