/**
 * Usage records as a carrier's mediation system delivers them, made from an estate's devices and a seed.
 *
 * They are nearly in order of time. Some records come hours late, some come twice. The last record before a device swap
 * comes after the first of the new device. Each device uses its `monthBytes`, to within a few bytes.
 */
import { stringify } from 'csv-stringify/sync'
import type { Estate, EstateSim } from './estate.ts'
import { type Random, random } from './random.ts'
import { PROFILES, type Profile, timeOfDay } from './rhythm.ts'

/** The columns of a usage file, in their order. `POST /internal/usage` reads them. */
const USAGE_COLUMNS = 'recordId iccid at bytesUp bytesDown voiceSeconds smsCount sessions imei country mccMnc'.split(
  ' ',
)

export interface UsageRecord {
  readonly recordId: string
  readonly iccid: string
  /** ISO 8601 in UTC, whole seconds. */
  readonly at: string
  readonly bytesUp: number
  readonly bytesDown: number
  readonly voiceSeconds: number
  readonly smsCount: number
  /** Data sessions begun. */
  readonly sessions: number
  readonly imei: string
  readonly country: string
  readonly mccMnc: string
}

export interface UsageInput {
  readonly seed: number
  readonly estate: Pick<Estate, 'sims'>
  /** `[startsAt, endsAt)` in epoch milliseconds, whole days in UTC. */
  readonly cycle: { readonly startsAt: number; readonly endsAt: number }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Mediation collects for a few minutes before it delivers. */
const USUAL_DELAY_MS = 5 * 60_000
const LATE_SHARE = 0.02
const REPEATED_SHARE = 0.012
/** A runaway device has more records, and much more data in each. */
const RUNAWAY_RECORDS = 2
const RUNAWAY_BYTES = 9
/** Most that a single record's weight may be, as a multiple of the lightest, before the runaway factor. */
const HEAVIEST = 20

/** Networks of the test network's country code, 001. */
const AT_HOME = { country: 'DE', mccMnc: '00101' }
const ABROAD = { country: 'FR', mccMnc: '00102' }

/** A record before the month's bytes are distributed. */
interface Draft {
  readonly sim: EstateSim
  readonly at: number
  readonly weight: number
  readonly upShare: number
  readonly voiceSeconds: number
  readonly smsCount: number
  readonly imei: string
  readonly deliveredAt: number
  readonly repeatedAt: number | null
}

function drafted(sim: EstateSim, at: number, runaway: boolean, profile: Profile, dice: Random): Draft {
  const late = dice.chance(LATE_SHARE)
  const deliveredAt = at + (late ? dice.between(2 * HOUR_MS, 30 * HOUR_MS) : dice.between(0, USUAL_DELAY_MS))
  return {
    sim,
    at,
    weight: dice.heavy(HEAVIEST) * (runaway ? RUNAWAY_BYTES : 1),
    upShare: dice.between(...profile.upShare),
    voiceSeconds: dice.chance(profile.voice) ? dice.whole(15, 420) : 0,
    smsCount: dice.chance(profile.sms) ? dice.whole(1, 2) : 0,
    imei: sim.device.imei,
    deliveredAt,
    repeatedAt: dice.chance(REPEATED_SHARE) ? deliveredAt + dice.between(HOUR_MS, 72 * HOUR_MS) : null,
  }
}

/** One day of a device. The profile spreads its records over the day. At least two, to avoid long gaps. */
function dayOf(sim: EstateSim, startsAt: number, runaway: boolean, dice: Random): Draft[] {
  const profile: Profile = PROFILES[sim.device.profile]
  const weekday = new Date(startsAt).getUTCDay()
  const mean =
    profile.recordsPerDay * (weekday === 0 || weekday === 6 ? profile.weekend : 1) * (runaway ? RUNAWAY_RECORDS : 1)
  const count = Math.max(2, Math.floor(mean + dice.unit()))
  return Array.from({ length: count }, (_, n) => {
    const at = startsAt + timeOfDay(profile.hours, (n + dice.unit()) / count)
    return drafted(sim, at - (at % 1000), runaway, profile, dice)
  })
}

/** Moves the SIM to its other device. The last record of the old device is delivered half a day late. */
function swapped(drafts: readonly Draft[], sim: EstateSim, startsAt: number): Draft[] {
  const { swap } = sim.device
  if (swap === null) return [...drafts]
  const swapAt = startsAt + swap.afterDays * DAY_MS
  const lastOfOld = drafts.findLastIndex((draft) => draft.at < swapAt)
  return drafts.map((draft, n) => ({
    ...draft,
    imei: draft.at < swapAt ? draft.imei : swap.imei,
    ...(n === lastOfOld ? { deliveredAt: swapAt + DAY_MS / 2, repeatedAt: null } : {}),
  }))
}

function placeOf({ sim, at }: Draft, startsAt: number) {
  const { trip } = sim.device
  const days = (at - startsAt) / DAY_MS
  return trip !== null && days >= trip[0] && days < trip[1] ? ABROAD : AT_HOME
}

function monthOf(sim: EstateSim, { seed, cycle }: UsageInput): Draft[] {
  const dice = random(seed, 'usage', sim.iccid)
  const { silentAfterDays, runawayAfterDays } = sim.device
  const days = (cycle.endsAt - cycle.startsAt) / DAY_MS
  const talking = Math.min(days, silentAfterDays ?? days)
  const drafts = Array.from({ length: talking }, (_, day) =>
    dayOf(sim, cycle.startsAt + day * DAY_MS, runawayAfterDays !== null && day >= runawayAfterDays, dice),
  )
  return swapped(drafts.flat(), sim, cycle.startsAt)
}

/** Distributes a device's bytes over its records, by weight. */
function withBytes(drafts: readonly Draft[]): (Draft & Pick<UsageRecord, 'bytesUp' | 'bytesDown'>)[] {
  const sum = drafts.reduce((acc, { weight }) => acc + weight, 0)
  return drafts.map((draft) => {
    const bytes = Math.round((draft.sim.device.monthBytes * draft.weight) / sum)
    const bytesUp = Math.round(bytes * draft.upShare)
    return { ...draft, bytesUp, bytesDown: bytes - bytesUp }
  })
}

/**
 * The records of a month in the order of their delivery, with repetitions.
 *
 * Ids count up with the time of use: `r000001`. The same seed, estate and cycle make the same records.
 *
 * @throws RangeError if the cycle is not whole days in UTC
 */
export function* generateUsage(input: UsageInput): Iterable<UsageRecord> {
  const { startsAt, endsAt } = input.cycle
  if (startsAt % DAY_MS !== 0 || endsAt % DAY_MS !== 0 || endsAt <= startsAt) {
    throw new RangeError(`cycle: got ${startsAt} to ${endsAt}, expected whole days in UTC: usage is made day by day`)
  }
  const inTime = input.estate.sims
    .flatMap((sim) => withBytes(monthOf(sim, input)))
    .toSorted((a, b) => a.at - b.at)
    .map((draft, n) => ({
      draft,
      record: {
        recordId: `r${String(n + 1).padStart(6, '0')}`,
        iccid: draft.sim.iccid,
        at: `${new Date(draft.at).toISOString().slice(0, 19)}Z`,
        bytesUp: draft.bytesUp,
        bytesDown: draft.bytesDown,
        voiceSeconds: draft.voiceSeconds,
        smsCount: draft.smsCount,
        // More data takes more sessions.
        sessions: Math.round(Math.sqrt(draft.weight)),
        imei: draft.imei,
        ...placeOf(draft, startsAt),
      },
    }))
  const deliveries = inTime.flatMap(({ draft, record }) => [
    { at: draft.deliveredAt, record },
    ...(draft.repeatedAt === null ? [] : [{ at: draft.repeatedAt, record }]),
  ])
  for (const { record } of deliveries.toSorted((a, b) => a.at - b.at)) yield record
}

/** Records as a CSV file: a header, then one line each, all ended by a line feed. */
export const usageCsv = (records: Iterable<UsageRecord>): string =>
  stringify([...records], { header: true, columns: USAGE_COLUMNS })
