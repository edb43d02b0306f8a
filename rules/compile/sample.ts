/** Decides for which subjects both engine and compiled rules run, so that a difference shows. Pure. */
import { SUBJECT_CODES, type Subject } from '../../domain/watchdog/subject.ts'

/** Of so many subjects one is compared. */
const ONE_IN = 10_000

export interface SampleQuestion {
  readonly tenantId: string
  readonly subject: Subject
  /** Version of the rule set. */
  readonly version: number
}

/** Whether to compare a subject. The same subjects are chosen for a version, and others for the next. */
export function isSampled({ tenantId, subject, version }: SampleQuestion): boolean {
  let hash = mixed(version, 0)
  for (let n = 0; n < tenantId.length; n += 1) hash = mixed(tenantId.charCodeAt(n), hash)
  hash = mixed(SUBJECT_CODES[subject.kind], hash)
  // Ids are above 2^32 only in theory. Both halves count.
  hash = mixed(subject.id % 0x1_0000_0000, hash)
  hash = mixed(Math.floor(subject.id / 0x1_0000_0000), hash)
  return spread(hash) % ONE_IN === 0
}

/** Adds a number to a hash: a step of MurmurHash3, 32 bits. */
function mixed(value: number, hash: number): number {
  const scrambled = Math.imul(rotated(Math.imul(value, 0xcc9e2d51), 15), 0x1b873593)
  return (Math.imul(rotated(hash ^ scrambled, 13), 5) + 0xe6546b64) | 0
}

const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

/** The end of MurmurHash3: every bit depends on all others. @returns a whole number from 0 to 2^32 − 1 */
function spread(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  const whole = Math.imul(half ^ (half >>> 13), 0xc2b2ae35)
  return (whole ^ (whole >>> 16)) >>> 0
}
