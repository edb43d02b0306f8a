/** Picks the SIMs to stop when a pool's rule suspends. Pure; bytes are whole. */
import type { PoolEnforcement, PoolRow } from '../../domain/enforcement/enforcement.ts'
import type { SuspendTarget } from '../../domain/temporal/suspend-on-overage.ts'

export interface SimPick {
  /** Ids of the SIMs to stop, the largest excess first, without stopped SIMs. */
  readonly targets: readonly number[]
  /** Whether the excess of all stopped and picked SIMs is less than the pool's overage. Always false for `self`. */
  readonly shortfall: boolean
}

const isSkipped = ({ exempt, weaker, held, refused }: PoolRow): boolean => exempt || weaker || held || refused
const byExcess = (a: PoolRow, b: PoolRow): number => b.excessBytes - a.excessBytes || a.simId - b.simId
const sumOf = (rows: readonly PoolRow[]): number => rows.reduce((sum, { excessBytes }) => sum + excessBytes, 0)

/**
 * Picks SIMs of a pool by a rule's policy.
 *
 * - `largestExcess`: in descending order of excess, until the excess of all stopped SIMs is at least the overage.
 * - `aboveShare`: all SIMs with excess.
 * - `all`: all SIMs.
 * - `self`: none, because a pool is not a SIM.
 *
 * The excess of SIMs already stopped counts. SIMs that are exempt, in a weaker mode, held by a person, or refused by
 * the carrier are skipped, and their excess does not count. Ties go to the lower id: the same rows always give the same
 * SIMs.
 */
export function pickTargets(policy: SuspendTarget, poolOverageBytes: number, rows: readonly PoolRow[]): SimPick {
  const stopped = sumOf(rows.filter((row) => row.stopped))
  const open = rows.filter((row) => !row.stopped && !isSkipped(row)).toSorted(byExcess)
  const picked = chosen(policy, poolOverageBytes - stopped, open)
  return {
    targets: picked.map(({ simId }) => simId),
    shortfall: policy !== 'self' && stopped + sumOf(picked) < poolOverageBytes,
  }
}

/** Picks of a pool as enforcement sees it. Its sums cover all SIMs, its rows perhaps not. */
export const pickFromPool = (
  policy: SuspendTarget,
  { overageBytes, stoppedExcessBytes, rows }: Pick<PoolEnforcement, 'overageBytes' | 'stoppedExcessBytes' | 'rows'>,
): SimPick =>
  pickTargets(
    policy,
    overageBytes - stoppedExcessBytes,
    rows.filter((row) => !row.stopped),
  )

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
