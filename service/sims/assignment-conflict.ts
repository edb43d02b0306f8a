/** Whether a SIM may have a pool and a tariff. Pure. */
import { TariffType } from '../../domain/codes.ts'
import type { Tariff } from '../../domain/tariffs/tariff.ts'
import type { PoolTariff } from '../pools/rows/pools.ts'

/** Reasons why a SIM cannot have a pool or a tariff, in any state. */
export type AssignmentProblem =
  | 'pool_not_found'
  | 'tariff_not_found'
  | 'tariff_inactive'
  | 'tariff_needs_pool'
  | 'tariff_has_no_effect'

/** Why a SIM cannot have a pool or a tariff: the code, and the reason in words. */
export interface AssignmentConflict {
  readonly code: AssignmentProblem
  readonly detail: string
}

/** The pool and the own tariff that a SIM is to have. */
export interface AssignmentPlace {
  readonly poolId: number | null
  readonly tariffId: number | null
}

/** The pool and the tariff to assign, as found. The pool is null if none is named, undefined if it does not exist. */
export interface AssignmentRows {
  readonly pool: PoolTariff | null | undefined
  readonly tariff: Tariff | undefined
}

/** Why a caller may not request this pool and tariff for a SIM, given the rows found; undefined if it may. Pure. */
export function assignmentConflict(
  place: AssignmentPlace,
  newTariffId: number | null,
  found: AssignmentRows,
): AssignmentConflict | undefined {
  const conflict = placeConflict(place, newTariffId, found)
  const { pool, tariff } = found
  if (conflict !== undefined || tariff === undefined || pool == null) return conflict
  if (pool.type === TariffType.Standard || tariff.id === pool.tariffId) return undefined
  const why = `has no effect in pool ${place.poolId}, whose tariff ${pool.tariffId} governs`
  return { code: 'tariff_has_no_effect', detail: `Tariff ${tariff.id} (${tariff.displayName}) ${why}.` }
}

/** Why a SIM cannot have this pool and tariff, given the rows found; undefined if it can. Pure. */
export function placeConflict(
  { poolId }: AssignmentPlace,
  newTariffId: number | null,
  { pool, tariff }: AssignmentRows,
): AssignmentConflict | undefined {
  if (pool === undefined) return { code: 'pool_not_found', detail: `There is no pool ${poolId}.` }
  if (newTariffId === null) return undefined
  if (tariff === undefined) return { code: 'tariff_not_found', detail: `There is no tariff ${newTariffId}.` }
  const named = `Tariff ${newTariffId} (${tariff.displayName})`
  if (!tariff.isActive) return { code: 'tariff_inactive', detail: `${named} takes no new assignments.` }
  if (poolId !== null || tariff.type === TariffType.Standard) return undefined
  return { code: 'tariff_needs_pool', detail: `${named} is for pools; a SIM outside a pool takes a Standard tariff.` }
}
