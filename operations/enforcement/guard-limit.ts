/** How many the guard lets through in an hour. */

export interface Limit {
  readonly least: number
  /** Share of what there is, in percent. */
  readonly pct: number
}

/**
 * The larger of `least`, and `pct` of what there is. It is counted only if `least` is not enough for all, and no further
 * than decides: with so many the limit covers all that is wanted.
 *
 * @param wanted how many are to be let through, with those that were
 * @param countUpTo counts what there is, and may stop at its argument
 */
export async function limitFor(
  { least, pct }: Limit,
  wanted: number,
  countUpTo: (enough: number) => Promise<number>,
): Promise<number> {
  if (wanted <= least || pct === 0) return least
  const enough = Math.min(Number.MAX_SAFE_INTEGER, Math.ceil((wanted * 100) / pct) + 1)
  return Math.max(least, Math.floor((pct * (await countUpTo(enough))) / 100))
}
