/** What `simherd start` says: one line a fact, and a sign of life where something takes its time. */
import { styleText } from 'node:util'

export interface Tell {
  /** A plain line. */
  readonly say: (line: string) => void
  /** Something the reader should act on, or at least know. */
  readonly warn: (line: string) => void
  readonly heading: (line: string) => void
  /**
   * Does something, and says how long it took. After two seconds, and then every five, it says that it goes on,
   * with what `note` has told last.
   */
  readonly step: <T>(what: string, work: (note: (text: string) => void) => Promise<T>) => Promise<T>
}

const FIRST_SIGN_MS = 2000
const NEXT_SIGN_MS = 5000

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`

/** @param print takes whole lines; colours follow the terminal and NO_COLOR */
export function createTell(print: (line: string) => void = console.log): Tell {
  const step: Tell['step'] = async (what, work) => {
    const began = performance.now()
    let noted = ''
    let timer: NodeJS.Timeout
    const sign = () => {
      print(styleText('dim', `  … ${what}, ${seconds(performance.now() - began)}${noted === '' ? '' : `: ${noted}`}`))
      timer = setTimeout(sign, NEXT_SIGN_MS)
    }
    timer = setTimeout(sign, FIRST_SIGN_MS)
    try {
      const result = await work((text) => {
        noted = text
      })
      print(`  ${styleText('green', '✓')} ${what} ${styleText('dim', `(${seconds(performance.now() - began)})`)}`)
      return result
    } catch (error) {
      print(`  ${styleText('red', '✗')} ${what}`)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    say: (line) => print(`  ${line}`),
    warn: (line) => print(`  ${styleText('yellow', '!')} ${line}`),
    heading: (line) => print(`\n${styleText('bold', line)}`),
    step,
  }
}
