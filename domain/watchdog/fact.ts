/** A fact's value. Null always means unknown, and nothing else. */
export type FactValue = string | number | boolean | null
