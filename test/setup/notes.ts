/** What tests leave for test/run.ts: a line of JSON each, in the file that SIMHERD_TEST_NOTES names. */
import { appendFileSync } from 'node:fs'
import { startedAt } from '../../stack/pids.ts'

/** A server that was started: should its process be killed, test/run.ts ends it. */
export interface ServerNote {
  readonly pid: number
  readonly startedAt: string | undefined
}
/** Why something is skipped. */
export interface SkipNote {
  /** Relative to the repository; tests that are skipped in it have this reason. */
  readonly file: string
  readonly skipped: string
  readonly why: string
  /** Of a machine that lacks a program, which CI may not; else it is the one test of this title that is skipped. */
  readonly isLack: boolean
}
/** The runs of a property. */
export interface RunsNote {
  readonly runs: number
}
export interface Notes {
  readonly servers: readonly ServerNote[]
  readonly skips: readonly SkipNote[]
  readonly properties: readonly RunsNote[]
}

export const noteServer = async (pid: number): Promise<void> =>
  note({ pid, startedAt: await startedAt(pid) } satisfies ServerNote)
export const noteSkip = (skip: SkipNote): void => note(skip)
export const noteRuns = (runs: number): void => note({ runs } satisfies RunsNote)

function note(line: object): void {
  const file = process.env.SIMHERD_TEST_NOTES
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}

export function notesOf(text: string): Notes {
  const lines = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return {
    servers: lines.filter((line) => 'pid' in line),
    skips: lines.filter((line) => 'skipped' in line),
    properties: lines.filter((line) => 'runs' in line),
  }
}
