/**
 * A line that shows progress. On a terminal it is rewritten. A pipe gets a new line for each change of `news`. It also
 * gets one from time to time if only the line has changed.
 */
import { printable } from '../print.ts'

/** Output of the line: standard output, or a test's buffer. */
export interface Output {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly write: (text: string) => unknown
}

export interface LiveLine {
  /** @param news a change of it gets a line in a pipe at once; default: the line itself */
  readonly show: (line: string, news?: string) => void
  /** Ends the output, and leaves the last line unchanged. */
  readonly end: () => void
}

const TO_LINE_START_AND_CLEAR = '\r\u001b[2K'
const WIDTH = 80
/** How often a pipe gets a line if only counts change, in milliseconds. */
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
      // A line that wraps could not be overwritten.
      const width = (output.columns ?? WIDTH) - 1
      output.write(`${TO_LINE_START_AND_CLEAR}${line.length > width ? `${line.slice(0, width - 1)}…` : line}`)
    },
    end: () => {
      if (last !== null) output.write('\n')
    },
  }
}
