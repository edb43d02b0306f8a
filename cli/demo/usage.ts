/** Makes the usage of a demonstration, in the carrier's order of delivery. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { DEMO_SEED, type EstateSim } from '../../examples/estate.ts'
import { generateUsage, type UsageRecord, usageCsv } from '../../examples/usage.ts'
import { mapInstant } from './mapping.ts'
import type { Mapping } from './progress.ts'

/** A record, and its instant in epoch milliseconds. */
export interface MadeUsage {
  readonly at: number
  readonly record: UsageRecord
}

/** The usage of these SIMs up to now. The same mapping makes the same records. */
export function makeUsage(sims: readonly EstateSim[], mapping: Mapping): MadeUsage[] {
  const { from: startsAt, to: endsAt } = mapping.made
  const records = [...generateUsage({ seed: DEMO_SEED, estate: { sims }, cycle: { startsAt, endsAt } })]
  return records
    .map((record) => ({ at: mapInstant(mapping, Date.parse(record.at)), record }))
    .filter(({ at }) => at <= mapping.until)
}

/** A body of raw bytes, and the headers that describe them. */
interface Delivery {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

const compress = promisify(gzip)

/** Makes one CSV delivery. The same records make the same delivery. */
export async function asDelivery(usage: readonly MadeUsage[]): Promise<Delivery> {
  const bytes = await compress(usageCsv(usage.map(({ at, record }) => ({ ...record, at: new Date(at).toISOString() }))))
  return {
    bytes: new Uint8Array(bytes),
    headers: { 'content-type': 'text/csv', 'content-encoding': 'gzip' },
  }
}
