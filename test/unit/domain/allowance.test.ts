import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PoolType, TariffType } from '../../../domain/codes.ts'
import {
  divideBytes,
  governingTariff,
  type LedgerRow,
  poolFigures,
  poolTakesTariff,
} from '../../../domain/usage/allowance.ts'

const bytes = fc.integer({ min: 0, max: 9_000_000_000_000 })
const allowance = fc.record({ type: fc.constantFrom(...Object.values(TariffType)), allowanceBytes: bytes })
const standard = bytes.map((allowanceBytes) => ({ type: TariffType.Standard, allowanceBytes }))
const shared = allowance.filter(({ type }) => type !== TariffType.Standard)
const rows = fc
  .array(fc.record({ usageBytes: bytes, contributing: fc.boolean(), own: fc.option(standard) }), { maxLength: 30 })
  .map((list): LedgerRow[] => list.map((row, i) => ({ ...row, simId: i + 1 })))

const row = (simId: number, usageBytes: number): LedgerRow => ({ simId, usageBytes, contributing: true, own: null })
const sumOf = (numbers: Iterable<number>) => [...numbers].reduce((sum, n) => sum + BigInt(n), 0n)

describe('poolFigures', () => {
  test('gives rows that add up to the pool', () => {
    fc.assert(
      fc.property(allowance, rows, (tariff, ledger) => {
        const figures = poolFigures(tariff, ledger)
        expect(sumOf(figures.rows.map((row) => row.overageBytes))).toBe(BigInt(figures.overageBytes))
        expect(sumOf(ledger.map((row) => row.usageBytes))).toBe(BigInt(figures.usageBytes))
      }),
    )
  })

  test('never gives a shared pool both remaining and overage', () => {
    fc.assert(
      fc.property(shared, rows, (tariff, ledger) => {
        const { remainingBytes, overageBytes, limitBytes, usageBytes } = poolFigures(tariff, ledger)
        expect(Math.min(remainingBytes, overageBytes)).toBe(0)
        expect(remainingBytes).toBe(Math.max(0, limitBytes - usageBytes))
      }),
    )
  })

  test('allows overage in a Standard pool below its limit', () => {
    const figures = poolFigures({ type: TariffType.Standard, allowanceBytes: 100 }, [row(1, 130), row(2, 10)])

    expect(figures).toMatchObject({ limitBytes: 200, usageBytes: 140, overageBytes: 30, remainingBytes: 90 })
  })

  test('shares one capacity among the SIMs of a Fixed pool', () => {
    const ledger = [1, 2, 3].map((simId) => row(simId, 40))
    const figures = poolFigures({ type: TariffType['Fixed Pool'], allowanceBytes: 100 }, ledger)

    expect(figures).toMatchObject({ limitBytes: 100, overageBytes: 20 })
    expect(figures.rows.map((r) => r.limitBytes)).toEqual([33, 33, 33])
    expect(figures.rows.map((r) => r.overageBytes)).toEqual([7, 7, 6])
  })

  test('divides a shared pool’s overage by excess over share', () => {
    fc.assert(
      fc.property(shared, rows, (tariff, ledger) => {
        const figures = poolFigures(tariff, ledger)
        const excess = figures.rows.map(({ limitBytes }, i) =>
          BigInt(Math.max(0, (ledger[i]?.usageBytes ?? 0) - limitBytes)),
        )
        const sum = excess.reduce((all, one) => all + one, 0n)
        for (const [i, { overageBytes }] of figures.rows.entries()) {
          const part = sum === 0n ? 0n : (BigInt(figures.overageBytes) * (excess[i] ?? 0n)) / sum
          expect([part, excess[i] === 0n ? part : part + 1n]).toContain(BigInt(overageBytes))
        }
      }),
    )
  })
})

describe('divideBytes', () => {
  test('gives out every byte, each part rounded within one', () => {
    const weights = fc
      .array(bytes, { minLength: 1, maxLength: 30 })
      .map((list) => list.map((weight, i) => ({ simId: i + 1, weight })))
    fc.assert(
      fc.property(bytes, weights, (total, all) => {
        const sum = sumOf(all.map(({ weight }) => weight))
        const divided = divideBytes(total, all)
        expect(sumOf(divided.values())).toBe(sum === 0n ? 0n : BigInt(total))
        if (sum === 0n) return
        for (const { simId, weight } of all) {
          const part = (BigInt(total) * BigInt(weight)) / sum
          expect([part, part + 1n]).toContain(BigInt(divided.get(simId) ?? -1))
        }
      }),
    )
  })

  test('breaks ties by the lower SIM id', () => {
    const divided = divideBytes(
      2,
      [3, 1, 2].map((simId) => ({ simId, weight: 1 })),
    )

    expect([1, 2, 3].map((simId) => divided.get(simId))).toEqual([1, 1, 0])
  })
})

describe('governingTariff', () => {
  const tariff = (type: TariffType, allowanceBytes = 1) => ({ type, allowanceBytes })
  const [standardTariff, another] = [tariff(TariffType.Standard), tariff(TariffType.Standard, 2)]
  const [dynamic, fixed] = [tariff(TariffType['Dynamic Pool']), tariff(TariffType['Fixed Pool'])]

  test.each([
    ['the own tariff outside a pool', standardTariff, null, standardTariff],
    ['none outside a pool without an own tariff', null, null, null],
    ['the pool’s in a Dynamic pool', standardTariff, dynamic, dynamic],
    ['the pool’s in a Fixed pool', standardTariff, fixed, fixed],
    ['the own Standard tariff in a Standard pool', another, standardTariff, another],
    ['the pool’s over an own Dynamic tariff', dynamic, standardTariff, standardTariff],
    ['the pool’s in a Standard pool without an own tariff', null, standardTariff, standardTariff],
  ])('picks %s', (_, own, pool, governs) => {
    expect(governingTariff(own, pool)).toEqual(governs)
  })
})

test.each([
  [PoolType.Dynamic, TariffType['Dynamic Pool'], true],
  [PoolType.Dynamic, TariffType.Standard, false],
  [PoolType.Dynamic, TariffType['Fixed Pool'], false],
  [PoolType.Standard, TariffType.Standard, true],
  [PoolType.Standard, TariffType['Fixed Pool'], true],
  [PoolType.Standard, TariffType['Dynamic Pool'], false],
])('poolTakesTariff(%i, %i) is %s', (pool, tariff, takes) => {
  expect(poolTakesTariff(pool, tariff)).toBe(takes)
})
