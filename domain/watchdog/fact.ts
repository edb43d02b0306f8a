/** A fact's value; null means unknown, and only that. */
export type FactValue = string | number | boolean | null
