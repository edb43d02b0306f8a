/** Answers of compiled conditions, in Kleene's logic of three values. */
import type { FactRow } from './fact-row.ts'

export const NO = 0
/** A fact that was not read decides the answer. */
export const UNKNOWN = 1
export const YES = 2

export type Answer = typeof NO | typeof UNKNOWN | typeof YES

/** Answers for the facts of one subject. Allocates nothing. */
export type Decide = (row: FactRow) => Answer
