/**
 * Refusals of keys, counted by the address they came from, in memory: who is refused too often in a minute is answered
 * without the database, unless the key is one that works.
 */
import { isIPv6 } from 'node:net'

const MINUTE_MS = 60_000
/** Addresses whose counts a process keeps: beyond it the one that began first is forgotten. */
const MOST_ADDRESSES = 10_000

export interface Refusals {
  readonly note: (address: string) => void
  /** @returns seconds until this address is asked for its key again; 0 where it may go on */
  readonly waitSeconds: (address: string) => number
}

/**
 * @param perMinute refusals an address may meet in a minute; 0: no limit
 * @param clock epoch milliseconds
 */
export function countRefusals(perMinute: number, clock: () => number): Refusals {
  const counts = new Map<string, { readonly until: number; refused: number }>()
  const running = (from: string) => {
    const count = counts.get(from)
    if (count === undefined || clock() < count.until) return count
    counts.delete(from)
    return undefined
  }
  return {
    note: (address) => {
      if (perMinute === 0) return
      const from = networkOf(address)
      const count = running(from)
      if (count !== undefined) {
        count.refused += 1
        return
      }
      for (const oldest of counts.keys()) {
        if (counts.size < MOST_ADDRESSES) break
        counts.delete(oldest)
      }
      counts.set(from, { until: clock() + MINUTE_MS, refused: 1 })
    },
    waitSeconds: (address) => {
      const count = running(networkOf(address))
      return count === undefined || count.refused < perMinute ? 0 : Math.ceil((count.until - clock()) / 1000)
    },
  }
}

/** Of IPv6 the first 64 bits: they are one customer's. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0')
  const groups = [...head, ...zeros, ...tail].slice(0, 4)
  return groups.map((group) => Number.parseInt(group, 16)).join(':')
}
