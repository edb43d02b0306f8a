/**
 * Capacities of pools at the start of a cycle, and after the changes that take effect then. Keeps counts of SIMs, not
 * the SIMs.
 */

import { SimStatus } from '../../domain/codes.ts'
import type { SimState } from '../../domain/tickets/decisions.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { capacityOf } from '../../domain/usage/allowance.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { LockedSim } from '../sims/rows/sim-state.ts'
import { readAllowances, type Seat, seatCounts, seatsOf } from '../usage/rows/contributors.ts'
import { plainPools } from './rows/plan.ts'
import { findCycle } from './rows/progress.ts'

export interface Capacities {
  /** Capacity of a pool in bytes; pool 0 stands for SIMs outside pools. */
  of(poolId: number): number
  /** Capacity in bytes that a pool has without contributors. */
  empty(poolId: number): number
  /**
   * Applies changes at the cycle's beginning, as their tickets would (see `changeSeats` in service/usage/rows/contributions.ts).
   */
  apply(changes: readonly { readonly sim: LockedSim; readonly after: SimState }[]): Promise<void>
}

const OUTSIDE = 0

/** Reads the capacities at the start of a cycle, opened or not, before any change takes effect. */
export async function readCapacities(tx: TenantTx, cycle: Cycle): Promise<Capacities> {
  const opened = (await findCycle(tx, cycle.key)) !== undefined
  const tariffs = await readAllowances(tx)
  const poolTariffs = new Map((await plainPools(tx)).map(({ poolId, tariffId }) => [poolId, tariffs.get(tariffId)]))
  const counts = await seatCounts(tx, cycle, opened)
  const add = ({ poolId, tariffId }: Pick<Seat, 'poolId' | 'tariffId'>, sims: number) => {
    const ofPool = counts.get(poolId) ?? new Map<number | null, number>()
    counts.set(poolId, ofPool.set(tariffId, (ofPool.get(tariffId) ?? 0) + sims))
  }
  const poolTariff = (poolId: number) => (poolId === OUTSIDE ? null : poolTariffs.get(poolId))
  return {
    of: (poolId) => capacityOf(poolTariff(poolId), counts.get(poolId), tariffs),
    empty: (poolId) => capacityOf(poolTariff(poolId), undefined, tariffs),
    async apply(changes) {
      const simIds = changes.map(({ sim }) => sim.simId)
      const seats = await seatsOf(tx, cycle, opened, simIds)
      for (const { sim, after } of changes) {
        // The SIM is there already, so there is no ticket.
        if (after === sim) continue
        const own = seats.get(sim.simId) ?? []
        const from = own.find(({ poolId }) => poolId === (sim.poolId ?? OUTSIDE))
        if (from === undefined) continue
        const to = { poolId: after.poolId ?? OUTSIDE, tariffId: after.tariffId }
        const there = own.find((seat) => seat !== from && seat.poolId === to.poolId)
        add(from, -1)
        if (there !== undefined) add(there, -1)
        if (there !== undefined || after.status !== SimStatus.Unprovisioned) add(to, 1)
      }
    },
  }
}
