/**
 * Calculates allowances and overage, in whole bytes.
 *
 * The same in SQL: the views `ledger_figures` and `pool_figures`, and the function `overage_places`. Property tests
 * compare both. All inputs are safe integers. Products use bigint to keep every byte.
 */
import { PoolType, TariffType } from '../codes.ts'

/** The part of a tariff that governs allowances. */
export interface Allowance {
  readonly type: TariffType
  /** Bytes a SIM (Standard, Dynamic Pool), or of the whole pool (Fixed Pool). */
  readonly allowanceBytes: number
}

/** A ledger row: a SIM in a pool, or outside pools, in a billing cycle. */
export interface LedgerRow {
  readonly simId: number
  readonly usageBytes: number
  /** Whether the SIM was Active here at some moment of the cycle. */
  readonly contributing: boolean
  /** The SIM's own tariff: the last one in force in this cycle and pool. */
  readonly own: Allowance | null
}

export interface LedgerFigures {
  readonly limitBytes: number
  /** Bytes above the limit; 0 if no tariff governs. */
  readonly excessBytes: number
  readonly remainingBytes: number
}
export interface RowFigures extends LedgerFigures {
  readonly simId: number
  readonly usageBytes: number
  readonly overageBytes: number
}
export interface PoolFigures {
  readonly limitBytes: number
  readonly usageBytes: number
  readonly overageBytes: number
  readonly remainingBytes: number
  readonly rows: readonly RowFigures[]
}

/**
 * The tariff that governs a SIM's allowance. In a shared pool it is the pool's. In a pool with a Standard tariff it is
 * the SIM's own Standard tariff, or else the pool's. Outside pools it is the SIM's own.
 *
 * @param pool tariff of the pool; null outside pools
 */
export function governingTariff<T extends Allowance>(own: T | null, pool: T | null): T | null {
  if (pool === null) return own
  if (pool.type !== TariffType.Standard) return pool
  return own !== null && own.type === TariffType.Standard ? own : pool
}

/** The type of the tariff that governs, as {@link governingTariff}. @param pool type of the pool's; null outside pools */
export const governingType = (own: TariffType | null, pool: TariffType | null): TariffType | null => {
  const asAllowance = (type: TariffType | null) => (type === null ? null : { type, allowanceBytes: 0 })
  return governingTariff(asAllowance(own), asAllowance(pool))?.type ?? null
}

/** Whether a pool of this type takes a tariff of this type. */
export const poolTakesTariff = (pool: PoolType, tariff: TariffType): boolean =>
  pool === PoolType.Dynamic ? tariff === TariffType['Dynamic Pool'] : tariff !== TariffType['Dynamic Pool']

/** A SIM's share of a tariff in bytes, rounded down. @param contributing SIMs that contribute, including this one */
export function shareBytes(governing: Allowance | null, contributing: number): number {
  if (governing === null) return 0
  if (governing.type !== TariffType['Fixed Pool']) return governing.allowanceBytes
  return contributing === 0 ? 0 : Math.floor(governing.allowanceBytes / contributing)
}

/**
 * A pool's capacity, from the numbers of SIMs that contribute to it.
 *
 * @param pool the tariff of the pool; null outside pools, undefined for a pool that no longer exists
 * @param seats numbers of SIMs, by own tariff; undefined: none
 * @returns bytes, at most 2^53 − 1
 */
export function capacityOf(
  pool: Allowance | null | undefined,
  seats: ReadonlyMap<number | null, number> | undefined,
  tariffs: ReadonlyMap<number, Allowance>,
): number {
  if (pool === undefined) return 0
  if (pool?.type === TariffType['Fixed Pool']) return pool.allowanceBytes
  const bytes = [...(seats ?? [])].reduce((sum, [own, sims]) => {
    const governing = governingTariff(tariffs.get(own ?? 0) ?? null, pool)
    return sum + sims * (governing?.allowanceBytes ?? 0)
  }, 0)
  // The same limit as for values read from the database. Beyond it numbers are not exact, and no usage reaches it.
  return Math.min(Number.MAX_SAFE_INTEGER, bytes)
}

