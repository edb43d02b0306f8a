/** Whom to stop when a pool's rule asks to suspend. Pure; bytes are whole. */
import type { PoolRow } from '../../domain/enforcement/enforcement.ts'
import type { SuspendTarget } from '../rule-file.ts'

export interface Picked {
  /** SIMs to stop, the largest excess first; those that are stopped already are not among them. */
  readonly targets: readonly number[]
  /** The excess of all that are stopped or picked is less than the pool's overage: there is nobody left to pick. */
  readonly shortfall: boolean
}

const byExcess = (a: PoolRow, b: PoolRow): number => b.excessBytes - a.excessBytes || a.simId - b.simId
const sumOf = (rows: readonly PoolRow[]): number => rows.reduce((sum, { excessBytes }) => sum + excessBytes, 0)

/**
 * Picks SIMs of a pool by a rule's policy.
 *
 * `largestExcess`: in descending order of excess until the excess of those stopped is at least the overage.
 * `aboveShare`: all with excess. `all`: all. `self`: nobody, a pool has no SIM that is it.
 * Those that are stopped already count; those that are exempt, in a weaker mode of their own or held by a person are passed over
 * and do not count. Ties go to the lower id, so that the same rows give the same SIMs.
 */
export function pickTargets(policy: SuspendTarget, poolOverageBytes: number, rows: readonly PoolRow[]): Picked {
  const stopped = sumOf(rows.filter((row) => row.stopped))
  const open = rows.filter((row) => !row.stopped && !row.exempt && !row.weaker && !row.held).toSorted(byExcess)
  const picked = chosen(policy, poolOverageBytes - stopped, open)
  return {
    targets: picked.map(({ simId }) => simId),
    shortfall: policy !== 'self' && stopped + sumOf(picked) < poolOverageBytes,
  }
}

function chosen(policy: SuspendTarget, overageBytes: number, open: readonly PoolRow[]): readonly PoolRow[] {
  switch (policy) {
    case 'self':
      return []
    case 'all':
      return open
    case 'aboveShare':
      return open.filter(({ excessBytes }) => excessBytes > 0)
    case 'largestExcess': {
      const above = open.filter(({ excessBytes }) => excessBytes > 0)
      let left = overageBytes
      const enough = above.findIndex(({ excessBytes }) => {
        if (left <= 0) return true
        left -= excessBytes
        return false
      })
      return enough < 0 ? above : above.slice(0, enough)
    }
  }
}
