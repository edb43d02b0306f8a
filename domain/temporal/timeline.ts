/** What every run shows of itself: its steps, and what it waits for. */

/** A step of a workflow that has ended, well or not. */
export interface StepDone {
  /** Its name within the run; what comes back has a number: `suspend/2`. */
  readonly step: string
  readonly at: string
  /** `complete`, or why not, for people. */
  readonly outcome: string
  readonly ticketId: string | null
}

/** What a workflow waits for. */
export interface WaitsFor {
  /** In words: `ticket 7f3…`, `the end of the grace period`. */
  readonly what: string
  /** When it goes on at the latest; null where only an event ends the wait. */
  readonly until: string | null
  readonly why: string
}

/** What the state of every workflow has, beside fields of its own. */
export interface Timeline {
  /** The newest 40, in their order. */
  readonly steps: readonly StepDone[]
  readonly waitsFor: WaitsFor | null
}
