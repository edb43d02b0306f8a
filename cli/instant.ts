/** How commands write instants. */

/** An instant to the second, in UTC: `2026-11-21 14:02:11`. @param instant ISO 8601, in UTC */
export const at = (instant: string): string => instant.slice(0, 19).replace('T', ' ')
