/** Corrections may take usage back, but never make a ledger row negative. */
import type { UsageFault } from '../../domain/usage/usage-record.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { type Amounts, ledgerSums, type PlacedRecord } from './rows/records.ts'

interface IndexedRecord {
  readonly index: number
  readonly record: PlacedRecord
}

const keyOf = (row: { readonly cycleKey: string; readonly simId: number; readonly poolId: number }) =>
  `${row.cycleKey}/${row.simId}/${row.poolId}`

const plus = (sums: Amounts, record: PlacedRecord): Amounts => ({
  bytes: sums.bytes + record.bytesUp + record.bytesDown,
  voiceSeconds: sums.voiceSeconds + record.voiceSeconds,
  smsCount: sums.smsCount + record.smsCount,
})

/**
 * Leaves out corrections that would take a ledger row below 0. They are checked in their order, after the chunk's other
 * records. Their rejection names the amount that would be negative. Call with the pools locked.
 *
 * @param rejected faults by index; those of rejected corrections are added
 * @returns the records to write, in their order
 */
export async function refuseNegativeTotals(
  tx: TenantTx,
  placed: readonly IndexedRecord[],
  rejected: Map<number, UsageFault>,
): Promise<readonly IndexedRecord[]> {
  const corrections = placed.filter(({ record }) => record.correction)
  if (corrections.length === 0) return placed
  const none: Amounts = { bytes: 0, voiceSeconds: 0, smsCount: 0 }
  const stored = await ledgerSums(
    tx,
    corrections.map(({ record: { cycleKey, simId, poolId } }) => ({ cycleKey, simId, poolId })),
  )
  const sums = new Map<string, Amounts>(stored.map((row) => [keyOf(row), row]))
  for (const { record } of placed) {
    if (!record.correction) sums.set(keyOf(record), plus(sums.get(keyOf(record)) ?? none, record))
  }
  for (const { index, record } of corrections) {
    const after = plus(sums.get(keyOf(record)) ?? none, record)
    const below = (['bytes', 'voiceSeconds', 'smsCount'] as const).find((amount) => after[amount] < 0)
    if (below === undefined) sums.set(keyOf(record), after)
    else {
      const detail = `the correction would leave ${below} of cycle ${record.cycleKey} at ${after[below]}`
      rejected.set(index, { code: 'negative_total', detail })
    }
  }
  return placed.filter(({ index }) => !rejected.has(index))
}
