/** Why a SIM is not suspended. */
import { SimStatus, WatchdogMode } from '../codes.ts'
import type { SimEnforcement } from './enforcement.ts'
import type { PermitResponse } from './guard.ts'

export type Refusal =
  | 'not over'
  | 'not enforced'
  | 'exempt'
  | 'held'
  | 'discarded by a person'
  | 'usage feed is stale'
  | 'suspended by a person'
  | 'passed over'
  | 'not active'
  | 'refused by the carrier'

/**
 * `wait`: a ticket is under way. `hold`: the guard holds the suspension. `stay`: the SIM is suspended already by this
 * order. `refuse`: the SIM is not suspended; `ticketId` is the ticket of an earlier attempt, if that was cancelled now.
 */
export type SuspensionAnswer =
  | { readonly do: 'wait'; readonly ticketId: string }
  | { readonly do: 'hold'; readonly holdId: number }
  | { readonly do: 'stay' }
  | { readonly do: 'refuse'; readonly why: Refusal; readonly ticketId?: string }

export type Refusable = Pick<
  SimEnforcement,
  'status' | 'passedOver' | 'exempt' | 'enforcementEnabled' | 'mode' | 'overLimit' | 'refused'
> & { readonly suspension: { readonly cause: 'user' | 'watchdog' } | null }

/** The strongest reason not to suspend; null if there is none. `held` means that enforcement is switched off. Pure. */
export function refusalOf(sim: Refusable): Refusal | null {
  if (sim.suspension?.cause === 'user') return 'suspended by a person'
  if (sim.status !== SimStatus.Active) return 'not active'
  if (sim.passedOver) return 'passed over'
  if (sim.exempt) return 'exempt'
  if (!sim.enforcementEnabled) return 'held'
  if (sim.mode !== WatchdogMode.Enforce) return 'not enforced'
  if (!sim.overLimit) return 'not over'
  return sim.refused ? 'refused by the carrier' : null
}

/** The answer to a suspension by the guard's response about its SIM; null if it may be suspended now. Pure. */
export function answerOfGuard({ granted, delayed, holdId }: PermitResponse): SuspensionAnswer | null {
  if (granted.length > 0) return null
  if (delayed.length > 0) return { do: 'refuse', why: 'usage feed is stale' }
  return holdId === null ? { do: 'refuse', why: 'discarded by a person' } : { do: 'hold', holdId }
}
