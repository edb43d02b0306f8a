/** The change of a SIM at a month end, as in its list of changes. */
export type ChangeKind = 'unassign' | 'move'

/** In a `return`, the month end itself resumes a suspended SIM, because the SIM's workflow no longer runs. */
export type MonthEndKind = ChangeKind | 'return'

/** A SIM's part in a month end: its ticket, or the reason (`code`, `detail`) why there is none. */
export interface OpenedChange {
  readonly simId: number
  readonly ticketId: string | null
  readonly code: string | null
  readonly detail: string | null
}
