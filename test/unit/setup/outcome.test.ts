import { describe, expect, test } from 'vitest'
import type { Notes } from '../../setup/notes.ts'
import { filesToRunAgain, outcomeOf } from '../../setup/outcome.ts'
import type { FileTally, Tally } from '../../setup/tally.ts'

const NOTES: Notes = { servers: [], skips: [], properties: [], costs: [] }
const CI = { exitCode: 0, inCI: true, byName: false, slowness: null as number | null, seed: 7 }
const FILE = 'test/workflows/month-end-reprovision/month-end.test.ts'
const OTHER = 'test/api/http/rate-limit.test.ts'
const OF_REDIS = { file: FILE, skipped: 'month end on Redis', why: 'there is no Redis', isLack: true }
const OF_ROOT = { file: FILE, skipped: 'goes to /var/lib', why: 'root does not run the tests', isLack: false }
const SEED_LINE = 'seed 7: the same cases again by SEED=7'

const aFile = (more: Partial<FileTally> = {}): FileTally => ({
  file: FILE,
  passed: 3,
  failures: [],
  skipped: [],
  printed: [],
  ...more,
})
const aTally = (...files: readonly FileTally[]): Tally => ({ files, errors: [] })
const failing = (file: string, title: string | undefined = 'month end > closes'): FileTally =>
  aFile({ file, passed: 2, failures: [{ title, reason: 'expected 1 to be 2', detail: '' }] })
const ofFirst = (tally: Tally | undefined, notes = NOTES, run = CI) => outcomeOf(tally, new Map(), notes, run)

