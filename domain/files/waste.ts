/** Useless parts of files: unreadable records and blank lines, and how many of them a file may have. */
import { ServiceError } from '../errors.ts'

/** Takes the place of an unreadable record, with the reason. */
export class Unreadable {
  /** Its first line, from 1. */
  readonly line: number
  /** Such as `is longer than 65536 bytes`. */
  readonly why: string

  constructor(line: number, why: string) {
    this.line = line
    this.why = why
  }

  /** Why, with the line. */
  toString(): string {
    return `line ${this.line}: ${this.why}`
  }
}

/** Useless parts that any file may have. Beyond it, a file may have one for each useful line or record. */
const MOST_WASTE = 1000

/** Counts useful and useless parts of one file while it is read. */
export class Waste {
  readonly #what: string
  #useful = 0
  #useless = 0

  /** @param what the name of the useless parts, for the message: `blank lines` */
  constructor(what: string) {
    this.#what = what
  }

  countUseful(): void {
    this.#useful += 1
  }

  /**
   * @param last the fault of this one, for the message
   * @throws ServiceError invalid_request if there are too many
   */
  countUseless(last = ''): void {
    this.#useless += 1
    if (this.#useless <= MOST_WASTE + this.#useful) return
    const got = `got ${this.#useless} ${this.#what} beside ${this.#useful} others`
    const why = last === '' ? '' : `; the last: ${last}`
    throw new ServiceError(
      'invalid_request',
      `The file was not read to its end: ${got}; expected at most ${MOST_WASTE} more than others${why}`,
    )
  }
}
