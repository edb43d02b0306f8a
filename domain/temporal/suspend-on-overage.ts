/** Input, state, result and updates of suspend-on-overage. */

import type { SuspendedUntil } from '../../domain/suspend.ts'
import type { Timeline } from './timeline.ts'
import type { Waits } from './waits.ts'

export interface SuspendOnOverageInput {
  readonly tenantId: string
  readonly simId: number
  readonly cycleKey: string
  readonly cycleEndsAt: string
  /** Name of the rule that asks; null when a person started it. */
  readonly rule: string | null
  readonly ruleFile: string | null
  /** How long the SIM may stay over its limit; `PT0S` suspends at once. */
  readonly grace: string
  /** `renewal`: comes back with the next cycle. `manual`: stays until a person acts. */
  readonly until: SuspendedUntil
  /**
   * Started again under its id after the last run failed, was cancelled or terminated: it begins by looking at
   * the SIM, and owns its return where the last run had suspended it.
   */
  readonly takeOver?: true
  readonly waits: Waits
}

export interface SuspendOnOverageState extends Timeline {
  readonly phase: 'idle' | 'grace' | 'held' | 'suspending' | 'suspended' | 'activating' | 'ended'
  /** End of the grace period; null when none runs. */
  readonly graceEndsAt: string | null
  /** How long a suspension of this run lasts: as it was asked for, or as a person has decided since. */
  readonly until: SuspendedUntil
  readonly suspendTickets: readonly string[]
  readonly activateTickets: readonly string[]
  /** Why it is in this phase. */
  readonly reason: string
}

export interface SuspendOnOverageResult {
  readonly outcome: 'renewed' | 'released' | 'resumed' | 'personActed' | 'manual' | 'cancelled' | 'failed'
  readonly suspended: number
  readonly broughtBack: number
  readonly failure: { readonly step: string; readonly code: string; readonly detail: string } | null
}

/** Updates of suspend-on-overage, each with its one argument. */
export interface SuspendUpdates {
  /** Brings the SIM back, and not again in this cycle. */
  readonly resume: Readonly<Record<string, never>>
  /** `manual`, where nothing is said: the SIM stays suspended beyond the renewal. `renewal` takes that back. */
  readonly keepSuspended: { readonly until?: SuspendedUntil | null }
  /** A longer grace, by a duration or until an instant: one of the two. */
  readonly extendGrace: { readonly by?: string | null; readonly until?: string | null }
}

/** What each update of suspend-on-overage answers: where the workflow stands with it. */
export type SuspendUpdateResult = Pick<SuspendOnOverageState, 'phase' | 'graceEndsAt' | 'until' | 'reason'>
