/** How activities wait for tickets, for runs from before decision 25. */

/** Polling of a waiting activity. */
export interface Waits {
  /** First pause between two polls of a ticket; `pollMax` is the longest. ISO 8601 durations. */
  readonly pollMin: string
  readonly pollMax: string
}
