import { didYouMean } from '../../domain/did-you-mean.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/watchdog/subject.ts'
import { factsOf } from '../facts.ts'

/** A fault in a rule file: its place, the found value, and the expected one. */
export interface RuleFault {
  readonly file: string
  /** JSON pointer into the file; empty for the whole file. */
  readonly pointer: string
  /** The place in the text, both from 1; absent if the file is unknown or not JSON. */
  readonly at?: TextPlace
  readonly got: string
  readonly expected: string
  readonly hint?: string
}

export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** A fault in words, without its file: "line 3, column 5: got 1, expected text". */
export const faultWords = ({ at, got, expected, hint }: RuleFault): string =>
  `${at === undefined ? '' : `line ${at.line}, column ${at.column}: `}got ${got}, expected ${expected}${hint === undefined ? '' : ` (${hint})`}`

export type Report = (pointer: string, got: unknown, expected: string, hint?: string) => void

const MOST_CHARS = 80
/** Beyond this many, a file is something else than a rule, and looking for the next fault only costs time. */
const MOST_IN_FILE = 100
const MOST_IN_ALL = 1000

/** A value as JSON, cut to a readable length. A byte order mark is written as \uFEFF: it is invisible. */
function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value).replaceAll('\uFEFF', '\\uFEFF')
  return text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS - 1).toWellFormed()}…`
}

/** Ends the check of a file that has too many faults for a reader. */
class TooManyFaults extends Error {}

/** Collects the faults of a set: each once, at most 100 of a file and 1,000 of all. */
export class FaultList {
  readonly #faults: RuleFault[] = []
  readonly #known = new Set<string>()
  readonly #counts = new Map<string, number>()

  /** The faults so far, in the order of finding. */
  get all(): readonly RuleFault[] {
    return this.#faults
  }

  get isFull(): boolean {
    return this.#faults.length >= MOST_IN_ALL
  }

  /** Reports a file's faults, each once though rules share conditions. @param placeOf finds a pointer in its text */
  of(file: string, placeOf?: (pointer: string) => TextPlace | undefined): Report {
    return (pointer, got, expected, hint) => {
      const key = JSON.stringify([file, pointer, expected])
      if (this.#known.has(key)) return
      const count = this.#counts.get(file) ?? 0
      if (count >= MOST_IN_FILE || this.isFull) throw new TooManyFaults()
      this.#known.add(key)
      this.#counts.set(file, count + 1)
      const at = placeOf?.(pointer)
      this.#faults.push({
        file,
        pointer,
        ...(at === undefined ? {} : { at }),
        got: shown(got),
        expected,
        ...(hint === undefined ? {} : { hint }),
      })
    }
  }

  /** Runs a check, and ends it once a file has too many faults. @returns undefined if it was ended */
  async until<T>(check: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await check()
    } catch (error) {
      if (error instanceof TooManyFaults) return undefined
      throw error
    }
  }
}

/** Appends a key to a JSON pointer. */
export const below = (pointer: string, key: string | number): string =>
  `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** The keys of a JSON pointer, outermost first. */
export const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A hint for a name that is no fact of the subject. */
export function hintForFact(name: string, subject: SubjectKind): string | undefined {
  const elsewhere = SUBJECT_KINDS.filter((kind) => factsOf(kind).has(name))
  if (elsewhere.length > 0) return `${name} is a fact of ${elsewhere.join(' and ')}`
  return didYouMean(name, factsOf(subject).keys())
}
