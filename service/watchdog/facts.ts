/** The figures that SIMs are judged by. */
import type { JudgedFigures, RowFigures } from '../../rules/fact-rows.ts'
import { rowIn, sumOf } from '../usage/rows/figures.ts'

/**
 * The figures that a SIM is judged by: the ledger row in its pool. Voice, messages and `cycleBytes` are sums over all
 * rows of the cycle, because no allowance of a pool covers them.
 *
 * @param poolId null outside pools
 */
export function judgedFigures(rows: readonly RowFigures[], poolId: number | null): JudgedFigures {
  const { limitBytes, usageBytes, remainingBytes, overageBytes } = rowIn(rows, poolId)
  const { usageBytes: cycleBytes, voiceSeconds, smsCount } = sumOf(rows)
  return { limitBytes, usageBytes, remainingBytes, overageBytes, voiceSeconds, smsCount, cycleBytes }
}
