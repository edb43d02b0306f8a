/** A stored figure that differs from the sum of its rows. */
export interface WrongFigure {
  /** Such as `excess_bytes of pool 7 in cycle 2026-11`, or `SIMs 4096 to 8191 of status 1`. */
  readonly what: string
  readonly kept: number
  readonly counted: number
}

/** Most wrong figures that a check names. */
export const MOST_WRONG = 20
