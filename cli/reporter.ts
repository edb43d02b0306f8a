/** The output of `simherd start`: one line a fact, and a sign of life while something takes long. */
import { styleText } from 'node:util'
import { printable } from './print.ts'

export interface Reporter {
  /** Prints a plain line. */
  readonly say: (line: string) => void
  /** Prints the title of a table. */
  readonly title: (line: string) => void
  /** Prints a warning for the reader. */
  readonly warn: (line: string) => void
  readonly heading: (line: string) => void
  /**
   * Does something, and prints how long it took. After two seconds, and then every ten, it prints that the work goes
   * on, with the last text of `note`.
   *
   * @param what one text for both, or one for the work in progress and one for the finished work
   */
  readonly step: <T>(
    what: string | { readonly doing: string; readonly done: string },
    work: (note: (text: string) => void) => Promise<T>,
  ) => Promise<T>
}

/** A reporter, and the end of what it reports. */
export interface Reporting {
  readonly reporter: Reporter
  readonly signal: AbortSignal
}

const FIRST_SIGN_MS = 2000
const NEXT_SIGN_MS = 10_000

/** `2.5 s`, `47 s`, `3 min 20 s` */
export function span(ms: number): string {
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** @param print takes whole lines; colours follow the terminal and NO_COLOR */
export function createReporter(print: (line: string) => void = console.log): Reporter {
  const step: Reporter['step'] = async (what, work) => {
    const both = typeof what === 'string' ? { doing: what, done: what } : what
    const [doing, done] = [printable(both.doing), printable(both.done)]
    const began = performance.now()
    let noted = ''
    let timer: NodeJS.Timeout
    const sign = () => {
      print(styleText('dim', `  … ${doing}, ${span(performance.now() - began)}${noted === '' ? '' : `: ${noted}`}`))
      timer = setTimeout(sign, NEXT_SIGN_MS)
    }
    timer = setTimeout(sign, FIRST_SIGN_MS)
    try {
      const result = await work((text) => {
        noted = printable(text)
      })
      print(`  ${styleText('green', '✓')} ${done} ${styleText('dim', `(${span(performance.now() - began)})`)}`)
      return result
    } catch (error) {
      print(`  ${styleText('red', '✗')} ${doing}`)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    say: (line) => print(`  ${printable(line)}`),
    title: (line) => print(`\n  ${styleText('bold', printable(line))}`),
    warn: (line) => print(`  ${styleText('yellow', '!')} ${printable(line)}`),
    heading: (line) => print(`\n${styleText('bold', printable(line))}`),
    step,
  }
}
