/** Rows of the store and their facts, made at random, at any instant. */

import { PoolType, SimStatus, SimType, TariffType, WatchdogMode } from '../../../../domain/codes.ts'
import { cycleAt } from '../../../../domain/time/cycle.ts'
import type { SubjectKind } from '../../../../domain/watchdog/subject.ts'
import type {
  OverageCharges,
  PoolFactRow,
  PoolScan,
  TagFactRow,
  TagScan,
  TenantFactRow,
  TicketCounts,
  WindowSums,
} from '../../../../rules/fact-rows.ts'
import type { Facts } from '../../../../rules/facts.ts'
import {
  type Moment,
  momentOf,
  poolFactsOf,
  type SimFactRow,
  simFactsOf,
  tagFactsOf,
  tenantFactsOf,
} from '../../../../rules/facts-of.ts'
import type { Random } from '../../../setup/seed.ts'

const BILLING_CYCLES = ['P1M', 'P1D', 'PT5M'] as const

export function aMoment(random: Random): Moment {
  const billingCycle = random.pick(BILLING_CYCLES)
  const cycle = cycleAt(billingCycle, Date.UTC(2026, random.below(12), 1 + random.below(28)))
  const at = cycle.startsAt + random.below(cycle.endsAt - cycle.startsAt)
  const some = () => anInstant(random, at, cycle.endsAt - cycle.startsAt)
  const feedEvery = random.pick(['PT1M', 'PT1H', 'P1D', 'P7D'])
  const feedTimes = { receivedAt: some(), newestAt: some(), activeSince: some(), feedEvery }
  return momentOf({ at, cycle, billingCycle, timeZone: 'UTC', currency: 'EUR', feedTimes })
}

/** Null, up to twice `ms` ago, or a little ahead of the clock. */
function anInstant(random: Random, at: number, ms: number): Date | null {
  if (random.chance(0.1)) return null
  if (random.chance(0.05)) return new Date(at + random.below(ms / 100))
  return new Date(at - random.below(2 * ms))
}

const bytes = (random: Random) => (random.chance(0.2) ? 0 : random.below(200_000_000))
const windows = (random: Random) => ({
  shortBytes: bytes(random),
  longBytes: bytes(random),
  dayBytes: bytes(random),
  todayBytes: bytes(random),
  hourMessages: random.below(30),
  dayMessages: random.below(300),
  daySessions: random.below(300),
})
const amounts = (random: Random) => {
  const [usageBytes, limitBytes] = [bytes(random), bytes(random)]
  return {
    usageBytes,
    limitBytes,
    remainingBytes: Math.max(0, limitBytes - usageBytes),
    overageBytes: Math.max(0, usageBytes - limitBytes),
  }
}
const settings = (random: Random) => ({
  watchdogMode: random.pick([null, ...Object.values(WatchdogMode)]),
  warningThresholdPct: random.chance(0.4) ? null : 1 + random.below(100),
  enableBurnRateAlerts: random.pick([null, true, false]),
})

export const aSim = (random: Random, { at, cycle, windows: { average, day } }: Moment): SimFactRow => {
  const length = cycle.endsAt - cycle.startsAt
  const tariffType = random.pick([null, ...Object.values(TariffType)])
  const inPool = random.chance(0.7)
  return {
    simId: 1 + random.below(1000),
    iccid: String(random.below(10)),
    tag: random.pick(['', 'a']),
    type: random.pick(Object.values(SimType)),
    status: random.pick([SimStatus.Active, SimStatus.Suspended]),
    statusSince: anInstant(random, at, length) ?? new Date(at),
    suspension: random.pick([null, 'user', 'watchdog']),
    poolId: inPool ? 1 : null,
    tariffType,
    exempt: random.chance(0.1),
    ...settings(random),
    pool: inPool
      ? { ...settings(random), tariffType, name: 'Vans', usageBytes: bytes(random), limitBytes: bytes(random) }
      : null,
    imei: random.pick(['', '1', '2']),
    ...(random.chance(0.4)
      ? { deviceChanges: 0, deviceChangedAt: null }
      : { deviceChanges: 1 + random.below(3), deviceChangedAt: new Date(at - random.below(length / 15)) }),
    lastSeenAt: anInstant(random, at, length),
    country: random.pick([null, 'DE', 'FR']),
    mccMnc: random.pick([null, '26201', '310410']),
    rat: random.pick([null, 'LTE', 'NB-IoT']),
    countryChangedAt: random.chance(0.5) ? null : new Date(at - random.below(length / 15)),
    ...amounts(random),
    cycleBytes: bytes(random),
    contributing: random.chance(0.5),
    fees:
      tariffType === null
        ? null
        : { simMonthlyFee: 900_000, smsFee: 40_000, voiceFee: 110_000, overageFeePerGb: 8_000_000 },
    voiceSeconds: random.below(1000),
    smsCount: random.below(10),
    sessions: random.below(10),
    ...windows(random),
    weekBytes: bytes(random),
    averageBytes: bytes(random),
    averageSince: random.chance(0.2)
      ? null
      : new Date(average.getTime() + random.below(day.getTime() - average.getTime())),
  }
}

