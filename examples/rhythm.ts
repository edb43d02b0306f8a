/** When the demonstration's devices send data, and how: one profile for each kind of device. Hours are UTC. */

export interface Profile {
  /** Records on a working day, on average. */
  readonly recordsPerDay: number
  /** Records on a Saturday or Sunday, as a multiple of a working day's. */
  readonly weekend: number
  /** Weight of each hour of the day. Weights are above 0, because an estate is never completely quiet. */
  readonly hours: readonly number[]
  /** Share of sent bytes, the others being received: lowest and highest, 0 to 1. */
  readonly upShare: readonly [number, number]
  /** Share of the records that contain short messages, 0 to 1. */
  readonly sms: number
  /** Share of the records that contain a call, 0 to 1. */
  readonly voice: number
}

//                0              4              8              12              16              20
const NIGHT = /**/ [9, 9, 9, 8, 6, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 6, 8, 9, 9, 9, 9]
const WORK = /* */ [1, 1, 1, 1, 2, 4, 7, 9, 9, 9, 8, 7, 6, 7, 8, 9, 9, 7, 4, 3, 2, 1, 1, 1]
const READING = /**/ [8, 3, 2, 2, 2, 4, 6, 5, 4, 4, 4, 5, 6, 5, 4, 4, 4, 6, 7, 7, 6, 5, 4, 4]
const EVENING = /**/ [3, 2, 1, 1, 1, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 5, 6, 8, 9, 9, 8, 7, 5, 4]
const STEADY = /**/ [4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 5, 5, 5, 5, 5, 5, 4, 4, 4, 4]

export const PROFILES = {
  meter: { recordsPerDay: 4.2, weekend: 1, hours: READING, upShare: [0.75, 0.95], sms: 0.02, voice: 0 },
  van: { recordsPerDay: 9.4, weekend: 0.45, hours: WORK, upShare: [0.15, 0.4], sms: 0.03, voice: 0.05 },
  lamp: { recordsPerDay: 4.8, weekend: 1, hours: NIGHT, upShare: [0.4, 0.7], sms: 0, voice: 0 },
  sensor: { recordsPerDay: 4, weekend: 1, hours: STEADY, upShare: [0.8, 0.95], sms: 0.01, voice: 0 },
  charger: { recordsPerDay: 6, weekend: 1.3, hours: EVENING, upShare: [0.3, 0.6], sms: 0, voice: 0 },
  lift: { recordsPerDay: 4.5, weekend: 0.6, hours: WORK, upShare: [0.3, 0.6], sms: 0.05, voice: 0.12 },
} as const satisfies Record<string, Profile>

export type ProfileName = keyof typeof PROFILES

/**
 * The time of day by which a share of the day's records has come, in milliseconds after midnight.
 *
 * @param part from 0 up to, but not including, 1
 */
export function timeOfDay(hours: readonly number[], part: number): number {
  let left = part * hours.reduce((sum, weight) => sum + weight, 0)
  for (const [hour, weight] of hours.entries()) {
    if (left < weight) return Math.floor((hour + left / weight) * 3_600_000)
    left -= weight
  }
  return hours.length * 3_600_000 - 1
}
