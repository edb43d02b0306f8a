/**
 * Allowance and overage arithmetic, in whole bytes.
 *
 * The definition the set-wise SQL of store/usage/figures.ts is held to: a property test runs both.
 * All inputs are safe integers; products are made in bigint, so that no byte is lost on the way.
 */
import { PoolType, TariffType } from '../codes.ts'

/** The part of a tariff that governs allowances. */
export interface Allowance {
  readonly type: TariffType
  /** Per SIM (Standard, Dynamic Pool), or the whole capacity (Fixed Pool). */
  readonly allowanceBytes: number
}

/** One row of the usage ledger: a SIM in a pool (or outside one) in a cycle. */
export interface LedgerRow {
  readonly simId: number
  readonly usageBytes: number
  /** Was Active here at some moment of the cycle. */
  readonly contributing: boolean
  /** The SIM's own tariff, last one in force in this cycle and pool. */
  readonly own: Allowance | null
}

export interface RowFigures {
  readonly simId: number
  readonly limitBytes: number
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
 * Which tariff governs a SIM's allowance: in a shared pool the pool's, in a Standard pool the SIM's own
 * Standard tariff or else the pool's, outside a pool the SIM's own.
 *
 * @param pool the tariff of the pool, null outside pools
 */
export function governingTariff<T extends Allowance>(own: T | null, pool: T | null): T | null {
  if (pool === null) return own
  if (pool.type !== TariffType.Standard) return pool
  return own !== null && own.type === TariffType.Standard ? own : pool
}

/** Whether a pool of this type takes a tariff of this type. */
export const poolTakesTariff = (pool: PoolType, tariff: TariffType): boolean =>
  pool === PoolType.Dynamic ? tariff === TariffType['Dynamic Pool'] : tariff !== TariffType['Dynamic Pool']

/**
 * A SIM's share of a governing tariff, rounded down to whole bytes.
 *
 * @param contributing SIMs that contribute to the pool in this cycle, this one included
 */
function shareBytes(governing: Allowance | null, contributing: number): number {
  if (governing === null) return 0
  if (governing.type !== TariffType['Fixed Pool']) return governing.allowanceBytes
  return contributing === 0 ? 0 : Math.floor(governing.allowanceBytes / contributing)
}

/**
 * Divides whole bytes by weight: each its rounded-down part, the bytes left over one each to the largest
 * remainders, ties to the lower SIM id. The parts add up to the total exactly, unless all weights are 0.
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

function sharedPool(tariff: Allowance, rows: readonly LedgerRow[]): PoolFigures {
  const contributing = rows.filter((row) => row.contributing).length
  const limitBytes =
    tariff.type === TariffType['Fixed Pool'] ? tariff.allowanceBytes : tariff.allowanceBytes * contributing
  const usageBytes = rows.reduce((acc, row) => acc + row.usageBytes, 0)
  const overageBytes = Math.max(0, usageBytes - limitBytes)
  const share = shareBytes(tariff, contributing)
  const limits = rows.map((row) => ({ ...row, limitBytes: row.contributing ? share : 0 }))
  const excess = limits.map((row) => ({ simId: row.simId, weight: Math.max(0, row.usageBytes - row.limitBytes) }))
  // A pool over its limit has rows above their shares: shares never add up to more than the limit.
  const parts = divideBytes(overageBytes, excess)
  return {
    limitBytes,
    usageBytes,
    overageBytes,
    remainingBytes: limitBytes - usageBytes + overageBytes,
    rows: limits.map((row) => ({
      simId: row.simId,
      limitBytes: row.limitBytes,
      overageBytes: parts.get(row.simId) ?? 0,
    })),
  }
}

/**
 * Limit, usage, overage and what remains of a pool in a cycle, and of each of its ledger rows.
 * In bytes, the rows' overage adds up to the pool's.
 *
 * @param tariff the pool's tariff; null for the rows of SIMs outside pools
 */
export function poolFigures(tariff: Allowance | null, rows: readonly LedgerRow[]): PoolFigures {
  if (tariff !== null && tariff.type !== TariffType.Standard) return sharedPool(tariff, rows)
  const figures = rows.map((row) => {
    const governing = governingTariff(row.own, tariff)
    const limitBytes = row.contributing ? shareBytes(governing, 1) : 0
    const overageBytes = governing === null ? 0 : Math.max(0, row.usageBytes - limitBytes)
    return { simId: row.simId, usageBytes: row.usageBytes, limitBytes, overageBytes }
  })
  const sum = (of: (row: (typeof figures)[number]) => number) => figures.reduce((acc, row) => acc + of(row), 0)
  return {
    limitBytes: sum((row) => row.limitBytes),
    usageBytes: sum((row) => row.usageBytes),
    overageBytes: sum((row) => row.overageBytes),
    remainingBytes: sum((row) => Math.max(0, row.limitBytes - row.usageBytes)),
    rows: figures.map(({ simId, limitBytes, overageBytes }) => ({ simId, limitBytes, overageBytes })),
  }
}