describe('outcomeOf', () => {
  test('counts passed tests and runs of properties', () => {
    const notes = { ...NOTES, properties: [{ runs: 100 }, { runs: 40 }] }

    const { failed, lines } = ofFirst(aTally(aFile(), aFile({ file: OTHER })), notes)

    expect(failed).toBe(0)
    expect(lines).toEqual(['properties: 2, tried in 140 runs', SEED_LINE, '6 passed, 0 failed'])
  })

  test.each([
    ['without a note', []],
    ['with a note of another file', [{ ...OF_REDIS, file: 'test/e2e/main-job.test.ts' }]],
    ['with a note of another test that is no lack', [OF_ROOT]],
  ])('fails in CI only for tests skipped %s', (_, skips) => {
    const tally = aTally(aFile({ skipped: ['month end > closes'] }))
    const notes = { ...NOTES, skips }

    const inCI = ofFirst(tally, notes)
    const elsewhere = ofFirst(tally, notes, { ...CI, inCI: false })

    expect(inCI.lines).toContain(`failed: skipped without a reason: ${FILE} > month end > closes`)
    expect(inCI.lines.at(-1)).toMatch(/^3 passed, [12] failed, 1 skipped$/)
    expect(elsewhere.failed).toBe(0)
    expect(elsewhere.lines.at(-1)).toBe('3 passed, 0 failed, 1 skipped')
  })

  test('counts no test as skipped that its name has not chosen', () => {
    const { lines } = ofFirst(aTally(aFile({ skipped: ['month end > closes'] })), NOTES, { ...CI, byName: true })

    expect(lines).toEqual([SEED_LINE, '3 passed, 0 failed'])
  })

  test('fails once in CI for each missing program', () => {
    const tally = aTally(aFile({ skipped: ['month end > closes', 'month end > renews'] }))

    expect(ofFirst(tally, { ...NOTES, skips: [OF_REDIS, OF_REDIS] }).lines).toEqual([
      'failed: in CI nothing may be missing: month end on Redis',
      'skipped: month end on Redis (there is no Redis)',
      SEED_LINE,
      '3 passed, 1 failed, 2 skipped',
    ])
  })

  test('accepts a skip that depends on the machine', () => {
    const tally = aTally(aFile({ skipped: ['a new database > goes to /var/lib'] }))

    const { failed, lines } = ofFirst(tally, { ...NOTES, skips: [OF_ROOT] })

    expect(failed).toBe(0)
    expect(lines).toEqual([
      'skipped: goes to /var/lib (root does not run the tests)',
      SEED_LINE,
      '3 passed, 0 failed, 1 skipped',
    ])
  })

  test.each([
    ['no test was run', aTally(), 0],
    ['the test run broke off', undefined, 1],
    ['vitest ended with exit code 1', aTally(aFile()), 1],
    ['outside of tests: it broke', { ...aTally(aFile()), errors: ['it broke'] }, 1],
  ])('fails without a failed test: %s', (why, tally, exitCode) => {
    expect(ofFirst(tally, NOTES, { ...CI, exitCode }).lines).toContain(`failed: ${why}`)
  })

  test('names as flaky what passes in a run of its own', () => {
    const first = aTally(failing(FILE), aFile({ file: OTHER }))
    const again = new Map([[FILE, aTally(aFile())]])

    const { failed, flaky, lines } = outcomeOf(first, again, NOTES, { ...CI, exitCode: 1 })

    expect(failed).toBe(0)
    expect(flaky.map(({ file }) => file)).toEqual([FILE])
    expect(lines).toEqual([
      SEED_LINE,
      `flaky: ${FILE} > month end > closes: expected 1 to be 2`,
      '1 flaky',
      '6 passed, 0 failed',
    ])
  })

  test.each([
    ['fails again', aTally(failing(FILE))],
    ['breaks off', undefined],
    ['meets an error outside of tests', { ...aTally(aFile()), errors: ['it broke'] }],
    ['runs no test', aTally(aFile({ passed: 0, skipped: ['month end > closes'] }))],
  ])('fails for a file that %s', (_, tally) => {
    const { failed, flaky, lines } = outcomeOf(aTally(failing(FILE)), new Map([[FILE, tally]]), NOTES, CI)

    expect([failed, flaky]).toEqual([1, []])
    expect(lines).toEqual([`failed: ${FILE} > month end > closes: expected 1 to be 2`, SEED_LINE, '2 passed, 1 failed'])
  })

  test('fails for a file at twice its budget, and shows the dearest', () => {
    const costs = [
      { file: 'test/unit/domain/cycle.test.ts', cpuSeconds: 6, seconds: 7 },
      { file: OTHER, cpuSeconds: 39.9, seconds: 80 },
    ]

    const { failed, lines } = ofFirst(aTally(aFile()), { ...NOTES, costs }, { ...CI, slowness: 1 })

    expect(failed).toBe(1)
    expect(lines).toContain(
      'failed: test/unit/domain/cycle.test.ts: took 6.0 CPU s, its budget is 3: make it cheaper, or name it in test/long.ts',
    )
    expect(lines.slice(0, 2)).toEqual([
      '46 CPU s in tests, without the servers that they share (unit 6, api 40); the dearest files:',
      `  39.9  ${OTHER}`,
    ])
    expect(ofFirst(aTally(aFile()), { ...NOTES, costs }, { ...CI, slowness: 2 }).failed).toBe(0)
  })
})

describe('filesToRunAgain', () => {
  const ofFiles = (...files: readonly string[]) => aTally(aFile(), ...files.map((file) => failing(file)))

  test('gives up to three failed files', () => {
    const files = filesToRunAgain(ofFiles('test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts'))

    expect(files.map(({ file }) => file)).toEqual(['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts'])
  })

  test.each([
    ['more have failed', ofFiles('test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts', 'test/d.test.ts')],
    ['something failed outside of tests', { ...ofFiles('test/a.test.ts'), errors: ['it broke'] }],
    ['the run broke off', undefined],
    ['all have passed', aTally(aFile())],
  ])('gives none if %s', (_, tally) => {
    expect(filesToRunAgain(tally)).toEqual([])
  })
})
