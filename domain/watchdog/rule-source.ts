/** A rule file: its path and its text. */
export interface RuleSource {
  /** Path below the rules folder, with `/`: `sim/sim-overage.json`. */
  readonly file: string
  readonly text: string
}
