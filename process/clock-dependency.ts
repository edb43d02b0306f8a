/**
 * Compares the clock of this machine with the database's. Leases and due times are written by one process and read by
 * others: processes with different clocks take work from one another, or leave it lying.
 */
import { Gauge } from '@prometheus-io/client'
import { sql } from 'kysely'
import type { Db, Store } from '../store/tenancy.ts'
import type { Dependency } from './health.ts'
import type { Metrics } from './metrics.ts'

/** About the shortest lease. Beyond it processes take work from one another. */
const WRONG_CLOCK_MS = 30_000

/**
 * Compares a clock with the database's.
 *
 * @param clock milliseconds since 1970
 * @returns milliseconds that the clock is ahead of the database's; negative if it is behind. Wrong by at most half of
 *   the time that the query takes
 */
export async function clockOffsetMs(db: Db, clock: () => number): Promise<number> {
  const before = clock()
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the database gave no time')
  return (before + clock()) / 2 - row.ms
}

/** @param isRequired true for a worker, because it takes leases */
export const clockDependency = ({ db, clock }: Store, isRequired: boolean): Dependency => ({
  name: 'clock',
  isRequired,
  check: async () => {
    const offsetMs = await clockOffsetMs(db, clock)
    const words = describeOffset(offsetMs)
    if (Math.abs(offsetMs) > WRONG_CLOCK_MS) throw new Error(`${words}: set it, and keep it right by NTP`)
    return words
  },
})

/** @param offsetMs milliseconds that this machine's clock is ahead */
export function describeOffset(offsetMs: number): string {
  const seconds = (Math.abs(offsetMs) / 1000).toFixed(1)
  if (seconds === '0.0') return "this machine's clock agrees with the database's"
  return `this machine's clock is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} the database's`
}

export function registerClockOffset({ registry }: Metrics, { db, clock }: Store): void {
  new Gauge({
    name: 'simherd_clock_offset_seconds',
    help: "Lead of this machine's clock over the database's, in seconds.",
    registers: [registry],
    async collect() {
      const offsetMs = await clockOffsetMs(db, clock).catch(() => undefined)
      if (offsetMs === undefined) this.reset()
      else this.set(offsetMs / 1000)
    },
  })
}
