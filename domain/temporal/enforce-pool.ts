/** Input and state of enforce-pool. */
import type { SuspendedUntil, SuspendTarget } from './suspend-on-overage.ts'
import type { Timeline } from './timeline.ts'

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
