/** A file of a rule set, of a rule or of tests: its path and its text. */
export interface RuleSource {
  /** Path below the rules folder, with `/`: `sim/sim-overage.json`. */
  readonly file: string
  readonly text: string
  /** Why its bytes are no text, and the first bad line. Then the text is empty. */
  readonly unreadable?: { readonly fault: string; readonly line: number }
}

/** Whether a file is one of tests, by its name. */
export const isTestName = (file: string): boolean => file.endsWith('.test.json')
