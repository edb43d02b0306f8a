/** Takes the place of an unreadable record of a file, with the reason. */
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
