/** A fact's value. Null always means unknown. */
export type FactValue = string | number | boolean | null
