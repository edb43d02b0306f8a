/** Input and state of enforce-pool. */
import type { SuspendedUntil } from './suspend-on-overage.ts'
import type { Timeline } from './timeline.ts'

/** Which SIMs a rule suspends. A SIM's rule has only `self`; a pool's rule has the other three. */
export const SUSPEND_TARGETS = ['self', 'largestExcess', 'aboveShare', 'all'] as const
export type SuspendTarget = (typeof SUSPEND_TARGETS)[number]

export interface EnforcePoolInput {
  readonly tenantId: string
  readonly poolId: number
  readonly cycleKey: string
  readonly cycleEndsAt: string
  readonly rule: string
  readonly ruleFile: string
  readonly target: SuspendTarget
  readonly grace: string
  readonly until: SuspendedUntil
}

export interface EnforcePoolState extends Timeline {
  /** How many SIMs it has armed in the cycle. */
  readonly armed: number
  readonly rounds: number
  readonly over: boolean
  /** Whether stopping every SIM that may be stopped does not cover the overage. */
  readonly tooLittle: boolean
  /** Number of picked SIMs that wait for the release or discard of a hold; `holdId` is null if none waits. */
  readonly held: number
  readonly holdId: number | null
}
