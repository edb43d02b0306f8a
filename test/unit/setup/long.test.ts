import { existsSync, globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { LONG, LONG_FILES, SHARES, shareAt, sharesOf } from '../../long.ts'

const filesOf = (one: (typeof LONG)[number]) => ('files' in one.run ? one.run.files : [])

describe('the long suites', () => {
  test('have names of their own, and files that exist', () => {
    expect(new Set(LONG.map(({ name }) => name)).size).toBe(LONG.length)
    expect(LONG.flatMap(filesOf).filter((file) => !existsSync(file))).toEqual([])
  })

  test('draw all cases of each file that draws', () => {
    const drawing = globSync('test/**/*.test.ts').filter((file) => /\/cases\.ts'/.test(readFileSync(file, 'utf8')))

    expect(drawing.length).toBeGreaterThan(10)
    expect(drawing.toSorted()).toEqual(
      LONG.filter(({ isDrawn }) => isDrawn)
        .flatMap(filesOf)
        .toSorted(),
    )
  })

  test('leave only their own files out of npm test', () => {
    const drawn = LONG.filter(({ isDrawn }) => isDrawn).flatMap(filesOf)

    expect(LONG_FILES.filter((file) => drawn.includes(file))).toEqual([])
    expect(globSync('test/{faults,demo}/*.test.ts').filter((file) => !LONG_FILES.includes(file))).toEqual([])
  })
})

describe('sharesOf', () => {
  test('gives each suite to one share, but those of each landing', () => {
    const names = sharesOf(LONG).map((share) => share.map(({ name }) => name))

    expect(names).toHaveLength(SHARES)
    expect(names.flat().toSorted()).toEqual(
      LONG.filter(({ isAlways }) => !isAlways)
        .map(({ name }) => name)
        .toSorted(),
    )
  })

  test.each([
    ['wait', true],
    ['compute', undefined],
  ])('gives each share as many minutes of those that %s', (_, waits) => {
    const minutes = sharesOf(LONG).map((share) =>
      share.filter((one) => one.waits === waits).reduce((sum, one) => sum + one.minutes, 0),
    )

    const mean = minutes.reduce((sum, one) => sum + one, 0) / SHARES
    const longest = Math.max(...LONG.filter((one) => one.waits === waits).map((one) => one.minutes))

    expect(Math.max(...minutes), minutes.join(', ')).toBeLessThanOrEqual(Math.max(longest, mean + 1))
  })
})

test('shareAt takes the shares in turn, an hour each', () => {
  const HOUR = 3600

  expect([0, HOUR - 1, HOUR, 22 * HOUR, 23 * HOUR].map(shareAt)).toEqual([0, 0, 1, 22, 0])
})
