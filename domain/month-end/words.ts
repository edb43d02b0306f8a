/** Words of the plan of a month end, for people. */
import type { PoolChange } from './month-end.ts'

type Change = Pick<PoolChange, 'unassign' | 'poolId' | 'tariffId'>

/** `unassign`, or `to pool 4, tariff 7` */
export const changeWords = ({ unassign, poolId, tariffId }: Change): string =>
  unassign
    ? 'unassign'
    : [...(poolId === null ? [] : [`to pool ${poolId}`]), ...(tariffId === null ? [] : [`tariff ${tariffId}`])].join(
        ', ',
      )

/** Titles of the lists of a plan. */
export const PLAN_TITLES = {
  adjustments: 'Adjustments of closed cycles',
  changes: 'Changes',
  conflicts: 'Would fail, and stay queued',
  renewals: 'SIMs that come back',
} as const
