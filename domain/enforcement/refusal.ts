/** Why a SIM is not suspended. */
import { SimStatus, WatchdogMode } from '../codes.ts'
import type { SimEnforcement } from './enforcement.ts'

/** Why a SIM is not suspended after all. */
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

/** The fields of a SIM that decide. */
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
