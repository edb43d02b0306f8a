/** The outcome of a test run: its last lines, and how many failures they report. */
import { dearest, overBudget } from './budget.ts'
import type { Notes, SkipNote } from './notes.ts'
import type { FileTally, Tally } from './tally.ts'

interface Run {
  /** The exit code of vitest. */
  readonly exitCode: number
  /** In CI no program may be missing, and every skip needs a note with its reason. */
  readonly inCI: boolean
  /** Tests were chosen by their names: those that were not are no skipped tests. */
  readonly byName: boolean
  /** How many times slower than usual the machine computes; null: files are not held to their budgets. */
  readonly slowness: number | null
  readonly seed: number
}

/** A run in which more files fail is not one that fails by chance. */
const MOST_AGAIN = 3

/**
 * The files to run once more, each alone.
 *
 * @param tally undefined if the run broke off
 * @returns at most three; none if the run cannot pass whatever they do
 */
export function filesToRunAgain(tally: Tally | undefined): readonly FileTally[] {
  if (tally === undefined || tally.errors.length > 0) return []
  const failed = tally.files.filter(({ failures }) => failures.length > 0)
  return failed.length <= MOST_AGAIN ? failed : []
}

/** Whether a file that had failed passed in a run of its own. */
const hasPassed = (file: string, again: Tally | undefined): boolean =>
  again !== undefined &&
  again.errors.length === 0 &&
  again.files.some((one) => one.file === file && one.failures.length === 0 && one.passed > 0)

const line = (file: string, title: string | undefined, reason: string): string =>
  `${title === undefined ? file : `${file} > ${title}`}: ${reason}`

const linesOf = ({ file, failures }: FileTally): string[] =>
  failures.map(({ title, reason }) => line(file, title, reason))

const isWhy = (note: SkipNote, file: string, title: string) =>
  note.file === file && (note.isLack || title.endsWith(note.skipped))

/**
 * @param tally undefined if the run broke off
 * @param again the runs of {@link filesToRunAgain}, by file; undefined for a run that broke off
 */
export function outcomeOf(
  tally: Tally | undefined,
  again: ReadonlyMap<string, Tally | undefined>,
  { skips, properties, costs }: Notes,
  { exitCode, inCI, byName, slowness, seed }: Run,
): { readonly failed: number; readonly flaky: readonly FileTally[]; readonly lines: readonly string[] } {
  const first = tally?.files ?? []
  const flaky = first.filter(({ file }) => again.has(file) && hasPassed(file, again.get(file)))
  const settled = first.map((one) =>
    flaky.includes(one) ? (again.get(one.file)?.files.find(({ file }) => file === one.file) ?? one) : one,
  )
  const passed = settled.reduce((sum, one) => sum + one.passed, 0)
  const skipped = settled.flatMap(({ file, skipped }) => skipped.map((title) => ({ file, title })))
  const lacks = new Set(skips.filter(({ isLack }) => isLack).map((note) => note.skipped))
  const unexplained = byName ? [] : skipped.filter(({ file, title }) => !skips.some((note) => isWhy(note, file, title)))

  const failed = (tally?.errors ?? ['the test run broke off']).map((error) =>
    tally ? `outside of tests: ${error}` : error,
  )
  failed.push(...settled.flatMap(linesOf))
  if (slowness !== null) failed.push(...overBudget(costs, slowness))
  if (inCI) {
    failed.push(...[...lacks].map((lack) => `in CI nothing may be missing: ${lack}`))
    failed.push(...unexplained.map(({ file, title }) => `skipped without a reason: ${file} > ${title}`))
  }
  if (passed + failed.length === 0) failed.push('no test was run')
  if (exitCode !== 0 && failed.length + flaky.length === 0) failed.push(`vitest ended with exit code ${exitCode}`)

  const reasons = [...new Set(skips.map((note) => `${note.skipped} (${note.why})`))]
  const listed = [...reasons, ...unexplained.map(({ title }) => title)]
  const runs = properties.reduce((sum, property) => sum + property.runs, 0)
  const flakyLines = flaky.flatMap(linesOf).map((text) => `flaky: ${text}`)
  return {
    failed: failed.length,
    flaky,
    lines: [
      ...(slowness === null ? [] : dearest(costs)),
      ...failed.map((failure) => `failed: ${failure}`),
      ...(listed.length > 0 ? [`skipped: ${listOf(listed)}`] : []),
      ...(properties.length > 0 ? [`properties: ${properties.length}, tried in ${runs} runs`] : []),
      `seed ${seed}: the same cases again by SEED=${seed}`,
      ...flakyLines,
      ...(flakyLines.length > 0 ? [`${flakyLines.length} flaky`] : []),
      `${passed} passed, ${failed.length} failed${byName || skipped.length === 0 ? '' : `, ${skipped.length} skipped`}`,
    ],
  }
}

/** Names of what was skipped, in a line. */
const MOST_LISTED = 10
const listOf = (names: readonly string[]): string =>
  names.length <= MOST_LISTED
    ? names.join('; ')
    : `${names.slice(0, MOST_LISTED).join('; ')}; and ${names.length - MOST_LISTED} more`
