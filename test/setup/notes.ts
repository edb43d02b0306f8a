/** Notes from tests to test/run.ts: one line of JSON each, in the file that TEST_NOTES names. */
import { appendFileSync } from 'node:fs'
import { startedAt } from '../../stack/pids.ts'

/** A started server: test/run.ts ends it if the test process is killed. */
export interface ServerNote {
  readonly pid: number
  readonly startedAt: string | undefined
}
/** Why tests are skipped. */
export interface SkipNote {
  /** Relative to the repository: the file with the skipped tests. */
  readonly file: string
  readonly skipped: string
  readonly why: string
  /** True: the machine lacks a program, which is a failure in CI. False: only the test of this title is skipped. */
  readonly isLack: boolean
}
/** The number of runs of a property. */
interface RunsNote {
  readonly runs: number
}
/** What a test file took. */
export interface CostNote {
  readonly file: string
  /** Of the test process and of the processes that the file started, without the servers that all files share. */
  readonly cpuSeconds: number
  readonly seconds: number
}
export interface Notes {
  readonly servers: readonly ServerNote[]
  readonly skips: readonly SkipNote[]
  readonly properties: readonly RunsNote[]
  readonly costs: readonly CostNote[]
}

export const noteServer = async (pid: number): Promise<void> =>
  note({ pid, startedAt: await startedAt(pid) } satisfies ServerNote)
export const noteSkip = (skip: SkipNote): void => note(skip)
export const noteRuns = (runs: number): void => note({ runs } satisfies RunsNote)
export const noteCost = (cost: CostNote): void => note(cost)

function note(line: object): void {
  const file = process.env.TEST_NOTES
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
    costs: lines.filter((line) => 'cpuSeconds' in line),
  }
}
