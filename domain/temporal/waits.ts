/** How activities wait for tickets. */

/** How often a waiting activity asks for a ticket, and how long it may take. */
export interface Waits {
  /** First and longest pause between two looks at a ticket. */
  readonly pollMin: string
  readonly pollMax: string
}
