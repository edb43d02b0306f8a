/** The two demonstrations: their SIMs, their billing cycle and their times. */

import { cycleAt } from '../../domain/time/cycle.ts'
import { MB } from '../../domain/units.ts'
import { demoEstate, depotEstate, type Estate, type EstateSim } from '../../examples/estate.ts'
import { billingCycleAt, type Choice, chooseCycle, mapDays, mapMonth } from './mapping.ts'
import type { Mapping } from './progress.ts'

export interface Script {
  /** Its progress, in the data folder. */
  readonly file: string
  /** Plays it, and goes on with it once it was broken off. */
  readonly command: string
  readonly title: string
  readonly estate: Estate
  /** ICCIDs of SIMs that are provisioned by workflows. The others are in use, and taken over. */
  readonly newcomers: ReadonlySet<string>
  readonly billingCycle: (now: number) => string
  /** The cycle to play in, and how long to wait for it. */
  readonly choose: (billingCycle: string, now: number) => Choice
  readonly map: (cycle: Mapping['cycle'], now: number) => Mapping
  readonly hasMonthEnd: boolean
}

const NEWCOMERS = 30
/** The month that a cycle of minutes stands for. */
const OCTOBER = { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 1) }

/** Ordinary meters, without alerts. */
function newcomersOf({ sims }: Estate): ReadonlySet<string> {
  const isOrdinary = ({ pool, tariff, isWatchdogExempt, device }: EstateSim) =>
    pool === 'households' &&
    tariff === null &&
    isWatchdogExempt !== true &&
    device.runawayAfterDays === null &&
    device.silentAfterDays === null &&
    device.swap === null &&
    device.monthBytes < 80 * MB
  return new Set(
    sims
      .filter(isOrdinary)
      .slice(0, NEWCOMERS)
      .map(({ iccid }) => iccid),
  )
}

/** 300 SIMs, four fifths of a billing cycle of some weeks. */
export function cycleScript(): Script {
  const estate = demoEstate()
  return {
    file: 'demo.json',
    command: 'npm start',
    title: `Demonstration: ${estate.tenant.name} and its ${estate.sims.length} SIMs`,
    estate,
    newcomers: newcomersOf(estate),
    billingCycle: billingCycleAt,
    choose: (billingCycle, now) => ({ cycle: cycleAt(billingCycle, now), waitMs: 0 }),
    map: mapDays,
    hasMonthEnd: false,
  }
}

/** 20 SIMs, a month and its end in a billing cycle of two minutes. */
export function monthEndScript(): Script {
  const estate = depotEstate()
  return {
    file: 'demo-month-end.json',
    command: 'npm start -- --demo=month-end',
    title: `Month end: ${estate.tenant.name} and its ${estate.sims.length} SIMs live through October in one cycle of 2 minutes`,
    estate,
    newcomers: new Set(),
    billingCycle: () => 'PT2M',
    choose: chooseCycle,
    map: (cycle, now) => mapMonth(cycle, now, OCTOBER),
    hasMonthEnd: true,
  }
}
