import { describe, expect, test } from 'vitest'
import type { Notes } from '../../setup/notes.ts'
import { outcomeOf } from '../../setup/outcome.ts'
import type { Tally } from '../../setup/tally.ts'

const NOTES: Notes = { servers: [], skips: [], properties: [] }
const CI = { exitCode: 0, inCI: true }
const FILE = 'test/workflows/month-end-reprovision/month-end.test.ts'
const OF_JAVA = { file: FILE, skipped: 'month end in skipped time', why: 'there is no Java', isLack: true }
const OF_ROOT = { file: FILE, skipped: 'goes to /var/lib', why: 'root does not run the tests', isLack: false }
const aTally = (skipped: Tally['skipped'] = []): Tally => ({ passed: 3, failures: [], skipped })

describe('outcomeOf', () => {
  test('counts passed tests and runs of properties', () => {
    const notes = { ...NOTES, properties: [{ runs: 100 }, { runs: 40 }] }

    const { failed, lines } = outcomeOf(aTally(), notes, CI)

    expect(failed).toBe(0)
    expect(lines).toEqual(['properties: 2, tried in 140 runs', '3 passed, 0 failed'])
  })

  test.each([
    ['without a note', []],
    ['with a note of another file', [{ ...OF_JAVA, file: 'test/e2e/main-job.test.ts' }]],
    ['with a note of another test that is no lack', [OF_ROOT]],
  ])('fails in CI only for tests skipped %s', (_, skips) => {
    const tally = aTally([{ file: FILE, title: 'month end > closes' }])
    const notes = { ...NOTES, skips }

    const inCI = outcomeOf(tally, notes, CI)
    const elsewhere = outcomeOf(tally, notes, { ...CI, inCI: false })

    expect(inCI.lines).toContain(`failed: skipped without a reason: ${FILE} > month end > closes`)
    expect(inCI.lines.at(-1)).toMatch(/^3 passed, [12] failed, 1 skipped$/)
    expect(elsewhere.failed).toBe(0)
    expect(elsewhere.lines.at(-1)).toBe('3 passed, 0 failed, 1 skipped')
  })

  test('fails once in CI for each missing program', () => {
    const tally = aTally([
      { file: FILE, title: 'month end > closes' },
      { file: FILE, title: 'month end > renews' },
    ])

    const { lines } = outcomeOf(tally, { ...NOTES, skips: [OF_JAVA, OF_JAVA] }, CI)

    expect(lines).toEqual([
      'failed: in CI nothing may be missing: month end in skipped time',
      'skipped: month end in skipped time (there is no Java)',
      '3 passed, 1 failed, 2 skipped',
    ])
  })

  test('accepts a skip that depends on the machine', () => {
    const tally = aTally([{ file: FILE, title: 'a new database > goes to /var/lib' }])

    expect(outcomeOf(tally, { ...NOTES, skips: [OF_ROOT] }, CI)).toEqual({
      failed: 0,
      lines: ['skipped: goes to /var/lib (root does not run the tests)', '3 passed, 0 failed, 1 skipped'],
    })
  })

  test.each([
    ['no test was run', { ...aTally(), passed: 0 }, 0],
    ['the test run broke off', undefined, 1],
    ['vitest ended with exit code 1', aTally(), 1],
  ])('fails without a reported failure: %s', (why, tally, exitCode) => {
    expect(outcomeOf(tally, NOTES, { ...CI, exitCode }).lines).toContain(`failed: ${why}`)
  })
})
