/** The progress that a run reports, in one line. */
import { type Figures, figuresOf, stepFiguresOf, viewOf, wordOf } from '../../domain/workflows/run-view.ts'
import { at } from '../instant.ts'
import type { RunInfo } from './ask.ts'
import { waitLine } from './run-text.ts'

const figure = new Intl.NumberFormat('en-US')

/** Counts of unfinished SIMs: waiting or in progress. They are included in `left`. */
const UNDER_WAY: ReadonlySet<string> = new Set(['waiting', 'running'])

function countsText({ counts, done, failed, left }: Figures): string {
  const ended =
    counts === undefined
      ? Object.entries({ done: done ?? 0, failed: failed ?? 0 })
      : Object.entries(counts).filter(([name, count]) => count > 0 && !UNDER_WAY.has(name))
  return [...ended, ['left', left] as const].map(([name, count]) => `${figure.format(count)} ${name}`).join(', ')
}

interface Progress {
  readonly counts: string
  /** Null if no step that counts is in progress. */
  readonly rate: string | null
}
function textOf(figures: Figures): Progress {
  const { ratePerSecond = 0, estimatedEndAt = null } = figures
  const end = estimatedEndAt === null ? '' : `, ends about ${at(estimatedEndAt)}`
  return { counts: countsText(figures), rate: ratePerSecond > 0 ? `; ${ratePerSecond.toFixed(1)}/s${end}` : '' }
}

/**
 * `12,400 activated, 3 failed, 87,597 left`, and `; 41.2/s, ends about 2026-11-21 14:30:12`. Null if nothing is
 * counted.
 */
function progressText(state: unknown): Progress | null {
  const figures = figuresOf(state)
  if (figures !== null) return textOf(figures)
  const steps = stepFiguresOf(state)
  if (steps === null) return null
  const now = steps.progress[steps.step]
  if (now !== undefined) return textOf(now)
  // Between steps that count, and at the end: all steps that had something to do.
  const counts = Object.entries(steps.progress)
    .filter(([, { done = 0, failed = 0, left }]) => done + failed + left > 0)
    .map(([step, figures]) => `${step} ${countsText(figures)}`)
  return counts.length === 0 ? null : { counts: counts.join('; '), rate: null }
}

const endText = (status: string, word: string) => (word === '' || word === status ? status : `${status}, ${word}`)

/**
 * The current progress of a run.
 *
 * @returns the line, and the part whose change is news; counts and rate change all the time
 */
export function standOf(run: RunInfo): { readonly line: string; readonly news: string } {
  const { status, state } = run
  const steps = viewOf(state)?.steps ?? []
  const last = steps.at(-1)
  const lastText = last === undefined ? null : [`${last.step}: ${last.outcome}`]
  const wait = waitLine(state)
  const word = wordOf(run)
  const where =
    status === 'running'
      ? [word === '' ? status : word, ...(wait !== null ? [`waits for ${wait}`] : (lastText ?? []))].join('; ')
      : endText(status, word)
  const progress = progressText(state)
  if (progress === null) return { line: where, news: where }
  const news = status === 'running' && word !== '' ? word : endText(status, word)
  const rest = progress.rate ?? (wait === null || status !== 'running' ? '' : `; waits for ${wait}`)
  return { line: `${news}: ${progress.counts}${rest}`, news }
}
