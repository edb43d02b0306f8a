/** Input, state, result and updates of suspend-on-overage. */

import type { Timeline } from './timeline.ts'

/** `renewal`: the SIM resumes with the next billing cycle. `manual`: it stays suspended until a person acts. */
export const SUSPENDED_UNTIL = ['renewal', 'manual'] as const
export type SuspendedUntil = (typeof SUSPENDED_UNTIL)[number]

/** Which SIMs a rule suspends. A SIM's rule has only `self`; a pool's rule has the other three. */
export const SUSPEND_TARGETS = ['self', 'largestExcess', 'aboveShare', 'all'] as const
export type SuspendTarget = (typeof SUSPEND_TARGETS)[number]

export interface SuspendOnOverageInput {
  readonly tenantId: string
  readonly simId: number
  readonly cycleKey: string
  readonly cycleEndsAt: string
  /** Name of the rule that suspends; null if a person started the workflow. */
  readonly rule: string | null
  readonly ruleFile: string | null
  /** Grace period: how long the SIM may stay over its limit, as an ISO 8601 duration. `PT0S` suspends at once. */
  readonly grace: string
  readonly until: SuspendedUntil
  /**
   * Set if the workflow starts again under its id, after its last run failed or was cancelled or terminated. It then
   * reads the SIM first. If the last run had suspended the SIM, this run is responsible for resuming it.
   */
  readonly takeOver?: true
}

export interface SuspendOnOverageState extends Timeline {
  readonly phase: 'idle' | 'grace' | 'held' | 'suspending' | 'suspended' | 'activating' | 'ended'
  /** End of the grace period; null outside one. */
  readonly graceEndsAt: string | null
  /** How long a suspension by this run lasts: as in the input, or as a person has decided since. */
  readonly until: SuspendedUntil
  readonly suspendTickets: readonly string[]
  readonly activateTickets: readonly string[]
  /** Why the run is in this phase. */
  readonly reason: string
}

export interface SuspendOnOverageResult {
  readonly outcome: 'renewed' | 'released' | 'resumed' | 'personActed' | 'manual' | 'cancelled' | 'failed'
  readonly suspended: number
  readonly broughtBack: number
  readonly failure: { readonly step: string; readonly code: string; readonly detail: string } | null
}

/** Temporal updates that suspend-on-overage accepts, each with its one argument. */
export interface SuspendUpdates {
  /** Resumes the SIM, and does not suspend it again in this cycle. */
  readonly resume: Readonly<Record<string, never>>
  /** `manual` (the default) keeps the SIM suspended beyond the renewal. `renewal` takes that back. */
  readonly keepSuspended: { readonly until?: SuspendedUntil | null }
  /** Extends the grace period by an ISO 8601 duration or until an instant: exactly one of the two. */
  readonly extendGrace: { readonly by?: string | null; readonly until?: string | null }
}

/** Result of each update of suspend-on-overage: the workflow's state after it. */
export type SuspendUpdateResult = Pick<SuspendOnOverageState, 'phase' | 'graceEndsAt' | 'until' | 'reason'>
