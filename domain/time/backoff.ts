/** Backoff between attempts: each pause is twice the one before, up to the longest. */
export interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/** The pause after a number of consecutive failures, in milliseconds. */
export const backoffMs = (failures: number, { firstMs, longestMs }: Backoff): number =>
  Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1))