const aPool = (random: Random, { at, cycle }: Moment): PoolFactRow & PoolScan & WindowSums => ({
  poolId: 1,
  poolName: 'Vans',
  poolType: random.pick(Object.values(PoolType)),
  tariffType: random.pick(Object.values(TariffType)),
  mode: random.pick(Object.values(WatchdogMode)),
  warningThresholdPct: random.chance(0.4) ? null : 1 + random.below(100),
  enableBurnRateAlerts: random.chance(0.5),
  activeSimCount: random.below(5),
  totalSimCount: 5,
  ...amounts(random),
  overSimCount: random.below(5),
  silentSimCount: random.below(5),
  topSimBytes: 0,
  lastSeenAt: anInstant(random, at, cycle.endsAt - cycle.startsAt),
  ...windows(random),
})

const aTenant = (random: Random): TenantFactRow & TicketCounts & OverageCharges => ({
  feeMicro: random.below(2) * 1_000_000,
  overageMicro: random.below(5) * 1_000_000,
  forecastMicro: random.below(9) * 1_000_000,
  doneTickets: random.below(5),
  failedTickets: random.below(5),
  name: 'Acme',
  simCount: random.below(5),
  activeSimCount: random.below(5),
  suspendedSimCount: random.below(5),
  unprovisionedSimCount: random.below(5),
  poolCount: random.below(5),
  overPoolCount: random.below(5),
  usageBytes: bytes(random),
  overageBytes: bytes(random),
})

const aTag = (random: Random): TagFactRow & TagScan => ({
  tag: 'camera-*',
  simCount: random.below(5),
  activeSimCount: random.below(5),
  suspendedSimCount: random.below(5),
  unprovisionedSimCount: random.below(5),
  silentSimCount: random.below(5),
  overSimCount: random.below(5),
  usageBytes: bytes(random),
  overageBytes: bytes(random),
  voiceSeconds: random.below(500),
  smsCount: random.below(50),
  sessions: random.below(50),
})

const OTHER_TAG: TagScan = {
  simCount: -1,
  activeSimCount: -2,
  suspendedSimCount: -3,
  unprovisionedSimCount: -4,
  silentSimCount: -5,
  overSimCount: -6,
  usageBytes: -7,
  overageBytes: -8,
  voiceSeconds: -9,
  smsCount: -10,
  sessions: -11,
}

/** Names of the facts that change with other sums over windows of usage, or with other rows counted. */
export function factsOfColumns(kind: 'sim' | 'pool' | 'tag', columns: 'window' | 'scan', random: Random): string[] {
  const moment = aMoment(random)
  const [sim, pool] = [aSim(random, moment), { ...aPool(random, moment), usageBytes: 1000 }]
  const changes = {
    window: {
      shortBytes: -1,
      longBytes: -2,
      dayBytes: -3,
      dayMessages: -5,
      todayBytes: -6,
      hourMessages: -7,
      daySessions: -8,
      weekBytes: -4,
      averageBytes: 8,
      averageSince: moment.windows.average,
    },
    scan:
      kind === 'tag'
        ? OTHER_TAG
        : { overSimCount: -1, silentSimCount: -2, topSimBytes: -3, lastSeenAt: new Date(moment.at - 77) },
  }[columns]
  const tag = aTag(random)
  const factsWith = (changed: object): Facts =>
    ({
      sim: () => ({ ...simFactsOf({ ...sim, ...changed }, moment) }),
      pool: () => ({ ...poolFactsOf({ ...pool, ...changed }, moment) }),
      tag: () => ({ ...tagFactsOf({ ...tag, ...changed }, moment) }),
    })[kind]()
  const [before, after] = [factsWith({}), factsWith(changes)]
  return Object.keys(before).filter((name) => before[name] !== after[name])
}

/** A subject whose facts can be asked at any instant of its cycle. Nothing happens to it meanwhile. */
export interface AgingSubject {
  readonly moment: Moment
  readonly factsAt: (at: number) => Facts
}

export function aSubject(kind: SubjectKind, random: Random): AgingSubject {
  const moment = aMoment(random)
  switch (kind) {
    case 'sim': {
      const row = aSim(random, moment)
      return { moment, factsAt: (at) => ({ ...simFactsOf(row, momentOf({ ...moment, at })) }) }
    }
    case 'pool': {
      const row = aPool(random, moment)
      return { moment, factsAt: (at) => ({ ...poolFactsOf(row, momentOf({ ...moment, at })) }) }
    }
    case 'tenant': {
      const row = aTenant(random)
      return { moment, factsAt: (at) => ({ ...tenantFactsOf(row, momentOf({ ...moment, at })) }) }
    }
    case 'tag': {
      const row = aTag(random)
      return { moment, factsAt: (at) => ({ ...tagFactsOf(row, momentOf({ ...moment, at })) }) }
    }
  }
}
