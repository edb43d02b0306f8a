/** Usage for a closed cycle. It changes the ledger and leads to no enforcement, and the log says so. */
import { LogLevel } from '../../domain/codes.ts'
import { megabytes } from '../../domain/quantity.ts'
import { toMB } from '../../domain/units.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { closedCycles } from '../../store/usage/cycles.ts'
import { stagedRecords } from '../../store/usage/stage.ts'
import { insertLogEntries } from '../../store/watchdog/alerts.ts'

/**
 * Writes one Info entry per SIM, closed cycle and chunk, for the accepted records on the stage.
 *
 * @param cycleKeys cycles of the chunk
 */
export async function noteLateUsage(tx: TenantTx, cycleKeys: readonly string[]): Promise<void> {
  const closed = await closedCycles(tx, cycleKeys)
  if (closed.length === 0) return
  const records = await stagedRecords(tx, closed)
  const late = Map.groupBy(records, ({ simId, cycleKey }) => `${simId}/${cycleKey}`)
  const entries = [...late].flatMap(([key, records]) => {
    const [first] = records
    if (first === undefined) return []
    const bytes = records.reduce((sum, record) => sum + record.bytesUp + record.bytesDown, 0)
    return [
      {
        dedupeKey: `late-usage/${key}/${first.at}/${first.recordId}`,
        rule: null,
        ruleVersion: null,
        simId: first.simId,
        poolId: first.poolId === 0 ? null : first.poolId,
        level: LogLevel.Info,
        message: `${records.length} record(s) with ${megabytes(toMB(bytes))} came after cycle ${first.cycleKey} was closed; they count as an adjustment.`,
        cycleKey: first.cycleKey,
        explanation: null,
      },
    ]
  })
  await insertLogEntries(tx, entries)
}
