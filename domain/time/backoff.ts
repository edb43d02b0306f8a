/** How pauses between attempts grow: each is twice the one before it, up to the longest. */
export interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/** The pause after so many failures in a row, in milliseconds. */
export const backoffMs = (failures: number, { firstMs, longestMs }: Backoff): number =>
  Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1))
