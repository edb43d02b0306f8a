/** The timeline of a run: its steps, and its wait. */

/** An ended step of a run, successful or not. */
export interface StepDone {
  /** Name within the run. A repeated step has a number: `suspend/2`. */
  readonly step: string
  readonly at: string
  /** `complete`, or the reason why not, in words for people. */
  readonly outcome: string
  readonly ticketId: string | null
}

/** The wait of a run. */
export interface WaitsFor {
  /** The awaited event in words: `ticket 7f3…`, `the end of the grace period`. */
  readonly what: string
  /** Latest instant at which the run continues; null if only an event ends the wait. */
  readonly until: string | null
  readonly why: string
}

/** Fields in the state of every run, in addition to those of its type. */
export interface Timeline {
  /** The newest 40 steps, in order. */
  readonly steps: readonly StepDone[]
  readonly waitsFor: WaitsFor | null
}
