/** A fault in a rule file: its place, the value found, and what was expected. */
export interface RuleFault {
  readonly file: string
  /** JSON pointer into the file; empty for the whole file. */
  readonly pointer: string
  readonly got: string
  readonly expected: string
  readonly hint?: string
}

export type Report = (pointer: string, got: unknown, expected: string, hint?: string) => void

const MOST_CHARS = 80

/** A value as JSON, cut to a readable length. */
function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length <= MOST_CHARS ? text : `${text.slice(0, MOST_CHARS - 1)}…`
}

/**
 * Adds faults of one file to a list, without duplicates. Shared conditions are checked for every rule that uses them.
 */
export const reporter =
  (file: string, faults: RuleFault[]): Report =>
  (pointer, got, expected, hint) => {
    const known = faults.some((f) => f.file === file && f.pointer === pointer && f.expected === expected)
    if (known) return
    faults.push({ file, pointer, got: shown(got), expected, ...(hint === undefined ? {} : { hint }) })
  }

/** Appends a key to a JSON pointer. */
export const below = (pointer: string, key: string | number): string =>
  `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
