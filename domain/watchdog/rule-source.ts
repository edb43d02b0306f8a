/** A rule file as it was written. */
export interface RuleSource {
  /** Path below the rules folder, with `/`: `sim/sim-overage.json`. */
  readonly file: string
  readonly text: string
}
