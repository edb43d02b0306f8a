import type { MonthEndInput } from '../../domain/temporal/month-end-reprovision.ts'
import type { WorkflowOptions } from '../../domain/temporal/start.ts'
import { cycleAt, parseBillingCycle, previousCycle } from '../../domain/time/cycle.ts'
import type { StartMonthEnd } from '../../domain/workflows/workflow.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { endedCycle, tenantSettings } from '../usage/rows/cycles.ts'

/** Each batch is a transaction. More in parallel would only wait for each other. A run has about 1,000 events. */
const BATCHES = { pageSize: 500, parallel: 8, perRun: 100 } as const

const DAY_MS = 86_400_000

/**
 * The input of month-end-reprovision. Default cycle: the last ended one.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function monthEndInput(
  tx: TenantTx,
  ask: StartMonthEnd,
  options: WorkflowOptions,
): Promise<MonthEndInput> {
  const { billingCycle } = await tenantSettings(tx)
  const last = previousCycle(billingCycle, cycleAt(billingCycle, tx.now.getTime()))
  const cycle = await endedCycle(tx, ask.cycle ?? last.key)
  const length = parseBillingCycle(billingCycle)
  return {
    tenantId: tx.tenantId,
    cycleKey: cycle.key,
    cycleEndsAt: new Date(cycle.endsAt).toISOString(),
    closeAfter: length === 'month' || (length ?? 0) >= DAY_MS ? options.closeAfter : 'PT0S',
    ...(options.batches ?? BATCHES),
  }
}
