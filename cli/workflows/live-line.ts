/**
 * A line that says where something stands: rewritten on a terminal, in a pipe a new one where there is news, and now and
 * then where only the line has changed.
 */
import { printable } from '../print.ts'

/** What is written to: standard output, or what a test reads. */
export interface Output {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly write: (text: string) => unknown
}

export interface LiveLine {
  /** @param news what has to change for a pipe to get a line at once */
  readonly show: (line: string, news?: string) => void
  /** Leaves the last line where it stands. */
  readonly end: () => void
}

const TO_LINE_START_AND_CLEAR = '\r\u001b[2K'
const WIDTH = 80
/** What only counts up gets a line in a pipe so often. */
const NOW_AND_THEN_MS = 10_000

export function liveLine(output: Output): LiveLine {
  const line = output.isTTY === true ? rewritten(output) : oneByOne(output)
  return { show: (text, news) => line.show(printable(text), news), end: line.end }
}

function oneByOne(output: Output): LiveLine {
  let last = { line: '', news: '', at: 0 }
  return {
    show: (line, news = line) => {
      const now = performance.now()
      const isDue = line !== last.line && now - last.at >= NOW_AND_THEN_MS
      if (news === last.news && !isDue) return
      last = { line, news, at: now }
      output.write(`${line}\n`)
    },
    end: () => undefined,
  }
}

function rewritten(output: Output): LiveLine {
  let last: string | null = null
  return {
    show: (line) => {
      if (line === last) return
      last = line
      // A line that wraps could not be taken back.
      const width = (output.columns ?? WIDTH) - 1
      output.write(`${TO_LINE_START_AND_CLEAR}${line.length > width ? `${line.slice(0, width - 1)}…` : line}`)
    },
    end: () => {
      if (last !== null) output.write('\n')
    },
  }
}
