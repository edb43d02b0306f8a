import { SimStatus } from '../../domain/codes.ts'
import type { SimState } from '../../domain/tickets/decisions.ts'
import type { TicketConflict } from './open-ticket.ts'

/**
 * Why a SIM cannot be made Active in a pool and tariff; undefined if it can. A provisioned SIM must be there already,
 * and must not be suspended by a person. Does not check the pool and the tariff themselves. Pure.
 */
export function activationConflict(
  sim: SimState & { readonly simId: number },
  asked: Pick<SimState, 'poolId' | 'tariffId'>,
): TicketConflict | undefined {
  if (sim.status === SimStatus.Unprovisioned) return undefined
  if (sim.poolId !== asked.poolId || sim.tariffId !== asked.tariffId) {
    const there = `pool ${sim.poolId ?? 'none'}, tariff ${sim.tariffId ?? 'none'}`
    return { code: 'sim_already_assigned', detail: `SIM ${sim.simId} is provisioned elsewhere: ${there}.` }
  }
  if (sim.suspendedBy === null) return undefined
  return { code: 'sim_state_conflict', detail: `SIM ${sim.simId} was suspended by the ${sim.suspendedBy}.` }
}
