/** The outcome of a test run: its last lines, and how many failures they report. */
import type { Notes, SkipNote } from './notes.ts'
import type { SkippedTest, Tally } from './tally.ts'

interface Run {
  /** The exit code of vitest. */
  readonly exitCode: number
  /** In CI no program may be missing, and every skip needs a note with its reason. */
  readonly inCI: boolean
}

const BROKEN_OFF: Tally = { passed: 0, failures: ['the test run broke off'], skipped: [] }

const isWhy = (note: SkipNote, { file, title }: SkippedTest) =>
  note.file === file && (note.isLack || title.endsWith(note.skipped))

/** @param tally undefined if the run broke off */
export function outcomeOf(
  tally: Tally | undefined,
  { skips, properties }: Notes,
  { exitCode, inCI }: Run,
): { readonly failed: number; readonly lines: readonly string[] } {
  const { passed, failures, skipped } = tally ?? BROKEN_OFF
  const failed = [...failures]
  const lacks = new Set(skips.filter(({ isLack }) => isLack).map((note) => note.skipped))
  const unexplained = skipped.filter((test) => !skips.some((note) => isWhy(note, test)))
  if (inCI) {
    failed.push(...[...lacks].map((lack) => `in CI nothing may be missing: ${lack}`))
    failed.push(...unexplained.map(({ file, title }) => `skipped without a reason: ${file} > ${title}`))
  }
  if (passed + failed.length === 0) failed.push('no test was run')
  if (exitCode !== 0 && failed.length === 0) failed.push(`vitest ended with exit code ${exitCode}`)

  const reasons = [...new Set(skips.map((note) => `${note.skipped} (${note.why})`))]
  const missed = [...reasons, ...unexplained.map(({ title }) => title)]
  const runs = properties.reduce((sum, property) => sum + property.runs, 0)
  return {
    failed: failed.length,
    lines: [
      ...failed.map((failure) => `failed: ${failure}`),
      ...(skipped.length > 0 ? [`skipped: ${missed.join('; ')}`] : []),
      ...(properties.length > 0 ? [`properties: ${properties.length}, tried in ${runs} runs`] : []),
      `${passed} passed, ${failed.length} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`,
    ],
  }
}
