/**
 * Counts refused keys by address, in memory. Beyond the limit for a minute, requests from an address are refused
 * without a database query, unless their key works.
 */
import { remember } from './key-cache.ts'

const MINUTE_MS = 60_000
/** Addresses whose counts a process keeps. Beyond that, the count that began first is forgotten. */
const MOST_ADDRESSES = 10_000

export interface Refusals {
  /**
   * Counts a refusal, before its key is looked for: many that come at once cost no more than many that come in turn.
   *
   * @returns a function that takes it back, for a key that works
   */
  readonly note: (address: string) => () => void
  /** @returns seconds until this address may go on; 0 if it may now */
  readonly waitSeconds: (address: string) => number
}

/** Counts refusals by address. @param perMinute refusals an address may meet in a minute; 0: no limit */
export function countRefusals(perMinute: number, clock: () => number): Refusals {
  const counts = new Map<string, { readonly until: number; refused: number }>()
  const running = (address: string) => {
    const count = counts.get(address)
    if (count === undefined || clock() < count.until) return count
    counts.delete(address)
    return undefined
  }
  const begin = (address: string) => {
    const count = { until: clock() + MINUTE_MS, refused: 0 }
    remember(counts, address, count, MOST_ADDRESSES)
    return count
  }
  return {
    note: (address) => {
      if (perMinute === 0) return () => undefined
      const count = running(address) ?? begin(address)
      count.refused += 1
      return () => {
        count.refused -= 1
        if (count.refused === 0 && counts.get(address) === count) counts.delete(address)
      }
    },
    waitSeconds: (address) => {
      const count = running(address)
      return count === undefined || count.refused < perMinute ? 0 : Math.ceil((count.until - clock()) / 1000)
    },
  }
}
