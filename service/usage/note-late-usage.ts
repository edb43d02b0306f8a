/** Usage received after its line is stated. It changes the ledger, leads to no enforcement, and is logged. */
import { LogLevel } from '../../domain/codes.ts'
import { megabytes } from '../../domain/quantity.ts'
import { toMB } from '../../domain/units.ts'
import { insertLogEntries } from '../../store/log.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { isStated, statedCycles } from './rows/restatements.ts'
import { stagedRecords } from './rows/stage.ts'

/**
 * Writes one Info entry per SIM, cycle and chunk, for the accepted records on the stage with stated lines. Call with
 * the pools locked.
 *
 * @param cycleKeys cycles of the chunk
 */
export async function noteLateUsage(tx: TenantTx, cycleKeys: readonly string[]): Promise<void> {
  const stated = new Map((await statedCycles(tx, cycleKeys)).map((cycle) => [cycle.key, cycle]))
  if (stated.size === 0) return
  const records = (await stagedRecords(tx, [...stated.keys()])).filter((record) => {
    const cycle = stated.get(record.cycleKey)
    return cycle !== undefined && isStated(cycle, record)
  })
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
        message: `${records.length} record(s) with ${megabytes(toMB(bytes))} came too late for the statement of cycle ${first.cycleKey}; they count as an adjustment.`,
        cycleKey: first.cycleKey,
        explanation: null,
      },
    ]
  })
  await insertLogEntries(tx, entries)
}
