import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PoolRow } from '../../../domain/enforcement/enforcement.ts'
import { pickTargets } from '../../../rules/alerts/pick-sims.ts'
import { cases } from '../../setup/cases.ts'

const aRow = (simId: number, excessBytes: number, changes: Partial<PoolRow> = {}): PoolRow => ({
  simId,
  usageBytes: 100 + excessBytes,
  shareBytes: 100,
  excessBytes,
  stopped: false,
  exempt: false,
  weaker: false,
  held: false,
  refused: false,
  ...changes,
})

describe('pickTargets', () => {
  const [EXEMPT, WEAKER, HELD, STOPPED] = [{ exempt: true }, { weaker: true }, { held: true }, { stopped: true }]
  test.each<[string, number, PoolRow[], number[], boolean?]>([
    ['takes the largest until they cover the overage', 50, [aRow(1, 10), aRow(2, 30), aRow(3, 20), aRow(4, 5)], [2, 3]],
    ['takes one more if a byte is missing', 51, [aRow(1, 10), aRow(2, 30), aRow(3, 20)], [2, 3, 1]],
    ['gives ties to the lower id', 10, [aRow(9, 10), aRow(3, 10)], [3]],
    ['counts those that are already stopped', 50, [aRow(1, 40, STOPPED), aRow(2, 30), aRow(3, 20)], [2]],
    ['takes nobody if enough are stopped', 40, [aRow(1, 40, STOPPED), aRow(2, 30)], []],
    [
      'skips the exempt, the weaker and the held',
      10,
      [aRow(1, 90, EXEMPT), aRow(2, 80, WEAKER), aRow(3, 70, HELD), aRow(4, 10)],
      [4],
    ],
    ['reports a shortfall if it can take too little', 50, [aRow(1, 90, EXEMPT), aRow(2, 30), aRow(3, 0)], [2], true],
    ['takes nobody without overage', 0, [aRow(1, 10)], []],
  ])('with largestExcess %s', (_, overage, rows, targets, shortfall = false) => {
    expect(pickTargets('largestExcess', overage, rows)).toEqual({ targets, shortfall })
  })

  test('takes SIMs by policy: aboveShare, all or self', () => {
    const rows = [aRow(1, 0), aRow(2, 5), aRow(3, 9), aRow(4, 7, EXEMPT), aRow(5, 8, STOPPED)]

    expect(pickTargets('aboveShare', 10, rows)).toEqual({ targets: [3, 2], shortfall: false })
    expect(pickTargets('all', 99, rows)).toEqual({ targets: [3, 2, 1], shortfall: true })
    expect(pickTargets('self', 10, rows)).toEqual({ targets: [], shortfall: false })
  })
})

describe('pickTargets, for any rows', () => {
  const rows = fc
    .uniqueArray(
      fc.record({
        simId: fc.integer({ min: 1, max: 99 }),
        excessBytes: fc.nat(40),
        stopped: fc.boolean(),
        exempt: fc.boolean(),
        weaker: fc.boolean(),
        held: fc.boolean(),
      }),
      { selector: ({ simId }) => simId, maxLength: 12 },
    )
    .map((all) => all.map(({ simId, excessBytes, ...flags }) => aRow(simId, excessBytes, flags)))
  const sum = (of: readonly PoolRow[]) => of.reduce((acc, row) => acc + row.excessBytes, 0)
  const policies = fc.constantFrom('largestExcess', 'aboveShare', 'all')

  test('covers the overage with allowed SIMs, or reports shortfall', () => {
    fc.assert(
      fc.property(rows, fc.nat(150), policies, (all, overage, policy) => {
        const { targets, shortfall } = pickTargets(policy, overage, all)

        const picked = all.filter((row) => targets.includes(row.simId))
        const covered = sum(picked) + sum(all.filter((row) => row.stopped))
        expect(shortfall).toBe(covered < overage)
        expect(picked.filter((row) => row.stopped || row.exempt || row.weaker || row.held)).toEqual([])
        if (policy !== 'largestExcess') return
        const last = all.find((row) => row.simId === targets.at(-1))
        if (last !== undefined) expect(covered - last.excessBytes).toBeLessThan(overage)
      }),
      { numRuns: cases(500) },
    )
  })

  test('does not depend on the order of rows', () => {
    fc.assert(
      fc.property(rows, fc.nat(150), policies, (all, overage, policy) => {
        expect(pickTargets(policy, overage, all.toReversed())).toEqual(pickTargets(policy, overage, all))
      }),
    )
  })

  test('adds nobody once its targets are stopped', () => {
    fc.assert(
      fc.property(rows, fc.nat(150), policies, (all, overage, policy) => {
        const { targets } = pickTargets(policy, overage, all)
        const after = all.map((row) => (targets.includes(row.simId) ? { ...row, stopped: true } : row))

        expect(pickTargets(policy, overage, after).targets).toEqual([])
      }),
    )
  })
})