/**
 * Divides bytes by weight. Each SIM gets its part, rounded down. The bytes left over go one each to the largest
 * remainders, and in ties to the lower SIM id. The parts add up to the total exactly, unless all weights are 0.
 */
export function divideBytes(
  total: number,
  weights: readonly { readonly simId: number; readonly weight: number }[],
): Map<number, number> {
  const sum = weights.reduce((acc, { weight }) => acc + BigInt(weight), 0n)
  if (sum === 0n) return new Map(weights.map(({ simId }) => [simId, 0]))
  const parts = weights.map(({ simId, weight }) => {
    const product = BigInt(total) * BigInt(weight)
    return { simId, part: product / sum, remainder: product % sum }
  })
  let left = BigInt(total) - parts.reduce((acc, { part }) => acc + part, 0n)
  const byRemainder = parts.toSorted((a, b) =>
    a.remainder === b.remainder ? a.simId - b.simId : a.remainder > b.remainder ? -1 : 1,
  )
  const divided = new Map<number, number>()
  for (const { simId, part } of byRemainder) {
    divided.set(simId, Number(left > 0n ? part + 1n : part))
    if (left > 0n) left -= 1n
  }
  return divided
}

/** Whether SIMs share capacity and overage. @param pool tariff of their pool; null outside pools */
export const isShared = (pool: Allowance | null): boolean => pool !== null && pool.type !== TariffType.Standard

/**
 * Limit, excess and remaining bytes of a ledger row. In a shared pool, the excess is the weight of the row in the
 * division of the overage; elsewhere it is the row's overage.
 *
 * @param contributing as in {@link shareBytes}
 */
export function ledgerFigures(
  governing: Allowance | null,
  row: Pick<LedgerRow, 'usageBytes' | 'contributing'>,
  contributing: number,
): LedgerFigures {
  const limitBytes = row.contributing ? shareBytes(governing, contributing) : 0
  return {
    limitBytes,
    excessBytes: governing === null ? 0 : Math.max(0, row.usageBytes - limitBytes),
    remainingBytes: Math.max(0, limitBytes - row.usageBytes),
  }
}

/**
 * Limit, usage, overage and remaining bytes of a pool in a cycle, and the figures of each of its ledger rows. The rows'
 * overage adds up exactly to the pool's.
 *
 * @param tariff the pool's tariff; null for ledger rows outside pools
 */
export function poolFigures(tariff: Allowance | null, ledger: readonly LedgerRow[]): PoolFigures {
  const contributing = ledger.filter((row) => row.contributing).length
  const rows = ledger.map((row) => ({
    simId: row.simId,
    usageBytes: row.usageBytes,
    ...ledgerFigures(governingTariff(row.own, tariff), row, contributing),
  }))
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((acc, row) => acc + of(row), 0)
  const usageBytes = sum((row) => row.usageBytes)
  const limitBytes = tariff?.type === TariffType['Fixed Pool'] ? tariff.allowanceBytes : sum((row) => row.limitBytes)
  if (!isShared(tariff)) {
    return {
      limitBytes,
      usageBytes,
      overageBytes: sum((row) => row.excessBytes),
      remainingBytes: sum((row) => row.remainingBytes),
      rows: rows.map((row) => ({ ...row, overageBytes: row.excessBytes })),
    }
  }
  const overageBytes = Math.max(0, usageBytes - limitBytes)
  // Shares never add up to more than the limit, so a pool over its limit has rows above their shares.
  const parts = divideBytes(
    overageBytes,
    rows.map(({ simId, excessBytes }) => ({ simId, weight: excessBytes })),
  )
  return {
    limitBytes,
    usageBytes,
    overageBytes,
    remainingBytes: Math.max(0, limitBytes - usageBytes),
    rows: rows.map((row) => ({ ...row, overageBytes: parts.get(row.simId) ?? 0 })),
  }
}
